//===- ChangedPart.cpp - where a value differs from a state ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChangedPart.h"
#include "Elements/LoopSum.h"
#include "Elements/ViewAnalysis.h"
#include "Program/MemoryOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// Where an op of the kernel is evaluated: the index of an element of the value
/// that is written, over its dimensions, tells the op's loops.
struct Body {
  linalg::LinalgOp op;
  Indices loops;
};

class PartFinder {
public:
  PartFinder(OpBuilder &builder, Location loc, BlockArgument state,
             MemRefType target)
      : builder(builder), loc(loc), state(state), target(target),
        space(IndexSpace::ofExtents(target.getShape())) {}

  bool find(Value value);
  ChangedPart part;

private:
  bool isState(Value value, Indices index);
  bool findInsert(tensor::InsertSliceOp op, ArrayRef<AffineExpr> index);
  bool add(std::optional<unsigned> dim, Value start, int64_t size);
  bool restrict(Value condition, const Body &body);
  bool restrictElement(Value tensor, Indices index);
  std::optional<LoopSum> sumOf(Value value, const Body &body);
  std::optional<LoopSum> sumOfElement(Value tensor, Indices index);
  std::optional<Body> bodyOf(Value tensor, ArrayRef<AffineExpr> index);
  Indices operandIndex(OpOperand *operand, const Body &body) {
    linalg::LinalgOp op = body.op;
    return applyMap(op.getMatchingIndexingMap(operand), body.loops, {}, space);
  }

  OpBuilder &builder;
  Location loc;
  BlockArgument state;
  MemRefType target;
  IndexSpace space;
};
} // namespace

static Value yieldedOf(const Body &body, unsigned result) {
  linalg::LinalgOp op = body.op;
  return op.getBlock()->getTerminator()->getOperand(result);
}

/// Whether element `index` of `value` is the state's, at the place where the
/// element of the written value is.
bool PartFinder::isState(Value value, Indices index) {
  while (std::optional<View> view = viewOf(value)) {
    if (!view->symbols.values.empty())
      return false;
    index = applyMap(view->map, index, {}, space);
    value = view->source;
  }
  auto load = value.getDefiningOp<bufferization::ToTensorOp>();
  if (!load || load.getBuffer() != state)
    return false;
  auto place = [&](MemRefType type, ArrayRef<AffineExpr> at) {
    return applyMap(placeMap(type), at, {}, space).front();
  };
  return place(cast<MemRefType>(state.getType()), index) ==
         place(target, identityIndices(target.getRank(), state.getContext()));
}

bool PartFinder::add(std::optional<unsigned> dim, Value start, int64_t size) {
  if (!dim || llvm::is_contained(part.along, int64_t(*dim)))
    return false;
  part.along.push_back(*dim);
  part.starts.push_back(start);
  part.sizes.push_back(size);
  return true;
}

/// The op that computes an element of `tensor`, if it has no reductions.
std::optional<Body> PartFinder::bodyOf(Value tensor,
                                       ArrayRef<AffineExpr> index) {
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || !isElementwise(op))
    return std::nullopt;
  std::optional<Indices> loops =
      loopsOfElement(op, cast<OpResult>(tensor).getResultNumber(), index);
  if (!loops)
    return std::nullopt;
  return Body{op, simplify(*loops, space)};
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

std::optional<LoopSum> PartFinder::sumOfElement(Value tensor, Indices index) {
  if (std::optional<View> view = viewOf(tensor)) {
    if (!view->symbols.values.empty())
      return std::nullopt;
    return sumOfElement(view->source, applyMap(view->map, index, {}, space));
  }
  if (std::optional<Body> body = bodyOf(tensor, index))
    return sumOf(yieldedOf(*body, cast<OpResult>(tensor).getResultNumber()),
                 *body);
  SmallVector<Value> at;
  for (AffineExpr expr : index) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (!constant)
      return std::nullopt;
    at.push_back(
        arith::ConstantIndexOp::create(builder, loc, constant.getValue()));
  }
  return LoopSum{std::nullopt,
                 tensor::ExtractOp::create(builder, loc, tensor, at)};
}

std::optional<LoopSum> PartFinder::sumOf(Value value, const Body &body) {
  if (!value.getType().isIntOrIndex())
    return std::nullopt;
  linalg::LinalgOp linalgOp = body.op;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == linalgOp.getBlock()) {
    OpOperand *operand = operandOfArgument(linalgOp, argument);
    if (!operand)
      return std::nullopt;
    if (!isa<RankedTensorType>(operand->get().getType()))
      return LoopSum{std::nullopt, operand->get()};
    return sumOfElement(operand->get(), operandIndex(operand, body));
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != linalgOp.getBlock())
    return LoopSum{std::nullopt, value};
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    AffineExpr expr = body.loops[index.getDim()];
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return LoopSum{dim.getPosition(), Value()};
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (!constant)
      return std::nullopt;
    return LoopSum{std::nullopt, arith::ConstantIndexOp::create(
                                     builder, loc, constant.getValue())};
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isa_and_present<arith::ArithDialect>(op->getDialect()))
    return std::nullopt;
  SmallVector<LoopSum> operands;
  for (Value operand : op->getOperands()) {
    std::optional<LoopSum> sum = sumOf(operand, body);
    if (!sum)
      return std::nullopt;
    operands.push_back(*sum);
  }
  return sumOfOp(builder, loc, op, operands,
                 [&](unsigned dim) { return target.getDimSize(dim); });
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Adds what is known of the indices at which `condition` may hold.
bool PartFinder::restrict(Value condition, const Body &body) {
  linalg::LinalgOp linalgOp = body.op;
  if (auto argument = dyn_cast<BlockArgument>(condition);
      argument && argument.getOwner() == linalgOp.getBlock()) {
    OpOperand *operand = operandOfArgument(linalgOp, argument);
    return operand && isa<RankedTensorType>(operand->get().getType()) &&
           restrictElement(operand->get(), operandIndex(operand, body));
  }
  Operation *op = condition.getDefiningOp();
  if (!op || op->getBlock() != linalgOp.getBlock())
    return false;
  if (isa<arith::AndIOp>(op)) {
    bool first = restrict(op->getOperand(0), body);
    return restrict(op->getOperand(1), body) || first;
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return false;
  std::optional<LoopSum> a = sumOf(compare.getLhs(), body),
                         b = sumOf(compare.getRhs(), body);
  if (!a || !b || a->loop.has_value() == b->loop.has_value())
    return false;
  if (b->loop)
    std::swap(a, b);
  Value start = indexWhereEqual(builder, loc, *a, b->scalar);
  if (start.getType().isInteger(1))
    return false;
  if (!start.getType().isIndex())
    start =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), start);
  return add(a->loop, start, 1);
}

bool PartFinder::restrictElement(Value tensor, Indices index) {
  if (std::optional<View> view = viewOf(tensor))
    return view->symbols.values.empty() &&
           restrictElement(view->source, applyMap(view->map, index, {}, space));
  std::optional<Body> body = bodyOf(tensor, index);
  return body &&restrict(
      yieldedOf(*body, cast<OpResult>(tensor).getResultNumber()), *body);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool PartFinder::findInsert(tensor::InsertSliceOp op,
                            ArrayRef<AffineExpr> index) {
  if (!isState(op.getDest(), Indices(index)))
    return false;
  ArrayRef<int64_t> shape = op.getDestType().getShape();
  bool any = false;
  for (auto [i, offset] : llvm::enumerate(op.getMixedOffsets())) {
    int64_t size = op.getStaticSizes()[i];
    if (ShapedType::isDynamic(size) || op.getStaticStrides()[i] != 1)
      return false;
    auto dim = dyn_cast<AffineDimExpr>(index[i]);
    if (size == shape[i] || !dim)
      continue;
    Value start = getValueOrCreateConstantIndexOp(builder, loc, offset);
    // A slice never leaves its tensor.
    start = arith::MaxSIOp::create(
        builder, loc, start, arith::ConstantIndexOp::create(builder, loc, 0));
    start = arith::MinSIOp::create(
        builder, loc, start,
        arith::ConstantIndexOp::create(builder, loc, shape[i] - size));
    any |= add(dim.getPosition(), start, size);
  }
  return any;
}

bool PartFinder::find(Value value) {
  Indices index =
      simplify(identityIndices(target.getRank(), state.getContext()), space);
  while (std::optional<View> view = viewOf(value)) {
    if (!view->symbols.values.empty())
      return false;
    index = applyMap(view->map, index, {}, space);
    value = view->source;
  }
  if (auto insert = value.getDefiningOp<tensor::InsertSliceOp>())
    return findInsert(insert, index);
  std::optional<Body> body = bodyOf(value, index);
  if (!body)
    return false;
  auto select = yieldedOf(*body, cast<OpResult>(value).getResultNumber())
                    .getDefiningOp<arith::SelectOp>();
  if (!select || select->getBlock() != body->op.getBlock())
    return false;
  auto old = dyn_cast<BlockArgument>(select.getFalseValue());
  OpOperand *operand = old && old.getOwner() == body->op.getBlock()
                           ? operandOfArgument(body->op, old)
                           : nullptr;
  return operand && isa<RankedTensorType>(operand->get().getType()) &&
         isState(operand->get(), operandIndex(operand, *body)) &&restrict(
             select.getCondition(), *body);
}

std::optional<ChangedPart> tp::target::changedPart(OpBuilder &builder,
                                                   Value value,
                                                   BlockArgument state,
                                                   MemRefType target) {
  PartFinder finder(builder, value.getLoc(), state, target);
  if (!finder.find(value))
    return std::nullopt;
  return std::move(finder.part);
}
