//===- BuildKernel.cpp - the body of a tp.kernel --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel has a copy of every op that it evaluates: those between what it
// stores and the stored values that it reads.
//
//===----------------------------------------------------------------------===//

#include "BuildProgram.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;

namespace {
class KernelBodyBuilder {
public:
  KernelBodyBuilder(OpBuilder &builder, const StoragePlan &plan)
      : builder(builder), plan(plan) {}

  void build(const ComputeLoop &computeLoop, ArrayRef<Value> reads,
             ArrayRef<Value> writes, Block *block);

private:
  void copyOps(ArrayRef<Value> values);
  void copyOp(Operation *op);
  void addCompute(const ComputeLoop &computeLoop);

  OpBuilder &builder;
  const StoragePlan &plan;
  llvm::DenseMap<Value, Value> buffers;
  IRMapping mapping;
};
} // namespace

/// Whether `operand` only tells a shape: the body of its op never reads it.
static bool isUnread(OpOperand &operand) {
  auto op = dyn_cast<linalg::LinalgOp>(operand.getOwner());
  return op && isa<RankedTensorType>(operand.get().getType()) &&
         op.getMatchingBlockArgument(&operand).use_empty();
}

/// The values that `op` needs, those that regions capture too.
static SmallVector<Value> needsOf(Operation *op) {
  SmallVector<Value> needs;
  for (OpOperand &operand : op->getOpOperands())
    if (!isUnread(operand))
      needs.push_back(operand.get());
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(needs, captured);
  return needs;
}

void KernelBodyBuilder::copyOp(Operation *op) {
  SmallVector<Value> shapes;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isUnread(operand) || mapping.contains(operand.get()))
      continue;
    auto type = cast<RankedTensorType>(operand.get().getType());
    Value shape = tensor::EmptyOp::create(
        builder, op->getLoc(), type.getShape(), type.getElementType());
    mapping.map(operand.get(), shape);
    shapes.push_back(operand.get());
  }
  // What earlier stages noted on an op says nothing of its copies, and would
  // tell equal kernels apart.
  Operation *copy = builder.clone(*op, mapping);
  for (NamedAttribute attribute : llvm::to_vector(copy->getDiscardableAttrs()))
    if (isa_and_present<tp::TPDialect>(attribute.getNameDialect()))
      copy->removeDiscardableAttr(attribute.getName());
  for (Value shape : shapes)
    mapping.erase(shape);
}

/// Copies the ops that `values` are computed by, down to stored values.
void KernelBodyBuilder::copyOps(ArrayRef<Value> values) {
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> work(values);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (mapping.contains(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (ops.insert(op))
      llvm::append_range(work, needsOf(op));
  }
  SmallVector<Operation *> ordered = ops.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    copyOp(op);
}

void KernelBodyBuilder::addCompute(const ComputeLoop &computeLoop) {
  SmallVector<Value> sources, targets, values, written;
  for (auto [i, target] : llvm::enumerate(computeLoop.targets)) {
    if (!plan.isStored(target))
      continue;
    targets.push_back(target);
    sources.push_back(
        computeLoop.isReduction()
            ? computeLoop.reduction->getResult(computeLoop.resultNumbers[i])
            : computeLoop.source);
  }
  copyOps(sources);
  if (computeLoop.where)
    copyOps(computeLoop.where->condition);
  for (auto [source, target] : llvm::zip_equal(sources, targets)) {
    values.push_back(mapping.lookup(source));
    written.push_back(buffers.lookup(target));
  }
  SmallVector<int64_t> rows(computeLoop.slots.begin(), computeLoop.slots.end());
  if (computeLoop.where)
    rows.clear();
  auto compute = tp::ComputeOp::create(builder, computeLoop.op->getLoc(),
                                       values, rows, written);
  if (computeLoop.where)
    compute.getConditionMutable().assign(
        mapping.lookup(computeLoop.where->condition));
}

void KernelBodyBuilder::build(const ComputeLoop &computeLoop,
                              ArrayRef<Value> reads, ArrayRef<Value> writes,
                              Block *block) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(block);
  for (auto [value, argument] : llvm::zip(reads, block->getArguments()))
    mapping.map(value, bufferization::ToTensorOp::create(
                           builder, value.getLoc(), value.getType(), argument)
                           .getResult());
  for (auto [value, argument] :
       llvm::zip_equal(writes, block->getArguments().drop_front(reads.size())))
    buffers[value] = argument;
  addCompute(computeLoop);
}

void tp::target::buildKernelBody(OpBuilder &builder, const StoragePlan &plan,
                                 const ComputeLoop &computeLoop,
                                 ArrayRef<Value> reads, ArrayRef<Value> writes,
                                 Block *block) {
  KernelBodyBuilder(builder, plan).build(computeLoop, reads, writes, block);
}
