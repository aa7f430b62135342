//===- TakeOver.cpp - writing over a dying operand ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels/Schedule.h"
#include "MemoryPlan.h"
#include "Program/Buffers.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// The linear address of an access over the loops of the kernel.
struct Access {
  int64_t constant = 0;
  SmallVector<int64_t> slots;
  /// Stride and extent per loop of the loop nest, in order.
  SmallVector<std::pair<int64_t, int64_t>> loops;
};
} // namespace

static std::optional<Access> accessOf(const KernelPlan &kernel,
                                      const ComputeLoop &computeLoop,
                                      Value root, const Indices &index) {
  const FusedKernel &fusedKernel = *kernel.fusedKernel;
  unsigned numSlots = fusedKernel.rowExtents.size();
  ArrayRef<int64_t> loopExtents =
      fusedKernel.loopNests[computeLoop.loopNest].extents;
  IndexSpace space = IndexSpace::ofExtents(fusedKernel.rowExtents);
  for (int64_t extent : loopExtents)
    space.dims.push_back({0, extent - 1});
  space.symbols = computeLoop.reads.symbols;
  AffineExpr address =
      applyMap(kernel.values.storage(root).address,
               overKernelDims(computeLoop, index, numSlots), {}, space)
          .front();
  auto form = linearForm(address, space.dims.size(), space.symbols.size());
  // Where a scalar moves the access, nothing is known.
  if (!form || llvm::any_of(form->symbolStrides,
                            [](int64_t stride) { return stride != 0; }))
    return std::nullopt;
  Access access;
  access.constant = form->constant;
  access.slots.assign(form->dimStrides.begin(),
                      form->dimStrides.begin() + numSlots);
  for (auto [i, extent] : llvm::enumerate(loopExtents))
    access.loops.push_back({form->dimStrides[numSlots + i], extent});
  return access;
}

/// True when the value that the kernel writes into `written` may take the
/// memory of `dying`: each element of `dying` is read for the last time before,
/// or in the very iteration in which, its place is written.
static bool mayOverwrite(const KernelPlan &kernel, BlockArgument written,
                         BlockArgument dying) {
  auto isOf = [&](Value value, BlockArgument buffer) {
    auto it = kernel.buffers.find(value);
    return it != kernel.buffers.end() && it->second == buffer;
  };
  ArrayRef<ComputeLoop *> computeLoops = kernel.fusedKernel->computeLoops;
  unsigned target = 0;
  const auto *writerAt =
      llvm::find_if(computeLoops, [&](ComputeLoop *computeLoop) {
        for (target = 0; target < computeLoop->targets.size(); ++target)
          if (isOf(computeLoop->targets[target], written))
            return true;
        return false;
      });
  if (writerAt == computeLoops.end())
    return false;
  const ComputeLoop &writer = **writerAt;
  auto write = accessOf(kernel, writer, writer.targets[target],
                        writer.targetIndex[target]);
  // A scatter of one result stores what its accumulators start from, each after
  // it was read, before it adds.
  bool mayStart = !writer.scattered.empty() && writer.targets.size() == 1;
  if (!write || (writer.isReduction() && !mayStart))
    return false;
  auto sorted = [](Access access) {
    // Loops that do not move the address repeat it.
    llvm::erase_if(access.loops, [](auto &loop) { return loop.first == 0; });
    llvm::sort(access.loops);
    return access.loops;
  };
  for (const auto *it = computeLoops.begin(); it != computeLoops.end(); ++it) {
    const ComputeLoop &reader = **it;
    for (const Read &read : reader.reads.reads) {
      if (!isOf(read.root, dying))
        continue;
      if (read.dataDependent || reader.loopNest > writer.loopNest)
        return false;
      if (writer.isReduction() && !read.isInit)
        return false;
      auto access = accessOf(kernel, reader, read.root, read.index);
      if (!access || access->constant != write->constant ||
          access->slots != write->slots)
        return false;
      if (reader.loopNest == writer.loopNest) {
        if (it > writerAt || access->loops != write->loops)
          return false;
      } else if (sorted(*access) != sorted(*write)) {
        return false;
      }
    }
  }
  return true;
}

/// True when the command reads `dying` as nothing but what it adds to.
static bool isOnlyAddedTo(Operation *command, Value onto, Value dying) {
  return onto && rootBuffer(onto) == dying &&
         llvm::count_if(command->getOperands(), [&](Value operand) {
           return rootBuffer(operand) == dying;
         }) == 1;
}

/// A GEMM adds each element of its residual to the one it writes in its place.
static bool mayOverwrite(tp::GemmOp gemm, Value dying) {
  return isOnlyAddedTo(gemm, gemm.getResidual(), dying) &&
         gemm.getResidual().getType() == gemm.getC().getType();
}

/// A head's sum before is read before its gradient of q is written.
static bool mayOverwrite(tp::AttentionBackwardOp backward, Value written,
                         Value dying) {
  return isOnlyAddedTo(backward, backward.getOnto(), dying) &&
         rootBuffer(backward.getGq()) == written;
}

FailureOr<bool> tp::target::mayTakeOver(Operation *command, Value written,
                                        Value dying, KernelPlans &kernels) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(command).getEffects(effects);
  auto has = [&](Value root, bool isWrite) {
    return llvm::any_of(effects, [&](const auto &effect) {
      return rootBuffer(effect.getValue()) == root &&
             isa<MemoryEffects::Write>(effect.getEffect()) == isWrite;
    });
  };
  if (!has(written, true) || !has(dying, false) || has(dying, true))
    return false;
  if (auto gemm = dyn_cast<tp::GemmOp>(command))
    return mayOverwrite(gemm, dying);
  // A row of the state before is read before the one in its place is written.
  if (auto attention = dyn_cast<tp::AttentionOp>(command))
    return isOnlyAddedTo(attention, attention.getOnto(), dying);
  if (auto backward = dyn_cast<tp::AttentionBackwardOp>(command))
    return mayOverwrite(backward, written, dying);
  if (auto communicate = dyn_cast<tp::CommunicateOp>(command))
    return isa<tp::AllReduceOp>(communicate.getCollective()) &&
           communicate.getSource().getType() ==
               communicate.getDestination().getType();
  auto kernel = dyn_cast<tp::KernelOp>(command);
  if (!kernel)
    return false;
  const KernelPlan *plan = kernels.of(kernel);
  if (!plan)
    return failure();
  tp::KernelOp planned = kernels.firstEqual(kernel);
  // A view covers a part, which says nothing of the rest.
  auto argumentOf = [&](Value buffer) -> BlockArgument {
    auto at = llvm::find(kernel->getOperands(), buffer);
    if (at == kernel->operand_end())
      return {};
    return planned.getBody().getArgument(at - kernel->operand_begin());
  };
  BlockArgument to = argumentOf(written), from = argumentOf(dying);
  auto isOnlyUse = [&](Value buffer) {
    return llvm::count_if(kernel->getOperands(), [&](Value operand) {
             return rootBuffer(operand) == buffer;
           }) == 1;
  };
  return to && from && isOnlyUse(written) && isOnlyUse(dying) &&
         mayOverwrite(*plan, to, from);
}
