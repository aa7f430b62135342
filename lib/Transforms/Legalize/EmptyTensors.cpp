//===- EmptyTensors.cpp - tensors without elements ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor with a dimension of size 0 holds nothing, so what computes it need
// not run, and what reads it beside others reads only those. Afterwards such
// tensors stand at the function's ports alone.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

bool legalize::hasNoElements(Type type) {
  // A number of elements may overflow to 0.
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::is_contained(tensor.getShape(), 0);
}

/// A dynamic shape is refused later.
static bool isEmpty(Type type) {
  return legalize::hasNoElements(type) &&
         cast<RankedTensorType>(type).hasStaticShape();
}

/// What stands for each result of `op`, some operand of which has no elements
/// (null: the op has to stay).
static SmallVector<Value> withoutEmptyOperands(Operation *op,
                                               OpBuilder &builder) {
  Location loc = op->getLoc();
  return TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](linalg::LinalgOp op) -> SmallVector<Value> {
        // No iteration, so nothing is added to the inits.
        if (!op.hasPureTensorSemantics() ||
            !llvm::is_contained(op.getStaticLoopRanges(), 0))
          return {};
        return SmallVector<Value>(op.getDpsInits());
      })
      .Case([&](tensor::ConcatOp op) -> SmallVector<Value> {
        SmallVector<Value> inputs;
        for (Value input : op.getInputs())
          if (!isEmpty(input.getType()))
            inputs.push_back(input);
        if (inputs.size() == 1)
          return inputs;
        return {tensor::ConcatOp::create(builder, loc, op.getResultType(),
                                         op.getDim(), inputs)};
      })
      .Case([&](tensor::InsertSliceOp op) -> SmallVector<Value> {
        return {op.getDest()};
      })
      .Case([&](tensor::ScatterOp op) -> SmallVector<Value> {
        return {op.getDest()};
      })
      .Case([&](tm_tensor::ScatterOp op) -> SmallVector<Value> {
        return {op.getOriginal()};
      })
      .Case([&](tensor::PadOp op) -> SmallVector<Value> {
        auto made = tensor::GenerateOp::create(builder, loc, op.getResultType(),
                                               ValueRange());
        made.getBody().takeBody(op.getRegion());
        return {made};
      })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

void legalize::dropEmptyTensors(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    builder.setInsertionPoint(&op);
    bool allEmpty = op.getNumResults() > 0;
    for (OpResult result : op.getResults()) {
      if (!isEmpty(result.getType())) {
        allEmpty = false;
        continue;
      }
      if (isa<tensor::EmptyOp>(op))
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      if (!result.use_empty())
        result.replaceAllUsesWith(
            tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                    type.getElementType(), type.getEncoding()));
    }
    if (allEmpty) {
      if (op.use_empty())
        op.erase();
      continue;
    }
    if (llvm::none_of(op.getOperandTypes(), isEmpty))
      continue;
    SmallVector<Value> standIns = withoutEmptyOperands(&op, builder);
    if (standIns.empty())
      continue;
    op.replaceAllUsesWith(standIns);
    op.erase();
  }
}

void legalize::dropUnusedEmptyTensors(func::FuncOp function) {
  for (auto empty : llvm::make_early_inc_range(
           function.getBody().front().getOps<tensor::EmptyOp>()))
    if (isEmpty(empty.getType()) && empty.use_empty())
      empty.erase();
}
