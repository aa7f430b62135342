//===- NarrowProducts.cpp - products read f16 and bf16 --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters widen both operands of a product of bf16 tensors, and multiply in
// f32. The product of the narrow operands with sums in f32 is the same, element
// by element: it is defined by the same widening. But what is kept, moved and
// multiplied has half the bytes, and what a module reads and gives is seen in
// the type that its layouts speak of.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

/// The input of an op that moves its elements and does no more than widen them.
static OpOperand *movedInput(linalg::LinalgOp op) {
  if (!op || op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumReductionLoops() != 0)
    return nullptr;
  Block *body = op.getBlock();
  Value element = body->getTerminator()->getOperand(0);
  if (auto extension = element.getDefiningOp<arith::ExtFOp>())
    element = extension.getIn();
  return element == body->getArgument(0) ? op.getDpsInputOperand(0) : nullptr;
}

/// The ops that only move elements, from `value` back to the one that widens
/// them from f16 or bf16, which is the last; empty if there is none.
static SmallVector<Operation *> wayToNarrow(Value value) {
  SmallVector<Operation *> way;
  while (Operation *op = value.getDefiningOp()) {
    way.push_back(op);
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    OpOperand *input = movedInput(dyn_cast<linalg::LinalgOp>(op));
    if (!input || !isa<RankedTensorType>(input->get().getType()))
      break;
    value = input->get();
    if (isNarrow(getElementTypeOrSelf(value.getType())))
      return way;
  }
  return {};
}

/// What the ops of the way compute, without widening.
static Value movedNarrow(OpBuilder &builder, ArrayRef<Operation *> way) {
  Value value = way.back()->getOperand(0);
  Type narrow = getElementTypeOrSelf(value.getType());
  for (Operation *op : llvm::reverse(way)) {
    auto type =
        cast<RankedTensorType>(op->getResult(0).getType()).clone(narrow);
    auto moves = dyn_cast<linalg::LinalgOp>(op);
    if (!moves) {
      IRMapping mapping;
      mapping.map(op->getOperand(0), value);
      value = builder.clone(*op, mapping)->getResult(0);
      value.setType(type);
      continue;
    }
    SmallVector<AffineMap> maps = moves.getIndexingMapsArray();
    // To widen is all that some of them do.
    if (maps[0].isIdentity() && maps[1].isIdentity())
      continue;
    Value init =
        tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), narrow);
    value = linalg::GenericOp::create(
                builder, op->getLoc(), type, value, init, maps,
                moves.getIteratorTypesArray(),
                [](OpBuilder &inner, Location loc, ValueRange arguments) {
                  linalg::YieldOp::create(inner, loc, arguments[0]);
                })
                ->getResult(0);
  }
  return value;
}

/// Whether all that the body does is to add the product of the two inputs to
/// the accumulator.
static bool addsProducts(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op->getNumResults() != 1 ||
      op.getBlock()->getOperations().size() != 3)
    return false;
  Block *body = op.getBlock();
  auto add =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  BlockArgument accumulator = body->getArgument(2);
  bool isFirst = add.getLhs() == accumulator;
  auto product =
      (isFirst ? add.getRhs() : add.getLhs()).getDefiningOp<arith::MulFOp>();
  auto isInput = [&](Value value, unsigned number) {
    return value == body->getArgument(number);
  };
  return (isFirst || add.getRhs() == accumulator) && product &&
         ((isInput(product.getLhs(), 0) && isInput(product.getRhs(), 1)) ||
          (isInput(product.getLhs(), 1) && isInput(product.getRhs(), 0)));
}

static void narrowProduct(linalg::LinalgOp op, IRRewriter &rewriter) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0 ||
      !addsProducts(op))
    return;
  Type wide = getElementTypeOrSelf(op->getResult(0).getType());
  SmallVector<Operation *> ways[2];
  for (auto [way, input] : llvm::zip_equal(ways, op.getDpsInputs())) {
    way = wayToNarrow(input);
    if (way.empty())
      return;
  }
  auto narrowOf = [](ArrayRef<Operation *> way) {
    return getElementTypeOrSelf(way.back()->getOperand(0).getType());
  };
  if (!wide.isF32() || narrowOf(ways[0]) != narrowOf(ways[1]))
    return;
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inputs;
  for (ArrayRef<Operation *> way : ways)
    inputs.push_back(movedNarrow(rewriter, way));
  Block *body = op.getBlock();
  auto narrow = linalg::GenericOp::create(
      rewriter, op.getLoc(), op->getResultTypes(), inputs, op.getDpsInits(),
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        IRMapping mapping;
        for (auto [old, argument] :
             llvm::zip_equal(body->getArguments(), arguments)) {
          argument.setLoc(old.getLoc());
          mapping.map(old, argument);
        }
        for (unsigned number : {0u, 1u})
          mapping.map(
              body->getArgument(number),
              arith::ExtFOp::create(inner, op.getLoc(), wide, arguments[number])
                  .getResult());
        for (Operation &old : *body)
          inner.clone(old, mapping);
      });
  rewriter.replaceOp(op, narrow);
  // A reader that computes nothing would read what enters the module.
  llvm::SmallSetVector<Operation *, 8> moved(ways[0].begin(), ways[0].end());
  moved.insert_range(ways[1]);
  SmallVector<Operation *> backwards = moved.takeVector();
  llvm::sort(backwards,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *mover : backwards)
    if (mover->use_empty())
      rewriter.eraseOp(mover);
}

void legalize::narrowProducts(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      narrowProduct(linalgOp, rewriter);
}
