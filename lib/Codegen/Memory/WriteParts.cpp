//===- WriteParts.cpp - pass tp-write-parts -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compute loop of a state gets a kernel of its own, which runs over the
// part that changes. It stands before the rest of its kernel, which may read
// the result there, or behind it, if the rest reads the argument.
//
//===----------------------------------------------------------------------===//

#include "ChangedPart.h"
#include "CodegenPlan.h"
#include "Program/Buffers.h"
#include "Program/CommandUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Codegen/CodegenPasses.h"

namespace tp {
#define GEN_PASS_DEF_WRITEPARTS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

/// What an op reads, in its regions too.
static llvm::SetVector<Value> needsOf(Operation *op) {
  llvm::SetVector<Value> needs;
  needs.insert_range(op->getOperands());
  getUsedValuesDefinedAbove(op->getRegions(), needs);
  return needs;
}

namespace {
/// Copies what computes one value of a kernel into another kernel.
class Extraction {
public:
  Extraction(tp::KernelOp kernel, tp::ComputeOp compute)
      : kernel(kernel), compute(compute), builder(kernel) {}

  /// The kernel of the compute loop alone, in front of the old one; null, and
  /// nothing is left, where it needs a reduction or writes all of the state.
  tp::KernelOp make(Value state, Value memory);
  /// The buffers of the old kernel that the new one reads.
  llvm::SmallSetVector<Value, 4> reads;

private:
  bool find(Value value);
  void copy(Value value);

  tp::KernelOp kernel;
  tp::ComputeOp compute;
  OpBuilder builder;
  /// In order.
  llvm::SetVector<Operation *> needed;
  IRMapping mapping;
};
} // namespace

/// Whether `value` can be computed element by element, and any of its elements
/// alone; notes its ops. A check runs for every element: also for those that do
/// not change.
bool Extraction::find(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || needed.contains(op))
    return op != nullptr;
  if (hasCheck(op))
    return false;
  if (auto load = dyn_cast<bufferization::ToTensorOp>(op)) {
    auto buffer = cast<BlockArgument>(load.getBuffer());
    reads.insert(kernel->getOperand(buffer.getArgNumber()));
  } else if (auto other = dyn_cast<tp::ComputeOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    auto linalgOp = other.getValues()[number].getDefiningOp<linalg::LinalgOp>();
    if ((linalgOp && !isElementwise(linalgOp)) ||
        !find(other.getValues()[number]))
      return false;
  } else {
    for (Value need : needsOf(op))
      if (!find(need))
        return false;
  }
  needed.insert(op);
  return true;
}

tp::KernelOp Extraction::make(Value state, Value memory) {
  Value value = compute.getValues().front();
  auto linalgOp = value.getDefiningOp<linalg::LinalgOp>();
  if ((linalgOp && !isElementwise(linalgOp)) || !find(value) ||
      !reads.contains(memory))
    return {};
  auto made = tp::KernelOp::create(builder, compute.getLoc(),
                                   reads.getArrayRef(), state);
  Block *block = &made.getBody().emplaceBlock();
  for (Value operand : made.getOperands())
    block->addArgument(operand.getType(), operand.getLoc());
  OpBuilder inner = OpBuilder::atBlockEnd(block);
  for (Operation *op : needed) {
    if (auto load = dyn_cast<bufferization::ToTensorOp>(op)) {
      auto buffer = cast<BlockArgument>(load.getBuffer());
      auto at = llvm::find(reads, kernel->getOperand(buffer.getArgNumber()));
      mapping.map(buffer, block->getArgument(at - reads.begin()));
    } else if (auto other = dyn_cast<tp::ComputeOp>(op)) {
      for (auto [old, result] :
           llvm::zip_equal(other.getValues(), other.getResults()))
        mapping.map(result, mapping.lookupOrDefault(old));
      continue;
    }
    inner.clone(*op, mapping);
  }
  auto stateAt = llvm::find(reads, memory) - reads.begin();
  BlockArgument target = block->getArguments().back();
  Value copied = mapping.lookup(value);
  std::optional<ChangedPart> part =
      changedPart(inner, copied, block->getArgument(stateAt),
                  cast<MemRefType>(target.getType()));
  if (!part) {
    made.erase();
    return {};
  }
  auto writer = tp::ComputeOp::create(inner, compute.getLoc(), copied,
                                      ArrayRef<int64_t>(), Value(target));
  writer.getStartsMutable().assign(part->starts);
  writer.setSizes(part->sizes);
  writer.setAlong(part->along);
  return made;
}

//===----------------------------------------------------------------------===//
// The rest of the kernel
//===----------------------------------------------------------------------===//

/// Whether a compute loop of `kernel` but `compute` evaluates elements of
/// `buffer`.
static bool isReadBeside(tp::KernelOp kernel, tp::ComputeOp compute,
                         Value buffer) {
  SmallVector<Value> work;
  for (auto other : kernel.getBody().front().getOps<tp::ComputeOp>())
    if (other != compute)
      llvm::append_range(work, other.getValues());
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    // What another compute loop stores it reads itself.
    if (!op || isa<tp::ComputeOp>(op) || !seen.insert(op).second)
      continue;
    if (auto load = dyn_cast<bufferization::ToTensorOp>(op)) {
      auto argument = cast<BlockArgument>(load.getBuffer());
      if (kernel->getOperand(argument.getArgNumber()) == buffer)
        return true;
    }
    llvm::append_range(work, needsOf(op));
  }
  return false;
}

/// Removes compute loops that only the removed one read, and what no compute
/// loop evaluates any more.
static void removeUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto compute = dyn_cast<tp::ComputeOp>(op);
    bool isUnused = compute ? compute->use_empty() &&
                                  llvm::none_of(compute.getBuffers(),
                                                llvm::IsaPred<BlockArgument>) &&
                                  llvm::none_of(compute.getValues(),
                                                [](Value value) {
                                                  Operation *by =
                                                      value.getDefiningOp();
                                                  return by && hasCheck(by);
                                                })
                            : op.use_empty();
    if (isUnused)
      op.erase();
  }
}

/// The kernel without `compute`, whose result it reads from `state`; erased if
/// no compute loop is left.
static void removeLoop(tp::KernelOp kernel, tp::ComputeOp compute,
                       Value state) {
  Block &block = kernel.getBody().front();
  auto written = cast<BlockArgument>(compute.getBuffers().front());
  unsigned writtenAt = written.getArgNumber();
  SmallVector<Value> reads(kernel.getReads()), writes;
  for (auto [i, write] : llvm::enumerate(kernel.getWrites()))
    if (i + reads.size() != writtenAt)
      writes.push_back(write);
  OpBuilder builder(kernel);
  Value result = compute.getResults().front();
  if (!result.use_empty()) {
    BlockArgument read =
        block.insertArgument(reads.size(), state.getType(), state.getLoc());
    ++writtenAt;
    reads.push_back(state);
    OpBuilder inner = OpBuilder::atBlockBegin(&block);
    result.replaceAllUsesWith(bufferization::ToTensorOp::create(
        inner, compute.getLoc(), result.getType(), read));
  }
  compute.erase();
  block.eraseArgument(writtenAt);
  removeUnused(block);
  for (unsigned i = reads.size(); i-- > 0;)
    if (block.getArgument(i).use_empty()) {
      block.eraseArgument(i);
      reads.erase(reads.begin() + i);
    }
  if (!block.getOps<tp::ComputeOp>().empty()) {
    auto rest = tp::KernelOp::create(builder, kernel.getLoc(), reads, writes);
    rest.getBody().takeBody(kernel.getBody());
  }
  kernel.erase();
}

static LogicalResult writePart(tp::KernelOp kernel, tp::ComputeOp compute,
                               tp::AllocOp state, const TargetTraits &traits) {
  Value memory = state.getMemory();
  bool oldIsRead = isReadBeside(kernel, compute, memory);
  if (oldIsRead && !compute->use_empty())
    return success();
  Extraction extraction(kernel, compute);
  tp::KernelOp alone = extraction.make(state, memory);
  if (!alone)
    return success();
  // What was a loop of its own in the old kernel, over other elements of the
  // state, is part of the loop that writes it now.
  KernelPlans kernels(traits);
  FailureOr<bool> may = mayTakeOver(alone, state, memory, kernels);
  if (failed(may) || !*may) {
    alone.erase();
    return may;
  }
  if (oldIsRead) {
    // What the rest writes in place would be new.
    bool readsOther = llvm::any_of(kernel.getWrites(), [&](Value write) {
      auto other = write.getDefiningOp<tp::AllocOp>();
      return other && other != state && other.getMemory() &&
             extraction.reads.contains(other.getMemory());
    });
    if (readsOther) {
      alone.erase();
      return success();
    }
    alone->moveAfter(kernel);
  }
  removeLoop(kernel, compute, state);
  return success();
}

LogicalResult tp::target::writeParts(func::FuncOp program,
                                     const TargetTraits &traits) {
  if (!traits.computesParts)
    return success();
  for (auto state :
       llvm::make_early_inc_range(program.front().getOps<tp::AllocOp>())) {
    if (!state.getMemory())
      continue;
    SmallVector<Operation *> users(state->getUsers());
    for (Operation *user : users) {
      auto kernel = dyn_cast<tp::KernelOp>(user);
      if (!kernel || !llvm::is_contained(kernel.getWrites(), state.getResult()))
        continue;
      unsigned at = llvm::find(kernel->getOperands(), state.getResult()) -
                    kernel->operand_begin();
      auto compute =
          cast<tp::ComputeOp>(*kernel.getBody().getArgument(at).user_begin());
      if (compute.getValues().size() == 1 && compute.getStarts().empty() &&
          failed(writePart(kernel, compute, state, traits)))
        return failure();
      break;
    }
  }
  return success();
}

namespace {
struct WritePartsPass : tp::impl::WritePartsBase<WritePartsPass> {
  using WritePartsBase::WritePartsBase;

  void runOnOperation() override {
    if (failed(changePrograms(getOperation(), target, "tp-write-parts",
                              writeParts)))
      signalPassFailure();
  }
};
} // namespace
