//===- MemoryPlan.cpp - where every value lies ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "Kernels/Schedule.h"
#include "tp/IR/TP.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

//===----------------------------------------------------------------------===//
// Overwriting a dying operand
//===----------------------------------------------------------------------===//

namespace {
/// The linear address of an access over the loops of the kernel.
struct Access {
  int64_t constant = 0;
  SmallVector<int64_t> slots;
  /// Stride and extent per loop of the loop nest, in order.
  SmallVector<std::pair<int64_t, int64_t>> loops;
};
} // namespace

static std::optional<Access> accessOf(const StoragePlan &plan,
                                      const FusedKernel &fusedKernel,
                                      const ComputeLoop &computeLoop,
                                      Value root, const Indices &index) {
  unsigned numSlots = fusedKernel.rowExtents.size();
  ArrayRef<int64_t> loopExtents =
      fusedKernel.loopNests[computeLoop.loopNest].extents;
  IndexSpace space = IndexSpace::ofExtents(fusedKernel.rowExtents);
  for (int64_t extent : loopExtents)
    space.dims.push_back({0, extent - 1});
  space.symbols = computeLoop.reads.symbols;
  AffineExpr address =
      applyMap(plan.storage(root).address,
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

/// True when `written`, computed in this kernel, may take the memory of
/// `dying`: each element of `dying` is read for the last time before, or in the
/// very iteration in which, its place is written.
static bool mayOverwrite(const StoragePlan &plan,
                         const FusedKernel &fusedKernel, Value written,
                         Value dying) {
  auto writerAt =
      llvm::find_if(fusedKernel.computeLoops, [&](ComputeLoop *computeLoop) {
        return llvm::is_contained(computeLoop->targets, written);
      });
  ComputeLoop &writer = **writerAt;
  unsigned target =
      llvm::find(writer.targets, written) - writer.targets.begin();
  auto write =
      accessOf(plan, fusedKernel, writer, written, writer.targetIndex[target]);
  if (!write || writer.isReduction())
    return false;
  auto sorted = [](Access access) {
    // Loops that do not move the address repeat it.
    llvm::erase_if(access.loops, [](auto &loop) { return loop.first == 0; });
    llvm::sort(access.loops);
    return access.loops;
  };
  for (auto it = fusedKernel.computeLoops.begin();
       it != fusedKernel.computeLoops.end(); ++it) {
    const ComputeLoop &reader = **it;
    for (const Read &read : reader.reads.reads) {
      if (read.root != dying)
        continue;
      if (read.dataDependent || reader.loopNest > writer.loopNest)
        return false;
      auto access = accessOf(plan, fusedKernel, reader, dying, read.index);
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

/// A GEMM adds each element of its residual to the one it writes in its place.
static bool mayOverwrite(const Gemm &gemm, Value dying) {
  const std::optional<GemmOperand> &residual = gemm.residual;
  return residual && residual->root == dying && gemm.a.root != dying &&
         gemm.b.root != dying && (!gemm.bias || gemm.bias->root != dying) &&
         residual->elementOffset == gemm.c.elementOffset &&
         residual->ld == gemm.c.ld &&
         residual->batchStrides == gemm.c.batchStrides;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

static int64_t place(MutableArrayRef<Lifetime> blocks, ArrayRef<unsigned> order,
                     int64_t alignment) {
  int64_t total = 0;
  SmallVector<unsigned> placed;
  for (unsigned index : order) {
    Lifetime &block = blocks[index];
    // The smallest gap between blocks alive at the same time that holds it.
    SmallVector<std::pair<int64_t, int64_t>> taken;
    for (unsigned other : placed)
      if (blocks[other].first <= block.last &&
          block.first <= blocks[other].last)
        taken.push_back(
            {blocks[other].offset,
             blocks[other].offset +
                 int64_t(llvm::alignTo(blocks[other].bytes, alignment))});
    llvm::sort(taken);
    int64_t bestOffset = -1, bestGap = 0, end = 0;
    for (auto [from, to] : taken) {
      int64_t gap = from - end;
      if (gap >= block.bytes && (bestOffset < 0 || gap < bestGap)) {
        bestOffset = end;
        bestGap = gap;
      }
      end = std::max(end, to);
    }
    block.offset = bestOffset < 0 ? end : bestOffset;
    total = std::max(total, block.offset +
                                int64_t(llvm::alignTo(block.bytes, alignment)));
    placed.push_back(index);
  }
  return total;
}

int64_t tp::target::packLifetimes(MutableArrayRef<Lifetime> blocks,
                                  int64_t alignment) {
  using Less = bool (*)(const Lifetime &, const Lifetime &);
  const Less orders[] = {
      [](const Lifetime &a, const Lifetime &b) { return a.bytes > b.bytes; },
      [](const Lifetime &a, const Lifetime &b) {
        return a.bytes * (a.last - a.first + 1) >
               b.bytes * (b.last - b.first + 1);
      },
      [](const Lifetime &a, const Lifetime &b) {
        return a.last - a.first > b.last - b.first;
      },
      [](const Lifetime &a, const Lifetime &b) { return a.first < b.first; },
  };
  int64_t best = -1;
  SmallVector<int64_t> offsets;
  for (Less less : orders) {
    SmallVector<unsigned> order =
        llvm::to_vector(llvm::seq<unsigned>(0, blocks.size()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      return less(blocks[a], blocks[b]);
    });
    int64_t total = place(blocks, order, alignment);
    if (best >= 0 && total >= best)
      continue;
    best = total;
    offsets.clear();
    for (const Lifetime &block : blocks)
      offsets.push_back(block.offset);
  }
  for (auto [block, offset] : llvm::zip_equal(blocks, offsets))
    block.offset = offset;
  return std::max<int64_t>(best, 0);
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

MemoryPlan tp::target::planMemory(StoragePlan &plan, const Schedule &schedule,
                                  int64_t alignment) {
  MemoryPlan memory;
  llvm::MapVector<Value, Lifetime> lifetimes;
  auto inArena = [&](Value value) {
    return plan.storage(value).space == Space::Arena;
  };
  for (auto [position, command] : llvm::enumerate(schedule.commands))
    for (ArrayRef<Value> values :
         {ArrayRef<Value>(command.reads), ArrayRef<Value>(command.writes)})
      for (Value value : values) {
        if (!inArena(value))
          continue;
        auto [it, inserted] = lifetimes.insert({value, Lifetime()});
        if (inserted)
          it->second = {plan.storage(value).bytes(), int64_t(position),
                        int64_t(position), 0};
        it->second.last = position;
      }
  // What an attention reads and writes is there from its first step to its
  // last: a library does all of it at once.
  for (const Attention &attention : schedule.attentions) {
    SmallVector<Value> operands = {attention.q.root, attention.k.root,
                                   attention.v.root, attention.o.root};
    if (attention.bias)
      operands.push_back(attention.bias->root);
    for (Value operand : operands) {
      auto it = lifetimes.find(operand);
      if (it == lifetimes.end())
        continue;
      it->second.first = std::min<int64_t>(it->second.first, attention.first);
      it->second.last = std::max<int64_t>(it->second.last, attention.last);
    }
  }

  llvm::DenseSet<Value> overwritten;
  for (auto [position, command] : llvm::enumerate(schedule.commands)) {
    bool reduces =
        command.collective && isa<tp::AllReduceOp>(command.collective);
    if (!command.fusedKernel && !reduces && !command.gemm)
      continue;
    for (Value written : command.writes) {
      if (!inArena(written) ||
          lifetimes.find(written)->second.first != int64_t(position))
        continue;
      for (Value dying : command.reads) {
        if (dying == written || !inArena(dying) ||
            overwritten.contains(dying) ||
            llvm::is_contained(command.writes, dying) ||
            lifetimes.find(dying)->second.last != int64_t(position) ||
            plan.storage(dying).bytes() != plan.storage(written).bytes() ||
            elementBytes(plan.storage(dying).elementType) !=
                elementBytes(plan.storage(written).elementType))
          continue;
        if (command.fusedKernel &&
            !mayOverwrite(plan, *command.fusedKernel, written, dying))
          continue;
        if (command.gemm && !mayOverwrite(*command.gemm, dying))
          continue;
        memory.overwrites[written] = dying;
        overwritten.insert(dying);
        break;
      }
    }
  }
  llvm::MapVector<Value, Lifetime> owners;
  for (auto &[value, lifetime] : lifetimes) {
    auto [it, inserted] = owners.insert({memory.owner(value), lifetime});
    it->second.first = std::min(it->second.first, lifetime.first);
    it->second.last = std::max(it->second.last, lifetime.last);
  }
  SmallVector<Lifetime> blocks;
  for (auto &[owner, lifetime] : owners)
    blocks.push_back(lifetime);
  for (int64_t position = 0; position < int64_t(schedule.commands.size());
       ++position) {
    int64_t live = 0;
    for (const Lifetime &block : blocks)
      if (block.first <= position && position <= block.last)
        live += block.bytes;
    memory.peakLiveBytes = std::max(memory.peakLiveBytes, live);
  }
  memory.arenaBytes = packLifetimes(blocks, alignment);
  for (auto [entry, block] : llvm::zip_equal(owners, blocks))
    plan.storage(entry.first).offset = block.offset;
  for (auto &[value, lifetime] : lifetimes)
    plan.storage(value).offset = plan.storage(memory.owner(value)).offset;

  llvm::DenseSet<Value> used;
  for (const Command &command : schedule.commands)
    used.insert_range(command.reads);
  for (auto &[value, storage] : plan.all()) {
    if (storage.space != Space::Constant)
      continue;
    storage.offset = -1;
    if (used.contains(value)) {
      storage.offset = llvm::alignTo(memory.constantsBytes, alignment);
      memory.constantsBytes = storage.offset + storage.bytes();
    }
  }
  return memory;
}
