//===- LoopNests.cpp - compute loops as one kernel ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the rows of a kernel, compute loops with the same loops merge into one
// nest as long as what one reads from another is the element just computed.
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"

using namespace mlir;
using namespace tp::target;

/// The stride of every dim in the address of the first stored target.
static SmallVector<int64_t> targetStrides(const StoredValues &plan,
                                          const ComputeLoop &computeLoop) {
  SmallVector<int64_t> none(computeLoop.extents.size(), 0);
  for (auto [target, index] :
       llvm::zip_equal(computeLoop.targets, computeLoop.targetIndex)) {
    if (!plan.isStored(target))
      continue;
    IndexSpace space = IndexSpace::ofExtents(computeLoop.extents);
    AffineExpr address =
        applyMap(plan.storage(target).address, index, {}, space).front();
    auto form = linearForm(address, computeLoop.extents.size(), 0);
    return form ? SmallVector<int64_t>(form->dimStrides) : none;
  }
  return none;
}

bool tp::target::isColumnwise(const StoredValues &plan,
                              const ComputeLoop &computeLoop) {
  constexpr int64_t smallest = 4096;
  int64_t elements = 1;
  for (int64_t extent : computeLoop.extents)
    elements *= extent;
  if (!computeLoop.isReduction() || elements < smallest ||
      !llvm::all_of(
          computeLoop.targets,
          [&](Value target) { return plan.isStored(target); }))
    return false;
  // The loop over what lies side by side in the target.
  SmallVector<int64_t> strides = targetStrides(plan, computeLoop);
  std::optional<unsigned> column;
  for (auto [dim, stride] : llvm::enumerate(strides))
    if (stride == 1 && computeLoop.extents[dim] != 1 &&
        !computeLoop.reduces[dim])
      column = dim;
  if (!column)
    return false;
  IndexSpace space = IndexSpace::ofExtents(computeLoop.extents);
  space.symbols = computeLoop.reads.symbols;
  bool columns = false, isMatrix = false, hasWeights = false;
  for (const Read &read : computeLoop.reads.reads) {
    if (read.dataDependent)
      continue;
    AffineExpr address =
        applyMap(plan.storage(read.root).address, read.index, {}, space)
            .front();
    auto form =
        linearForm(address, computeLoop.extents.size(), space.symbols.size());
    if (!form)
      return false;
    bool reduces = false, alongSum = false;
    for (auto [dim, stride] : llvm::enumerate(form->dimStrides)) {
      bool isReduced =
          computeLoop.extents[dim] != 1 && computeLoop.reduces[dim];
      reduces |= isReduced && stride != 0;
      alongSum |= isReduced && stride == 1;
    }
    // What is the same for all columns, as weights of rows, is read once for
    // them.
    int64_t stride = form->dimStrides[*column];
    if (alongSum && stride != 0)
      return false;
    hasWeights |= alongSum;
    columns |= stride == 1;
    isMatrix |= stride == 1 && reduces;
  }
  // Of two vectors alone either order reads as much.
  return hasWeights ? isMatrix : columns;
}

static void sortByStride(SmallVectorImpl<unsigned> &dims,
                         ArrayRef<int64_t> strides) {
  llvm::stable_sort(
      dims, [&](unsigned a, unsigned b) { return strides[a] > strides[b]; });
}

/// The loops of a compute loop inside the rows, outermost first; `numParallel`
/// of them surround a reduction.
static SmallVector<unsigned> innerDims(const StoredValues &plan,
                                       const ComputeLoop &computeLoop,
                                       unsigned &numParallel) {
  SmallVector<unsigned> parallel, reduces;
  for (auto [dim, extent] : llvm::enumerate(computeLoop.extents))
    if (extent != 1 && !llvm::is_contained(computeLoop.slots, dim))
      (computeLoop.reduces[dim] ? reduces : parallel).push_back(dim);
  sortByStride(parallel, targetStrides(plan, computeLoop));
  numParallel = computeLoop.isReduction() ? parallel.size() : 0;
  llvm::append_range(parallel, reduces);
  return parallel;
}

Indices tp::target::overKernelDims(const ComputeLoop &computeLoop,
                                   ArrayRef<AffineExpr> exprs,
                                   unsigned numSlots) {
  MLIRContext *context = computeLoop.op->getContext();
  Indices dims(computeLoop.extents.size(), getAffineConstantExpr(0, context));
  for (auto [slot, dim] : llvm::enumerate(computeLoop.slots))
    dims[dim] = getAffineDimExpr(slot, context);
  for (auto [dim, loop] : llvm::enumerate(computeLoop.loopOfDim))
    if (loop >= 0)
      dims[dim] = getAffineDimExpr(numSlots + loop, context);
  Indices result;
  for (AffineExpr expr : exprs)
    result.push_back(expr.replaceDims(dims));
  return result;
}

namespace {
class FusedKernelBuilder {
public:
  FusedKernelBuilder(const StoredValues &plan,
                     ArrayRef<ComputeLoop *> computeLoops)
      : plan(plan), fusedKernel(std::make_unique<FusedKernel>()) {
    fusedKernel->computeLoops.assign(computeLoops.begin(), computeLoops.end());
  }
  std::unique_ptr<FusedKernel> build();

private:
  void orderRows();
  void place(ComputeLoop &computeLoop);
  bool merge(unsigned loopNest, ComputeLoop &computeLoop,
             ArrayRef<unsigned> inner);
  ComputeLoop *producerOf(Value value) const;
  /// The compute loop of the nest that writes the value, and at which index;
  /// null if none does.
  std::pair<ComputeLoop *, ArrayRef<AffineExpr>>
  writeOf(const LoopNest &loopNest, Value value) const;

  const StoredValues &plan;
  std::unique_ptr<FusedKernel> fusedKernel;
};
} // namespace

ComputeLoop *FusedKernelBuilder::producerOf(Value value) const {
  for (ComputeLoop *computeLoop : fusedKernel->computeLoops)
    if (llvm::is_contained(computeLoop->targets, value))
      return computeLoop;
  return nullptr;
}

std::pair<ComputeLoop *, ArrayRef<AffineExpr>>
FusedKernelBuilder::writeOf(const LoopNest &loopNest, Value value) const {
  ComputeLoop *producer = producerOf(value);
  if (!producer || !llvm::is_contained(loopNest.computeLoops, producer))
    return {};
  unsigned target =
      llvm::find(producer->targets, value) - producer->targets.begin();
  return {producer, producer->targetIndex[target]};
}

void FusedKernelBuilder::orderRows() {
  ComputeLoop &first = *fusedKernel->computeLoops.front();
  // Alone, an elementwise compute loop or a scatter has no rows: it orders its
  // loops freely.
  if (fusedKernel->computeLoops.size() == 1 &&
      (!first.isReduction() || !first.scattered.empty() ||
       isColumnwise(plan, first)))
    first.slots.clear();
  SmallVector<int64_t> strides = targetStrides(plan, first);
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, first.slots.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return strides[first.slots[a]] > strides[first.slots[b]];
  });
  for (ComputeLoop *computeLoop : fusedKernel->computeLoops) {
    SmallVector<unsigned> slots;
    for (unsigned slot : order)
      slots.push_back(computeLoop->slots[slot]);
    computeLoop->slots = slots;
  }
  for (unsigned dim : first.slots)
    fusedKernel->rowExtents.push_back(first.extents[dim]);
}

bool FusedKernelBuilder::merge(unsigned index, ComputeLoop &computeLoop,
                               ArrayRef<unsigned> inner) {
  LoopNest &loopNest = fusedKernel->loopNests[index];
  if (loopNest.extents.size() != inner.size() || loopNest.numParallel != 0)
    return false;
  computeLoop.loopOfDim.assign(computeLoop.extents.size(), -1);
  SmallVector<bool> taken(inner.size(), false);
  auto assign = [&](unsigned dim, int loop) {
    if (computeLoop.loopOfDim[dim] == loop)
      return true;
    if (computeLoop.loopOfDim[dim] != -1 || taken[loop] ||
        computeLoop.extents[dim] != loopNest.extents[loop])
      return false;
    computeLoop.loopOfDim[dim] = loop;
    taken[loop] = true;
    return true;
  };
  // Reads of what this loop nest computes fix which loop is which.
  for (const Read &read : computeLoop.reads.reads) {
    auto [producer, index] = writeOf(loopNest, read.root);
    if (!producer)
      continue;
    for (auto [written, used] : llvm::zip_equal(index, read.index)) {
      auto from = dyn_cast<AffineDimExpr>(written);
      auto to = dyn_cast<AffineDimExpr>(used);
      if (!from || !to || producer->loopOfDim[from.getPosition()] < 0 ||
          !llvm::is_contained(inner, to.getPosition()))
        continue;
      if (!assign(to.getPosition(), producer->loopOfDim[from.getPosition()]))
        return false;
    }
  }
  for (unsigned dim : inner) {
    if (computeLoop.loopOfDim[dim] != -1)
      continue;
    int loop = llvm::find(taken, false) - taken.begin();
    if (!assign(dim, loop))
      return false;
  }
  unsigned numSlots = fusedKernel->rowExtents.size();
  for (const Read &read : computeLoop.reads.reads) {
    auto [producer, index] = writeOf(loopNest, read.root);
    if (producer && overKernelDims(*producer, index, numSlots) !=
                        overKernelDims(computeLoop, read.index, numSlots))
      return false;
  }
  loopNest.computeLoops.push_back(&computeLoop);
  computeLoop.loopNest = index;
  return true;
}

void FusedKernelBuilder::place(ComputeLoop &computeLoop) {
  unsigned numParallel = 0;
  SmallVector<unsigned> inner = innerDims(plan, computeLoop, numParallel);
  unsigned earliest = 0;
  for (const Read &read : computeLoop.reads.reads)
    if (ComputeLoop *producer = producerOf(read.root);
        producer && producer != &computeLoop)
      earliest = std::max(
          earliest, producer->loopNest +
                        (producer->isReduction() || read.isInit ? 1u : 0u));
  if (numParallel == 0)
    for (unsigned i = earliest; i < fusedKernel->loopNests.size(); ++i)
      if (merge(i, computeLoop, inner))
        return;
  LoopNest loopNest;
  loopNest.computeLoops = {&computeLoop};
  loopNest.numParallel = numParallel;
  loopNest.columnwise = numParallel > 0 && computeLoop.scattered.empty() &&
                        isColumnwise(plan, computeLoop);
  computeLoop.loopOfDim.assign(computeLoop.extents.size(), -1);
  for (auto [loop, dim] : llvm::enumerate(inner)) {
    computeLoop.loopOfDim[dim] = loop;
    loopNest.extents.push_back(computeLoop.extents[dim]);
  }
  computeLoop.loopNest = fusedKernel->loopNests.size();
  fusedKernel->loopNests.push_back(std::move(loopNest));
}

std::unique_ptr<FusedKernel> FusedKernelBuilder::build() {
  orderRows();
  for (ComputeLoop *computeLoop : fusedKernel->computeLoops)
    place(*computeLoop);
  // A scratch value whose readers all sit in the loop nest that computes it is
  // passed on as a scalar.
  for (ComputeLoop *computeLoop : fusedKernel->computeLoops) {
    if (computeLoop->isReduction())
      continue;
    for (Value target : computeLoop->targets) {
      if (plan.storage(target).space != Space::Scratch)
        continue;
      bool local =
          llvm::all_of(fusedKernel->computeLoops, [&](ComputeLoop *reader) {
            return reader->loopNest == computeLoop->loopNest ||
                   llvm::none_of(reader->reads.reads, [&](const Read &read) {
                     return read.root == target;
                   });
          });
      if (local)
        fusedKernel->held.insert(target);
    }
  }
  return std::move(fusedKernel);
}

std::unique_ptr<FusedKernel>
tp::target::finishFusedKernel(const StoredValues &plan,
                              ArrayRef<ComputeLoop *> computeLoops) {
  return FusedKernelBuilder(plan, computeLoops).build();
}
