//===- RowMajorValues.cpp - values that ops want row-major ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results, and what collectives and other ops on memory read, lie row-major. A
// value that is computed for one of them is kept in that order; others are
// copied.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"
#include "Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

/// Keeps the computed value behind `value` in the order of `value`, row-major.
/// False if it is not such a value or its order is already asked for.
bool StoragePlan::request(Value value) {
  SmallVector<Value> chain;
  Value root = value;
  while (std::optional<View> view = viewOf(root)) {
    if (!view->bijective || isStored(root))
      return false;
    chain.push_back(root);
    root = view->source;
  }
  if (isa<BlockArgument>(root) || root.getDefiningOp<arith::ConstantOp>() ||
      root.getDefiningOp<tensor::EmptyOp>() || splatOf(root) ||
      worksOnMemory(root.getDefiningOp()) || !ordered.insert(root).second)
    return false;
  store(root);
  MLIRContext *context = value.getContext();
  IndexSpace space = IndexSpace::ofExtents(shapeOf(root));
  Indices index = identityIndices(shapeOf(root).size(), context);
  for (Value step : llvm::reverse(chain))
    index = applyMap(inverseOf(step), index, {}, space);
  Storage &kept = storage(root);
  kept.address = AffineMap::get(
      shapeOf(root).size(), 0,
      applyMap(rowMajor(shapeOf(value), context), index, {}, space), context);
  return true;
}

/// Keeps the elements of `value` itself, in its own order.
void StoragePlan::pack(Value value) {
  store(value);
  ordered.insert(value);
}

/// Makes `operand` read a copy of its value that is kept row-major.
Value StoragePlan::copyInto(OpOperand &operand) {
  Operation *user = operand.getOwner();
  OpBuilder builder(user);
  Value value = operand.get();
  auto type = cast<RankedTensorType>(value.getType());
  Location loc = value.getDefiningOp() ? value.getLoc() : user->getLoc();
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  Value copy = linalg::CopyOp::create(builder, loc, value, empty)->getResult(0);
  operand.set(copy);
  pack(copy);
  return copy;
}

void StoragePlan::settleRequests() {
  for (OpOperand &operand : function.front().getTerminator()->getOpOperands()) {
    Value value = operand.get(), root = rootOf(value);
    Operation *producer = root.getDefiningOp();
    if (producer && worksOnMemory(producer) && root == value &&
        isRowMajor(root) && ordered.insert(root).second)
      ;
    else if (producer && request(value))
      requesters[root] = &operand;
    else
      root = copyInto(operand);
    storage(root).space = Space::Result;
    storage(root).index = operand.getOperandNumber();
  }
  // What attentions of a chunk of keys each read is copied once, and once more
  // for the backward pass, or the copy would be kept for it.
  llvm::SmallDenseMap<Value, Value> ofChunks[2];
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (!worksOnMemory(&op))
      continue;
    bool isOfChunk = isa<tp::AttendOp, tp::AttendBackwardOp>(op);
    llvm::SmallDenseMap<Value, Value> &copies =
        ofChunks[isa<tp::AttendBackwardOp>(op)];
    for (OpOperand &operand : op.getOpOperands()) {
      Value value = operand.get(), root = rootOf(value);
      if (isStored(value) && isRowMajor(value))
        ordered.insert(value);
      else if (isOfChunk && liesRowMajor(value))
        ordered.insert(root);
      else if (root.getDefiningOp() && request(value))
        requesters[root] = &operand;
      else if (Value copy = isOfChunk ? copies.lookup(value) : Value())
        operand.set(copy);
      else if (Value made = copyInto(operand); isOfChunk)
        copies[value] = made;
    }
  }
}

Value StoragePlan::storedBehind(Value operand) const {
  std::optional<View> view;
  while (!isStored(operand) && (view = viewOf(operand)))
    operand = view->source;
  return operand;
}

bool StoragePlan::isRowMajor(Value value) const {
  IndexSpace space = IndexSpace::ofExtents(shapeOf(value));
  AffineMap dense = rowMajor(shapeOf(value), value.getContext());
  return simplify(storage(value).address.getResult(0), space) ==
         simplify(dense.getResult(0), space);
}

/// Whether `value` lies row-major where what is behind it is stored.
bool StoragePlan::liesRowMajor(Value value) const {
  Value root = storedBehind(value);
  if (root != rootOf(value) || !isStored(root))
    return false;
  IndexSpace space = IndexSpace::ofExtents(shapeOf(value));
  double alpha = 1.0;
  auto address = addressOf(
      *this, value, identityIndices(shapeOf(value).size(), value.getContext()),
      space, alpha);
  AffineMap dense = rowMajor(shapeOf(value), value.getContext());
  return address && alpha == 1.0 && address->first == root &&
         numElements(root) == numElements(value) &&
         simplify(address->second, space) ==
             simplify(dense.getResult(0), space);
}

/// Gives up the order that a result or a collective asked of `root`: it gets a
/// copy.
void StoragePlan::withdraw(Value root) {
  Value copy = copyInto(*requesters.lookup(root));
  Storage &kept = storage(root);
  storage(copy).space = kept.space;
  storage(copy).index = kept.index;
  kept.space = Space::Arena;
  kept.address = rowMajor(shapeOf(root), root.getContext());
  ordered.erase(root);
  requesters.erase(root);
}
