//===- Group.cpp - the loop nests of one kernel ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the rows of a group, stages with the same loops merge into one nest as
// long as what one reads from another is the element just computed.
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"

using namespace mlir;
using namespace tp::target;

/// The stride of every dim in the address of the first stored target.
static SmallVector<int64_t> targetStrides(const StoragePlan &plan,
                                          const Stage &stage) {
  SmallVector<int64_t> none(stage.extents.size(), 0);
  for (auto [target, index] :
       llvm::zip_equal(stage.targets, stage.targetIndex)) {
    if (!plan.isStored(target))
      continue;
    IndexSpace space = IndexSpace::ofExtents(stage.extents);
    AffineExpr address =
        applyMap(plan.storage(target).address, index, {}, space).front();
    auto form = linearForm(address, stage.extents.size(), 0);
    return form ? SmallVector<int64_t>(form->dimStrides) : none;
  }
  return none;
}

bool tp::target::isColumnwise(const StoragePlan &plan, const Stage &stage) {
  constexpr int64_t smallest = 4096;
  int64_t elements = 1;
  for (int64_t extent : stage.extents)
    elements *= extent;
  if (!stage.isReduction() || elements < smallest ||
      !llvm::all_of(
          stage.targets, [&](Value target) { return plan.isStored(target); }))
    return false;
  SmallVector<int64_t> strides = targetStrides(plan, stage);
  IndexSpace space = IndexSpace::ofExtents(stage.extents);
  space.symbols = stage.reads.symbols;
  bool columns = false;
  for (const Read &read : stage.reads.reads) {
    if (read.dataDependent)
      continue;
    AffineExpr address =
        applyMap(plan.storage(read.root).address, read.index, {}, space)
            .front();
    auto form = linearForm(address, stage.extents.size(), space.symbols.size());
    if (!form)
      return false;
    for (auto [dim, stride] : llvm::enumerate(form->dimStrides)) {
      if (stride != 1 || stage.extents[dim] == 1)
        continue;
      if (stage.reduces[dim])
        return false;
      columns |= strides[dim] == 1;
    }
  }
  return columns;
}

static void sortByStride(SmallVectorImpl<unsigned> &dims,
                         ArrayRef<int64_t> strides) {
  llvm::stable_sort(
      dims, [&](unsigned a, unsigned b) { return strides[a] > strides[b]; });
}

/// The loops of a stage inside the rows, outermost first; `numParallel` of them
/// surround a reduction.
static SmallVector<unsigned>
innerDims(const StoragePlan &plan, const Stage &stage, unsigned &numParallel) {
  SmallVector<unsigned> parallel, reduces;
  for (auto [dim, extent] : llvm::enumerate(stage.extents))
    if (extent != 1 && !llvm::is_contained(stage.slots, dim))
      (stage.reduces[dim] ? reduces : parallel).push_back(dim);
  sortByStride(parallel, targetStrides(plan, stage));
  numParallel = stage.isReduction() ? parallel.size() : 0;
  llvm::append_range(parallel, reduces);
  return parallel;
}

Indices tp::target::overKernelDims(const Stage &stage,
                                   ArrayRef<AffineExpr> exprs,
                                   unsigned numSlots) {
  MLIRContext *context = stage.op->getContext();
  Indices dims(stage.extents.size(), getAffineConstantExpr(0, context));
  for (auto [slot, dim] : llvm::enumerate(stage.slots))
    dims[dim] = getAffineDimExpr(slot, context);
  for (auto [dim, loop] : llvm::enumerate(stage.loopOfDim))
    if (loop >= 0)
      dims[dim] = getAffineDimExpr(numSlots + loop, context);
  Indices result;
  for (AffineExpr expr : exprs)
    result.push_back(expr.replaceDims(dims));
  return result;
}

namespace {
class GroupBuilder {
public:
  GroupBuilder(StoragePlan &plan, ArrayRef<Stage *> stages)
      : plan(plan), group(std::make_unique<Group>()) {
    group->stages.assign(stages.begin(), stages.end());
  }
  std::unique_ptr<Group> build(llvm::DenseSet<Value> &forwarded);

private:
  void orderRows();
  void place(Stage &stage);
  bool merge(unsigned bundle, Stage &stage, ArrayRef<unsigned> inner);
  Stage *producerOf(Value value) const;

  StoragePlan &plan;
  std::unique_ptr<Group> group;
};
} // namespace

Stage *GroupBuilder::producerOf(Value value) const {
  for (Stage *stage : group->stages)
    if (llvm::is_contained(stage->targets, value))
      return stage;
  return nullptr;
}

void GroupBuilder::orderRows() {
  Stage &first = *group->stages.front();
  // Alone, an elementwise stage has no rows: it orders its loops freely.
  if (group->stages.size() == 1 &&
      (!first.isReduction() || isColumnwise(plan, first)))
    first.slots.clear();
  SmallVector<int64_t> strides = targetStrides(plan, first);
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, first.slots.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return strides[first.slots[a]] > strides[first.slots[b]];
  });
  for (Stage *stage : group->stages) {
    SmallVector<unsigned> slots;
    for (unsigned slot : order)
      slots.push_back(stage->slots[slot]);
    stage->slots = slots;
  }
  for (unsigned dim : first.slots)
    group->rowExtents.push_back(first.extents[dim]);
}

bool GroupBuilder::merge(unsigned index, Stage &stage,
                         ArrayRef<unsigned> inner) {
  Bundle &bundle = group->bundles[index];
  if (bundle.extents.size() != inner.size() || bundle.numParallel != 0)
    return false;
  stage.loopOfDim.assign(stage.extents.size(), -1);
  SmallVector<bool> taken(inner.size(), false);
  auto assign = [&](unsigned dim, int loop) {
    if (stage.loopOfDim[dim] == loop)
      return true;
    if (stage.loopOfDim[dim] != -1 || taken[loop] ||
        stage.extents[dim] != bundle.extents[loop])
      return false;
    stage.loopOfDim[dim] = loop;
    taken[loop] = true;
    return true;
  };
  // Reads of what this bundle computes fix which loop is which.
  for (const Read &read : stage.reads.reads) {
    Stage *producer = producerOf(read.root);
    if (!producer || !llvm::is_contained(bundle.stages, producer))
      continue;
    unsigned target =
        llvm::find(producer->targets, read.root) - producer->targets.begin();
    for (auto [written, used] :
         llvm::zip_equal(producer->targetIndex[target], read.index)) {
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
    if (stage.loopOfDim[dim] != -1)
      continue;
    int loop = llvm::find(taken, false) - taken.begin();
    if (!assign(dim, loop))
      return false;
  }
  unsigned numSlots = group->rowExtents.size();
  for (const Read &read : stage.reads.reads) {
    Stage *producer = producerOf(read.root);
    if (!producer || !llvm::is_contained(bundle.stages, producer))
      continue;
    unsigned target =
        llvm::find(producer->targets, read.root) - producer->targets.begin();
    if (overKernelDims(*producer, producer->targetIndex[target], numSlots) !=
        overKernelDims(stage, read.index, numSlots))
      return false;
  }
  bundle.stages.push_back(&stage);
  stage.bundle = index;
  return true;
}

void GroupBuilder::place(Stage &stage) {
  unsigned numParallel = 0;
  SmallVector<unsigned> inner = innerDims(plan, stage, numParallel);
  unsigned earliest = 0;
  for (const Read &read : stage.reads.reads)
    if (Stage *producer = producerOf(read.root); producer && producer != &stage)
      earliest = std::max(
          earliest, producer->bundle +
                        (producer->isReduction() || read.isInit ? 1u : 0u));
  if (numParallel == 0)
    for (unsigned i = earliest; i < group->bundles.size(); ++i)
      if (merge(i, stage, inner))
        return;
  Bundle bundle;
  bundle.stages = {&stage};
  bundle.numParallel = numParallel;
  bundle.columnwise = numParallel > 0 && isColumnwise(plan, stage);
  stage.loopOfDim.assign(stage.extents.size(), -1);
  for (auto [loop, dim] : llvm::enumerate(inner)) {
    stage.loopOfDim[dim] = loop;
    bundle.extents.push_back(stage.extents[dim]);
  }
  stage.bundle = group->bundles.size();
  group->bundles.push_back(std::move(bundle));
}

std::unique_ptr<Group> GroupBuilder::build(llvm::DenseSet<Value> &forwarded) {
  orderRows();
  for (Stage *stage : group->stages)
    place(*stage);
  // A scratch value whose readers all sit in the loop nest that computes it is
  // passed on as a scalar.
  for (Stage *stage : group->stages) {
    if (stage->isReduction())
      continue;
    for (Value target : stage->targets) {
      if (plan.storage(target).space != Space::Scratch)
        continue;
      bool local = llvm::all_of(group->stages, [&](Stage *reader) {
        return reader->bundle == stage->bundle ||
               llvm::none_of(reader->reads.reads, [&](const Read &read) {
                 return read.root == target;
               });
      });
      if (local)
        forwarded.insert(target);
    }
  }
  return std::move(group);
}

std::unique_ptr<Group>
tp::target::finishGroup(StoragePlan &plan, ArrayRef<Stage *> stages,
                        llvm::DenseSet<Value> &forwarded) {
  return GroupBuilder(plan, stages).build(forwarded);
}
