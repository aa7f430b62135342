//===- ScalarFunction.cpp - functions of one element ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarFunction.h"
#include "Elements/ViewAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include <cmath>
#include <numbers>
#include <set>

using namespace mlir;
using namespace tp::target;

/// Ops of a function: GELU has eight where every op is written by itself.
static constexpr size_t mostOps = 24;

static SmallVector<double> samplePoints() {
  SmallVector<double> points;
  for (int i = -192; i <= 192; ++i)
    points.push_back(i / 32.0 + 1.0 / 97.0);
  return points;
}

namespace {
using Samples = SmallVector<double>;

/// Evaluates the body of an elementwise op in f64 at every point.
class BodyValues {
public:
  BodyValues(linalg::LinalgOp op, const llvm::DenseMap<Value, Samples> &tensors,
             Type narrow, size_t count)
      : op(op), tensors(tensors), narrow(narrow), count(count) {}

  /// None if the body has an op that is not smooth, or reads another tensor.
  std::optional<Samples> of(Value value);

private:
  std::optional<Samples> compute(Operation *inner);
  std::optional<Samples> ofArgument(BlockArgument argument);

  linalg::LinalgOp op;
  const llvm::DenseMap<Value, Samples> &tensors;
  Type narrow;
  size_t count;
  llvm::DenseMap<Value, std::optional<Samples>> known;
};
} // namespace

std::optional<Samples> BodyValues::ofArgument(BlockArgument argument) {
  if (argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *operand = operandOfArgument(op, argument);
  if (auto it = tensors.find(operand->get()); it != tensors.end()) {
    if (!op.getMatchingIndexingMap(operand).isIdentity())
      return std::nullopt;
    return it->second;
  }
  if (!isa<RankedTensorType>(operand->get().getType()))
    return of(operand->get());
  std::optional<Splat> splat = splatOf(operand->get());
  auto number = splat && splat->constant ? dyn_cast<FloatAttr>(splat->constant)
                                         : FloatAttr();
  if (!number)
    return std::nullopt;
  return Samples(count, number.getValueAsDouble());
}

std::optional<Samples> BodyValues::of(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number))) {
    bool inexact = false;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &inexact);
    return Samples(count, number.convertToDouble());
  }
  APInt whole;
  if (matchPattern(value, m_ConstantInt(&whole)))
    return Samples(count, double(whole.getSExtValue()));
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  std::optional<Samples> samples = compute(value.getDefiningOp());
  known.insert({value, samples});
  return samples;
}

std::optional<Samples> BodyValues::compute(Operation *inner) {
  if (inner->getBlock() != op.getBlock() || inner->getNumOperands() == 0 ||
      inner->getNumOperands() > 2)
    return std::nullopt;
  // Numbers may be rounded to any type: what they are is seen.
  if (isa<arith::TruncFOp>(inner) && inner->getResult(0).getType() != narrow &&
      !matchPattern(inner->getOperand(0), m_Constant()))
    return std::nullopt;
  std::optional<Samples> x = of(inner->getOperand(0)), y = x;
  if (x && inner->getNumOperands() == 2)
    y = of(inner->getOperand(1));
  if (!x || !y)
    return std::nullopt;
  for (auto [a, b] : llvm::zip_equal(*x, *y)) {
    if (isa<arith::AddFOp>(inner))
      a += b;
    else if (isa<arith::SubFOp>(inner))
      a -= b;
    else if (isa<arith::MulFOp>(inner))
      a *= b;
    else if (isa<arith::DivFOp>(inner))
      a /= b;
    else if (isa<arith::NegFOp>(inner))
      a = -a;
    else if (isa<math::TanhOp>(inner))
      a = std::tanh(a);
    else if (isa<math::ExpOp>(inner))
      a = std::exp(a);
    else if (isa<math::PowFOp, math::FPowIOp>(inner))
      a = std::pow(a, b);
    else if (!isa<arith::ExtFOp, arith::TruncFOp>(inner))
      return std::nullopt;
  }
  return x;
}

std::optional<FunctionOfElement> tp::target::functionOfElement(
    Value argument, Type narrow,
    llvm::function_ref<bool(ArrayRef<double>, ArrayRef<double>)> is) {
  if (argument.use_empty())
    return std::nullopt;
  Samples points = samplePoints();
  llvm::DenseMap<Value, Samples> known = {{argument, points}};
  FunctionOfElement function;
  auto before = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  std::set<Operation *, decltype(before)> next(before);
  Block *block = argument.getParentBlock();
  auto addUsers = [&](Value value) {
    for (Operation *user : value.getUsers()) {
      if (user->getBlock() != block)
        return false;
      next.insert(user);
    }
    return true;
  };
  function.within.push_back(argument);
  if (!addUsers(argument))
    return std::nullopt;
  while (!next.empty() && known.size() <= mostOps) {
    auto op = dyn_cast<linalg::LinalgOp>(*next.begin());
    next.erase(next.begin());
    if (!op || !op.hasPureTensorSemantics() || !isElementwise(op) ||
        op->getNumResults() != 1 ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return std::nullopt;
    std::optional<Samples> values =
        BodyValues(op, known, narrow, points.size())
            .of(op.getBlock()->getTerminator()->getOperand(0));
    if (!values)
      return std::nullopt;
    Value result = op->getResult(0);
    // All that was read so far is read by ops before this one.
    if (next.empty() && is(points, *values)) {
      function.result = result;
      return function;
    }
    known.insert({result, std::move(*values)});
    function.within.push_back(result);
    if (!addUsers(result))
      return std::nullopt;
  }
  return std::nullopt;
}

bool tp::target::isTanhGelu(ArrayRef<double> points, ArrayRef<double> values) {
  const double root = std::sqrt(2.0 / std::numbers::pi);
  for (auto [x, value] : llvm::zip_equal(points, values)) {
    double expected =
        0.5 * x * (1.0 + std::tanh(root * (x + 0.044715 * x * x * x)));
    // The erf form differs by up to 5e-4, constants rounded to bf16 by 2e-4.
    if (!(std::abs(value - expected) <= 1e-6 + 1e-6 * std::abs(expected)))
      return false;
  }
  return true;
}
