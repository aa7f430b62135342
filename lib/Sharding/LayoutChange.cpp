//===- LayoutChange.cpp - what one step does to a layout ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/LayoutChange.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace tp;

bool tp::combinesCopies(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Avg:
  case ReductionKind::Max:
  case ReductionKind::Min:
    return true;
  case ReductionKind::Sum:
  case ReductionKind::Product:
    return false;
  }
  llvm_unreachable("unknown reduction kind");
}

//===----------------------------------------------------------------------===//
// Layouts that say the same
//===----------------------------------------------------------------------===//

std::vector<Interval> tp::heldElements(const Mesh &mesh, int64_t size,
                                       int64_t dim, const Layout &layout,
                                       int64_t rank) {
  std::vector<Interval> held;
  for (Interval next : layout.intervals(mesh, dim, size, rank)) {
    if (!held.empty() &&
        held.back().globalOffset + held.back().size == next.globalOffset &&
        held.back().localOffset + held.back().size == next.localOffset)
      held.back().size += next.size;
    else
      held.push_back(next);
  }
  return held;
}

bool tp::holdsSameOn(const Mesh &mesh, int64_t size, int64_t dim,
                     const Layout &a, int64_t rankA, const Layout &b,
                     int64_t rankB) {
  return heldElements(mesh, size, dim, a, rankA) ==
         heldElements(mesh, size, dim, b, rankB);
}

bool tp::sameShards(const Mesh &mesh, int64_t size, int64_t dim,
                    const Layout &a, const Layout &b) {
  if (a.localSize(dim, size) != b.localSize(dim, size))
    return false;
  if (a == b)
    return true;
  // Only the axes that split the dimension make a difference.
  std::vector<AxisPart> axes;
  for (const Layout *layout : {&a, &b})
    for (AxisPart part : layout->partsSharding(dim))
      if (AxisPart axis = mesh.wholeAxis(part.axis);
          !llvm::is_contained(axes, axis))
        axes.push_back(axis);
  std::vector<int64_t> coordinates(mesh.axes.size(), 0);
  while (true) {
    int64_t rank = mesh.rankAt(coordinates);
    if (!holdsSameOn(mesh, size, dim, a, rank, b, rank))
      return false;
    auto next = llvm::find_if(axes, [&](AxisPart axis) {
      int64_t &coordinate = coordinates[axis.axis];
      coordinate = (coordinate + 1) % axis.size;
      return coordinate != 0;
    });
    if (next == axes.end())
      return true;
  }
}

/// The partial entries, parts of one axis put together where their kinds agree.
static std::vector<std::pair<AxisPart, ReductionKind>>
partialEntries(const Layout &layout) {
  std::vector<std::pair<AxisPart, ReductionKind>> result;
  for (const auto &[part, placement] : layout.entries) {
    if (!placement.isPartial() || part.size == 1)
      continue;
    if (!result.empty()) {
      auto &[last, kind] = result.back();
      if (kind == placement.reduction && last.axis == part.axis &&
          last.major * last.size == part.major) {
        last.size *= part.size;
        continue;
      }
    }
    result.push_back({part, placement.reduction});
  }
  return result;
}

bool tp::holdsSame(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                   const Layout &a, const Layout &b) {
  if (a == b)
    return true;
  if (partialEntries(a) != partialEntries(b))
    return false;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!sameShards(mesh, size, dim, a, b))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Parts of axes
//===----------------------------------------------------------------------===//

/// The places of `part`'s axis, strictly inside of it, where one of `others`
/// begins or ends and the part can be cut.
static std::vector<int64_t> cutsInside(AxisPart part,
                                       llvm::ArrayRef<AxisPart> others) {
  std::vector<int64_t> places;
  for (AxisPart other : others)
    if (other.axis == part.axis)
      for (int64_t place : {other.major, other.major * other.size})
        if (place > part.major && place < part.major * part.size &&
            place % part.major == 0 && (part.major * part.size) % place == 0)
          places.push_back(place);
  llvm::sort(places);
  places.erase(llvm::unique(places), places.end());
  return places;
}

/// `part` in two, the major one first.
static std::pair<AxisPart, AxisPart> cut(AxisPart part, int64_t place) {
  return {{part.axis, part.major, place / part.major},
          {part.axis, place, part.major * part.size / place}};
}

Layout tp::cutAt(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, Layout layout,
                 llvm::ArrayRef<AxisPart> parts) {
  for (size_t i = 0; i < layout.entries.size(); ++i)
    for (int64_t place : cutsInside(layout.entries[i].part, parts)) {
      Layout finer = layout;
      auto [major, minor] = cut(finer.entries[i].part, place);
      finer.entries[i].part = major;
      finer.entries.insert(finer.entries.begin() + i + 1,
                           {minor, finer.entries[i].placement});
      finer.canonicalize();
      if (finer.entries[i].placement.isShard() &&
          !holdsSame(mesh, shape, layout, finer))
        continue;
      layout = std::move(finer);
      // Entries may have changed places; the rest is cut from the start.
      i = -1;
      break;
    }
  return layout;
}

std::vector<AxisPart> tp::cutAt(llvm::ArrayRef<AxisPart> parts,
                                llvm::ArrayRef<AxisPart> others) {
  std::vector<AxisPart> result;
  for (AxisPart part : parts) {
    for (int64_t place : cutsInside(part, others)) {
      // A place that an earlier one rules out, as 3 after 2, stays whole.
      if (place % part.major != 0)
        continue;
      auto [major, minor] = cut(part, place);
      result.push_back(major);
      part = minor;
    }
    result.push_back(part);
  }
  return result;
}

std::vector<AxisPart> tp::joined(llvm::ArrayRef<AxisPart> parts) {
  std::vector<AxisPart> result;
  for (AxisPart part : parts) {
    if (!result.empty() && result.back().axis == part.axis &&
        result.back().major * result.back().size == part.major)
      result.back().size *= part.size;
    else
      result.push_back(part);
  }
  return result;
}

Layout tp::withoutTrivialParts(Layout layout, llvm::ArrayRef<AxisPart> kept) {
  for (AxisPlacement &entry : layout.entries)
    if (entry.part.size == 1 && !llvm::is_contained(kept, entry.part))
      entry.placement = Placement::replicate();
  layout.canonicalize();
  return layout;
}

Layout tp::joined(Layout layout) {
  std::vector<AxisPlacement> &entries = layout.entries;
  for (size_t i = 0; i < entries.size(); ++i)
    for (size_t j = 0; j < entries.size(); ++j) {
      AxisPart &part = entries[i].part, next = entries[j].part;
      if (entries[i].placement.isShard() ||
          entries[i].placement != entries[j].placement ||
          part.axis != next.axis || part.major * part.size != next.major ||
          part == next)
        continue;
      part.size *= next.size;
      entries.erase(entries.begin() + j);
      // The longer part may have a neighbour that was passed.
      i = j = -1;
      break;
    }
  layout.canonicalize();
  return layout;
}

std::vector<AxisPart> tp::partsOf(const Layout &layout) {
  std::vector<AxisPart> parts;
  for (const AxisPlacement &entry : layout.entries)
    parts.push_back(entry.part);
  return parts;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// True if `parts` are the minor-most that shard `dim`.
static bool isMinorMost(const Layout &layout, llvm::ArrayRef<AxisPart> parts,
                        int64_t dim) {
  std::vector<AxisPart> all = layout.partsSharding(dim);
  return all.size() >= parts.size() &&
         llvm::ArrayRef(all).take_back(parts.size()) == parts;
}

/// True if nothing that has to combine before `parts` do is partial of another
/// kind.
static bool combinesNext(const Layout &layout, llvm::ArrayRef<AxisPart> parts,
                         ReductionKind kind) {
  bool isBehind = false;
  for (const auto &[part, placement] : layout.entries) {
    if (llvm::is_contained(parts, part))
      isBehind = true;
    else if (isBehind && placement.isPartial() && placement.reduction != kind)
      return false;
  }
  return true;
}

/// True if the result of `step` is written so that what the step adds is minor
/// on its dimension: that is how blocks are cut from it.
static bool isWrittenFor(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                         const LayoutStep &step) {
  Layout result = cutAt(mesh, shape, step.result, step.parts);
  std::vector<AxisPart> parts = cutAt(step.parts, partsOf(result));
  return isMinorMost(withoutTrivialParts(std::move(result), parts), parts,
                     step.dim);
}

/// The shard that `step` makes: with the unit and segments of its result, which
/// the shards that are there take over if that changes nothing, else with
/// theirs.
static Placement newShard(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                          Layout &layout, const LayoutStep &step) {
  auto shardOn = [&](const Layout &from) {
    for (const AxisPlacement &entry : from.entries)
      if (entry.placement.isShard() && entry.placement.dim == step.dim)
        return entry.placement;
    return Placement::shard(step.dim);
  };
  Placement shard = shardOn(step.result);
  Layout adopted = layout;
  for (AxisPlacement &entry : adopted.entries)
    if (entry.placement.isShard() && entry.placement.dim == step.dim)
      entry.placement = shard;
  if (!holdsSame(mesh, shape, layout, adopted))
    return shardOn(layout);
  layout = std::move(adopted);
  return shard;
}

std::optional<Layout> tp::layoutAfter(const Mesh &mesh,
                                      llvm::ArrayRef<int64_t> shape,
                                      const Layout &source,
                                      const LayoutStep &step) {
  // Where the result has finer parts, nest order and chunks are theirs.
  Layout layout = cutAt(mesh, shape, joined(source), step.parts);
  layout = cutAt(mesh, shape, std::move(layout), partsOf(step.result));
  std::vector<AxisPart> parts = cutAt(step.parts, partsOf(layout));
  layout = withoutTrivialParts(std::move(layout), parts);

  auto all = [&](auto holds) {
    return llvm::all_of(parts, [&](AxisPart part) {
      const AxisPlacement *entry = layout.find(part);
      return entry && holds(entry->placement);
    });
  };
  auto isPartial = [&](const Placement &placement) {
    return placement.isPartial() && placement.reduction == step.reduction;
  };
  auto isReplicate = [](const Placement &p) { return p.isReplicate(); };

  bool isLegal = false;
  Placement placement;
  switch (step.kind) {
  case StepKind::Reinterpret:
    return layout;
  case StepKind::Permute:
    return std::nullopt;
  case StepKind::AllReduce:
    isLegal = all(isPartial) && combinesNext(layout, parts, step.reduction);
    break;
  case StepKind::ReduceScatter:
    isLegal = all(isPartial) && combinesNext(layout, parts, step.reduction);
    placement = newShard(mesh, shape, layout, step);
    break;
  case StepKind::AllGather:
    isLegal = isMinorMost(layout, parts, step.dim);
    break;
  case StepKind::AllToAll:
    isLegal = isMinorMost(layout, parts, step.sourceDim);
    placement = newShard(mesh, shape, layout, step);
    break;
  case StepKind::LocalSlice:
    isLegal = all(isReplicate);
    placement = newShard(mesh, shape, layout, step);
    break;
  case StepKind::LocalPartial:
    isLegal = all(isReplicate) && combinesNext(layout, parts, step.reduction);
    placement = Placement::partial(step.reduction);
    break;
  }
  if (!isLegal || !layout.place(parts, placement))
    return std::nullopt;
  // A result that says something else is for the caller to see.
  if (placement.isShard() && !isWrittenFor(mesh, shape, step) &&
      holdsSame(mesh, shape, layout, step.result))
    return std::nullopt;
  return layout;
}

std::optional<std::vector<int64_t>>
tp::permutationBetween(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                       const Layout &from, const Layout &to,
                       llvm::ArrayRef<AxisPart> parts) {
  if (from.localShape(shape) != to.localShape(shape))
    return std::nullopt;
  auto isWhatIsNeeded = [&](int64_t source, int64_t rank) {
    for (auto [dim, size] : llvm::enumerate(shape))
      if (!holdsSameOn(mesh, size, dim, from, source, to, rank))
        return false;
    return true;
  };
  std::optional<std::vector<int64_t>> result;
  for (const std::vector<int64_t> &group : mesh.groups(parts)) {
    // What a rank has itself it need not be sent.
    std::vector<int64_t> sources(group.size(), -1);
    std::vector<bool> isTaken(group.size(), false);
    for (auto [position, rank] : llvm::enumerate(group))
      if (isWhatIsNeeded(rank, rank)) {
        sources[position] = position;
        isTaken[position] = true;
      }
    for (auto [position, rank] : llvm::enumerate(group)) {
      for (size_t i = 0; i < group.size() && sources[position] < 0; ++i)
        if (!isTaken[i] && isWhatIsNeeded(group[i], rank)) {
          sources[position] = i;
          isTaken[i] = true;
        }
      if (sources[position] < 0)
        return std::nullopt;
    }
    if (result && *result != sources)
      return std::nullopt;
    result = std::move(sources);
  }
  return result;
}
