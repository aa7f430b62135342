//===- KernelMapping.cpp - loops among the threads of a grid --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMapping.h"
#include "Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// Bytes of one access, and of all that a thread reads of one value at once.
static constexpr int64_t accessBytes = 16, chunkBytes = 32;
/// More segments than this are told apart element by element.
static constexpr size_t mostSegments = 16;

int64_t tp::cuda::product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int64_t Segment::chunks() const { return product(extents) / vector; }

int64_t Nest::chunks() const {
  int64_t sum = 0;
  for (const Segment &segment : segments)
    sum += segment.chunks();
  return sum;
}

int64_t Nest::elements() const { return product(extents); }

int64_t Nest::elementsPerThread(int64_t threads) const {
  int64_t sum = 0;
  for (const Segment &segment : segments)
    sum += llvm::divideCeil(segment.chunks(), threads) * segment.vector;
  return sum;
}

namespace {
/// An access along the last loop of a nest.
struct Access {
  int64_t bytes;
  /// Everything that moves it but the last loop: no vector may be wider than
  /// divides this.
  int64_t alignment;
};
} // namespace

/// The accesses of `stage` that are contiguous along stage dim `inner`.
static void contiguousAccesses(const StoragePlan &plan, const Stage &stage,
                               int inner, SmallVectorImpl<Access> &accesses) {
  IndexSpace space = IndexSpace::ofExtents(stage.extents);
  space.symbols = stage.reads.symbols;
  auto add = [&](Value root, const Indices &index) {
    const Storage &storage = plan.storage(root);
    AffineExpr address = applyMap(storage.address, index, {}, space).front();
    auto form = linearForm(address, stage.extents.size(), space.symbols.size());
    if (!form || inner < 0 || form->dimStrides[inner] != 1)
      return;
    int64_t alignment = accessBytes;
    for (auto [dim, stride] : llvm::enumerate(form->dimStrides))
      if (int(dim) != inner && stage.extents[dim] > 1)
        alignment = std::gcd(alignment, stride);
    for (int64_t stride : form->symbolStrides)
      alignment = std::gcd(alignment, stride);
    accesses.push_back({elementBytes(storage.elementType),
                        std::gcd(alignment, form->constant)});
  };
  for (const Read &read : stage.reads.reads)
    if (!read.dataDependent && !read.isInit)
      add(read.root, read.index);
  for (auto [target, index] : llvm::zip_equal(stage.targets, stage.targetIndex))
    if (plan.isStored(target) && plan.storage(target).space != Space::Scratch)
      add(target, index);
}

/// Elements of a chunk: as many as make full accesses of the narrowest type, as
/// far as the widest type's stay few.
static int64_t vectorOf(ArrayRef<Access> accesses) {
  int64_t widest = 1, vector = 1;
  for (const Access &access : accesses)
    widest = std::max(widest, access.bytes);
  for (const Access &access : accesses)
    vector = std::max(vector,
                      std::min(accessBytes / access.bytes, access.alignment));
  return std::max<int64_t>(std::min(vector, chunkBytes / widest), 1);
}

/// Cuts `extents` at `splits`, per loop, and chunks of `vector` elements.
static Nest cut(ArrayRef<int64_t> extents,
                ArrayRef<SmallVector<int64_t>> splits, int64_t vector) {
  Nest nest;
  nest.extents.assign(extents.begin(), extents.end());
  if (product(extents) == 0)
    return nest;
  std::vector<Segment> boxes(1);
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    SmallVector<int64_t> bounds = {0};
    if (boxes.size() * (splits[dim].size() + 1) <= mostSegments)
      llvm::append_range(bounds, splits[dim]);
    bounds.push_back(extent);
    std::vector<Segment> next;
    for (const Segment &box : boxes)
      for (size_t i = 0; i + 1 < bounds.size(); ++i) {
        next.push_back(box);
        next.back().lo.push_back(bounds[i]);
        next.back().extents.push_back(bounds[i + 1] - bounds[i]);
      }
    boxes = std::move(next);
  }
  for (Segment &box : boxes) {
    if (extents.empty() || vector == 1) {
      nest.segments.push_back(box);
      continue;
    }
    int64_t fit = vector;
    while (box.lo.back() % fit)
      fit /= 2;
    int64_t length = box.extents.back(), rest = length % fit;
    if (length > rest) {
      box.extents.back() = length - rest;
      box.vector = fit;
      nest.segments.push_back(box);
    }
    if (rest) {
      box.lo.back() += length - rest;
      box.extents.back() = rest;
      box.vector = 1;
      nest.segments.push_back(box);
    }
  }
  return nest;
}

static void sortUnique(SmallVectorImpl<int64_t> &values) {
  llvm::sort(values);
  values.erase(llvm::unique(values), values.end());
}

/// Where the stages of the bundle cut the rows (`rows`) and its loops.
static std::vector<SmallVector<int64_t>>
splitsOf(const Group &group, const Bundle &bundle, bool rows) {
  unsigned numRows = rows ? group.rowExtents.size() : 0;
  std::vector<SmallVector<int64_t>> splits(numRows + bundle.extents.size());
  for (Stage *stage : bundle.stages) {
    for (unsigned slot = 0; slot < numRows; ++slot)
      llvm::append_range(splits[slot], stage->reads.splits[stage->slots[slot]]);
    for (auto [dim, loop] : llvm::enumerate(stage->loopOfDim))
      if (loop >= 0)
        llvm::append_range(splits[numRows + loop], stage->reads.splits[dim]);
  }
  for (SmallVector<int64_t> &dim : splits)
    sortUnique(dim);
  return splits;
}

/// The stage dim that runs along loop `loop` of the bundle (a row: negative).
static int dimOfLoop(const Stage &stage, int loop) {
  for (auto [dim, at] : llvm::enumerate(stage.loopOfDim))
    if (at == loop)
      return dim;
  return -1;
}

static int64_t vectorAlong(const StoragePlan &plan, const Bundle &bundle,
                           int loop, int row) {
  SmallVector<Access> accesses;
  for (Stage *stage : bundle.stages)
    contiguousAccesses(plan, *stage,
                       loop >= 0  ? dimOfLoop(*stage, loop)
                       : row >= 0 ? int(stage->slots[row])
                                  : -1,
                       accesses);
  return vectorOf(accesses);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::optional<SmallVector<Combiner>> tp::cuda::combinersOf(const Stage &stage) {
  linalg::LinalgOp op = stage.reduction;
  Operation *yield = op.getBlock()->getTerminator();
  SmallVector<Combiner> combiners;
  for (unsigned number : stage.resultNumbers) {
    Value accumulator =
        op.getMatchingBlockArgument(op.getDpsInitOperand(number));
    Operation *last = yield->getOperand(number).getDefiningOp();
    unsigned uses = 1;
    // Of masked elements the accumulator stays what it was.
    if (auto select = dyn_cast_or_null<arith::SelectOp>(last)) {
      bool first = select.getTrueValue() == accumulator;
      if (!first && select.getFalseValue() != accumulator)
        return std::nullopt;
      last = (first ? select.getFalseValue() : select.getTrueValue())
                 .getDefiningOp();
      ++uses;
      if (last && !last->getResult(0).hasOneUse())
        return std::nullopt;
    }
    if (!isa_and_present<arith::AddFOp, arith::MulFOp, arith::MaximumFOp,
                         arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                         arith::AddIOp, arith::MulIOp, arith::MaxSIOp,
                         arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
                         arith::AndIOp, arith::OrIOp, arith::XOrIOp>(last) ||
        llvm::count(last->getOperands(), accumulator) != 1 ||
        unsigned(llvm::range_size(accumulator.getUses())) != uses ||
        !last->getResult(0).hasOneUse())
      return std::nullopt;
    combiners.push_back({last});
  }
  return combiners;
}

/// True if a contiguous read runs along the rows and none along the loops.
static bool readsAcrossRows(const StoragePlan &plan, const Bundle &bundle) {
  SmallVector<Access> along, across;
  for (Stage *stage : bundle.stages) {
    for (unsigned dim = 0; dim < stage->extents.size(); ++dim)
      if (stage->extents[dim] > 1)
        contiguousAccesses(plan, *stage, dim,
                           llvm::is_contained(stage->slots, dim) ? across
                                                                 : along);
  }
  return along.empty() && !across.empty();
}

//===----------------------------------------------------------------------===//
// The mapping
//===----------------------------------------------------------------------===//

static KernelMapping mapPointwise(const StoragePlan &plan, const Group &group) {
  KernelMapping mapping;
  const Bundle &bundle = group.bundles.front();
  SmallVector<int64_t> extents(group.rowExtents);
  llvm::append_range(extents, bundle.extents);
  int64_t vector = vectorAlong(plan, bundle, int(bundle.extents.size()) - 1,
                               int(group.rowExtents.size()) - 1);
  mapping.nests.push_back(
      cut(extents, splitsOf(group, bundle, /*rows=*/true), vector));
  if (mapping.nests.front().chunks() <= 128)
    mapping.block = 128;
  return mapping;
}

static KernelMapping mapColumns(const StoragePlan &plan, const Group &group) {
  KernelMapping mapping;
  mapping.kind = Mapping::Columns;
  const Bundle &bundle = group.bundles.front();
  ArrayRef<int64_t> all = bundle.extents;
  auto splits = splitsOf(group, bundle, /*rows=*/false);
  splits.resize(bundle.numParallel);
  int64_t columns = product(all.take_front(bundle.numParallel));
  int64_t vector = std::min<int64_t>(
      vectorAlong(plan, bundle, int(bundle.numParallel) - 1, -1), 8);
  // Columns enough to keep the device busy matter more than wide accesses.
  constexpr int64_t wantedBlocks = 128;
  while (vector > 1 && columns / (warpSize * vector) < wantedBlocks)
    vector /= 2;
  mapping.nests.push_back(
      cut(all.take_front(bundle.numParallel), splits, vector));
  int64_t rows = product(all.drop_front(bundle.numParallel));
  mapping.team =
      combinersOf(*bundle.stages.front())
          ? std::min<int64_t>(16, llvm::PowerOf2Ceil(std::max<int64_t>(
                                      llvm::divideCeil(rows, 8), 1)))
          : 1;
  mapping.block = warpSize * mapping.team;
  return mapping;
}

KernelMapping tp::cuda::mapKernel(const StoragePlan &plan, const Group &group) {
  bool reduces = llvm::any_of(
      group.stages, [](Stage *stage) { return stage->isReduction(); });
  if (!reduces && group.bundles.size() == 1)
    return mapPointwise(plan, group);
  if (group.bundles.size() == 1 && group.rowExtents.empty() &&
      group.bundles.front().numParallel > 0)
    return mapColumns(plan, group);

  KernelMapping mapping;
  mapping.kind = Mapping::Rows;
  int64_t longest = 1;
  bool serial = false, across = false;
  for (const Bundle &bundle : group.bundles) {
    longest = std::max(longest, product(bundle.extents));
    across |= readsAcrossRows(plan, bundle);
    if (bundle.numParallel == 0)
      for (Stage *stage : bundle.stages)
        serial |= stage->isReduction() && !combinersOf(*stage);
  }
  int64_t rows = product(group.rowExtents);
  constexpr int64_t shortRow = 8, warpRow = 1024, perThread = 16;
  // Neighbouring threads on neighbouring rows read what lies side by side.
  if (serial || longest <= shortRow ||
      (across && rows >= warpSize && longest <= 4096))
    mapping.team = 1;
  else if (longest <= warpRow)
    mapping.team = warpSize;
  else
    mapping.team = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(longest, perThread)), 64,
        mostThreads);
  mapping.block = mapping.team > warpSize ? mapping.team : 128;
  for (const Bundle &bundle : group.bundles) {
    ArrayRef<int64_t> extents = bundle.extents;
    auto splits = splitsOf(group, bundle, /*rows=*/false);
    if (bundle.numParallel) {
      // A thread per element of the parallel loops.
      splits.resize(bundle.numParallel);
      mapping.nests.push_back(
          cut(extents.take_front(bundle.numParallel), splits, 1));
      mapping.held.push_back(false);
      continue;
    }
    // Bundles over the same loops are cut alike, so that threads keep what they
    // computed.
    int64_t vector = 16;
    bool any = false;
    for (const Bundle &other : group.bundles) {
      if (other.numParallel || other.extents != bundle.extents)
        continue;
      SmallVector<Access> accesses;
      for (Stage *stage : other.stages)
        contiguousAccesses(
            plan, *stage, dimOfLoop(*stage, int(extents.size()) - 1), accesses);
      if (!accesses.empty()) {
        vector = std::min(vector, vectorOf(accesses));
        any = true;
      }
      auto more = splitsOf(group, other, /*rows=*/false);
      for (auto [mine, others] : llvm::zip_equal(splits, more)) {
        llvm::append_range(mine, others);
        sortUnique(mine);
      }
    }
    if (!any || mapping.team == 1)
      vector = 1;
    // Half-filled vectors leave threads without work.
    while (vector > 1 && product(extents) < mapping.team * vector)
      vector /= 2;
    mapping.nests.push_back(cut(extents, splits, vector));
    mapping.held.push_back(mapping.nests.back().elementsPerThread(
                               mapping.team) <= mostHeldElements);
  }
  return mapping;
}
