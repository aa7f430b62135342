//===- OperandAddress.cpp - operands of GEMMs behind views and scales -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product reads its operands from memory: what stands between a stored value
// and the product, views and constant factors, is folded into the address and
// into alpha.
//
//===----------------------------------------------------------------------===//

#include "Storage/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp::target;

/// The constant c of an elementwise x * c, with x in `operand`.
static std::optional<double> scaleOf(Value value, Value &operand) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() || !isElementwise(op) ||
      op->getNumResults() != 1 || op.getBlock()->getOperations().size() != 2)
    return std::nullopt;
  auto mul = dyn_cast<arith::MulFOp>(op.getBlock()->front());
  if (!mul || op.getBlock()->getTerminator()->getOperand(0) != mul.getResult())
    return std::nullopt;
  std::optional<double> scale;
  Value source;
  for (Value factor : mul->getOperands()) {
    APFloat constant(0.0);
    if (matchPattern(factor, m_ConstantFloat(&constant))) {
      scale = constant.convertToDouble();
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(factor);
    OpOperand *input = argument && argument.getOwner() == op.getBlock()
                           ? operandOfArgument(op, argument)
                           : nullptr;
    if (!input || !isa<RankedTensorType>(input->get().getType()))
      return std::nullopt;
    std::optional<Splat> splat = splatOf(input->get());
    if (splat && splat->constant) {
      if (auto attribute = dyn_cast<FloatAttr>(splat->constant))
        scale = attribute.getValueAsDouble();
      continue;
    }
    // Only a pure scaling: loops, result and operand in one order.
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!map.isIdentity() ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return std::nullopt;
    source = input->get();
  }
  if (!scale || !source)
    return std::nullopt;
  // Scaling rounds, but for powers of two; where products are added in more
  // bits that would be left out.
  Type type = cast<RankedTensorType>(source.getType()).getElementType();
  if (!type.isF32() && !type.isF64() &&
      !APFloat(*scale).getExactInverse(nullptr))
    return std::nullopt;
  operand = source;
  return scale;
}

Value tp::target::gemmSource(Value operand, double &alpha) {
  while (true) {
    Value source;
    if (std::optional<View> view = viewOf(operand))
      operand = view->source;
    else if (std::optional<double> scale = scaleOf(operand, source)) {
      alpha *= *scale;
      operand = source;
    } else
      return operand;
  }
}

std::optional<std::pair<Value, AffineExpr>>
tp::target::addressOf(const StoragePlan &plan, Value value, Indices index,
                      const IndexSpace &space, double &alpha) {
  while (!plan.isStored(value)) {
    Value source;
    if (const Subview *part = plan.subviewOf(value)) {
      index = applyMap(part->place, index, {}, space);
      value = part->whole;
    } else if (std::optional<View> view = viewOf(value)) {
      if (!view->symbols.values.empty())
        return std::nullopt;
      index = applyMap(view->map, index, {}, space);
      value = view->source;
    } else if (std::optional<double> scale = scaleOf(value, source)) {
      alpha *= *scale;
      value = source;
    } else {
      return std::nullopt;
    }
  }
  AffineExpr address =
      applyMap(plan.storage(value).address, index, {}, space).front();
  return std::make_pair(value, address);
}
