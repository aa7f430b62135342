//===- MergeKernels.cpp - several kernels as one --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel has a copy of the ops that it evaluates. Where several become
// one, equal copies do too.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"
#include "Program/CommandUses.h"
#include "Schedule.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp::target;

namespace {
class KernelMerger {
public:
  KernelMerger(const StoredValues &values, const KernelGroup &group)
      : values(values), group(group),
        fused(finishFusedKernel(values, group.computeLoops)),
        builder(group.commands.back()) {}

  tp::KernelOp merge();

private:
  void makeKernel();
  void addMember(tp::KernelOp member, const ComputeLoop &computeLoop);
  void addCompute(tp::ComputeOp compute, tp::KernelOp member,
                  ArrayRef<unsigned> rows);
  void copyOnce(Operation *op);
  bool isScratch(Value buffer) const {
    return values.storage(buffer).space == Space::Scratch;
  }

  const StoredValues &values;
  const KernelGroup &group;
  std::unique_ptr<FusedKernel> fused;
  OpBuilder builder;
  tp::KernelOp kernel;
  /// The arguments of the kernel's block, and what is in a buffer: a tensor
  /// that is read, or the result of a compute loop.
  llvm::DenseMap<Value, Value> arguments, tensors;
  IRMapping mapping;
  llvm::DenseMap<llvm::hash_code, SmallVector<Operation *, 1>> copies;
};
} // namespace

/// What the compute loops read that none of them writes, and what they write
/// that is not a row's.
void KernelMerger::makeKernel() {
  llvm::SetVector<Value> written, reads, writes;
  for (Operation *member : group.commands)
    written.insert_range(cast<tp::KernelOp>(member).getWrites());
  for (Operation *member : group.commands)
    for (Value buffer : cast<tp::KernelOp>(member).getReads())
      if (!written.contains(buffer))
        reads.insert(buffer);
  for (Value buffer : written)
    if (!isScratch(buffer))
      writes.insert(buffer);
  kernel = tp::KernelOp::create(builder, group.commands.back()->getLoc(),
                                reads.getArrayRef(), writes.getArrayRef());
  Block *block = &kernel.getBody().emplaceBlock();
  for (Value operand : kernel.getOperands())
    arguments[operand] =
        block->addArgument(operand.getType(), operand.getLoc());
  builder.setInsertionPointToStart(block);
}

/// Copies `op`, unless an equal op is there. Checks are told apart by where
/// they come from.
void KernelMerger::copyOnce(Operation *op) {
  Operation *copy = builder.clone(*op, mapping);
  bool checks = hasCheck(copy);
  llvm::hash_code hash = OperationEquivalence::computeHash(
      copy, OperationEquivalence::directHashValue,
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
  SmallVector<Operation *, 1> &known = copies[hash];
  for (Operation *other : known) {
    if ((checks && other->getLoc() != copy->getLoc()) ||
        !OperationEquivalence::isEquivalentTo(
            other, copy, OperationEquivalence::IgnoreLocations))
      continue;
    mapping.map(op->getResults(), other->getResults());
    copy->erase();
    return;
  }
  known.push_back(copy);
}

void KernelMerger::addCompute(tp::ComputeOp compute, tp::KernelOp member,
                              ArrayRef<unsigned> rows) {
  SmallVector<Value> computed, written, buffers;
  for (Value value : compute.getValues())
    computed.push_back(mapping.lookup(value));
  for (Value argument : compute.getBuffers()) {
    Value buffer =
        member->getOperand(cast<BlockArgument>(argument).getArgNumber());
    buffers.push_back(buffer);
    if (!isScratch(buffer)) {
      written.push_back(arguments.lookup(buffer));
    } else if (!fused->held.contains(buffer)) {
      const Storage &storage = values.storage(buffer);
      written.push_back(tp::ScratchOp::create(
          builder, compute.getLoc(),
          MemRefType::get(shapeOf(buffer), storage.elementType)));
    }
  }
  SmallVector<int64_t> loops(rows.begin(), rows.end());
  auto copy = tp::ComputeOp::create(builder, compute.getLoc(), computed, loops,
                                    written);
  for (auto [buffer, result] : llvm::zip_equal(buffers, copy.getResults()))
    tensors[buffer] = result;
  mapping.map(compute.getResults(), copy.getResults());
}

void KernelMerger::addMember(tp::KernelOp member,
                             const ComputeLoop &computeLoop) {
  for (Operation &op : member.getBody().front())
    if (auto load = dyn_cast<bufferization::ToTensorOp>(op))
      mapping.map(load.getResult(),
                  tensors.lookup(member->getOperand(
                      cast<BlockArgument>(load.getBuffer()).getArgNumber())));
    else if (auto compute = dyn_cast<tp::ComputeOp>(op))
      addCompute(compute, member, computeLoop.slots);
    else
      copyOnce(&op);
}

tp::KernelOp KernelMerger::merge() {
  makeKernel();
  for (Value buffer : kernel.getReads())
    tensors[buffer] = Value();
  for (Operation *member : group.commands)
    for (auto load : cast<tp::KernelOp>(member)
                         .getBody()
                         .front()
                         .getOps<bufferization::ToTensorOp>()) {
      Value buffer = member->getOperand(
          cast<BlockArgument>(load.getBuffer()).getArgNumber());
      auto it = tensors.find(buffer);
      if (it == tensors.end() || it->second)
        continue;
      it->second = bufferization::ToTensorOp::create(
          builder, load.getLoc(), load.getType(), arguments.lookup(buffer));
    }
  for (auto [member, computeLoop] :
       llvm::zip_equal(group.commands, group.computeLoops))
    addMember(cast<tp::KernelOp>(member), *computeLoop);
  for (Operation *member : group.commands)
    member->erase();
  return kernel;
}

tp::KernelOp tp::target::mergeKernels(const StoredValues &values,
                                      const KernelGroup &group) {
  return KernelMerger(values, group).merge();
}
