//===- FixedOrderPath.cpp - from one layout to another in a fixed order ---===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/RedistributionPath.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;

namespace {
/// The layout on the way (`current`) and the one to reach (`target`), cut into
/// the same axis parts as far as that changes nothing.
class PathFinder {
public:
  PathFinder(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
             const Layout &from, const Layout &to)
      : mesh(mesh), shape(shape), current(withoutTrivialParts(from)),
        target(withoutTrivialParts(to)) {
    current = cutAt(mesh, shape, current, partsOf(target));
    target = cutAt(mesh, shape, target, partsOf(current));
  }

  std::vector<LayoutStep> find() {
    // Every step brings a part to its place or out of the way.
    size_t most = 8 * (current.entries.size() + target.entries.size() + 1);
    for (size_t i = 0; i < most && stepOn(); ++i)
      ;
    makePartial();
    if (!holdsSame(mesh, shape, current, target))
      return {};
    return std::move(steps);
  }

private:
  bool stepOn() {
    return slice() || reduceScatter() || allToAll() || allReduce() ||
           permute() || gather() || retile();
  }

  int64_t rank() const { return shape.size(); }

  /// The first `count` shards of `dim` in `layout`, and nothing else.
  static Layout majorShards(const Layout &layout, int64_t dim, size_t count) {
    std::vector<AxisPart> parts = layout.partsSharding(dim);
    Layout result = layout;
    for (AxisPlacement &entry : result.entries)
      if (!llvm::is_contained(llvm::ArrayRef(parts).take_front(count),
                              entry.part))
        entry.placement = Placement::replicate();
    return result;
  }

  /// How many major shards of `dim` the two layouts have in common.
  size_t agreeing(int64_t dim) const {
    std::vector<AxisPart> now = current.partsSharding(dim);
    std::vector<AxisPart> goal = target.partsSharding(dim);
    size_t count = 0;
    while (count < now.size() && count < goal.size() &&
           now[count] == goal[count])
      ++count;
    if (count == 0 || current.find(now.front())->placement ==
                          target.find(now.front())->placement)
      return count;
    while (count > 0 &&
           !sameShards(mesh, shape[dim], dim, majorShards(current, dim, count),
                       majorShards(target, dim, count)))
      --count;
    return count;
  }

  /// The parts that the target splits `dim` over next; none while others are
  /// in their way.
  std::vector<AxisPart> nextOn(int64_t dim) const {
    std::vector<AxisPart> goal = target.partsSharding(dim);
    size_t done = current.partsSharding(dim).size();
    if (agreeing(dim) != done)
      return {};
    return {goal.begin() + done, goal.end()};
  }

  /// The parts that shard `dim` now and must not, major first.
  std::vector<AxisPart> leaving(int64_t dim) const {
    std::vector<AxisPart> now = current.partsSharding(dim);
    return {now.begin() + agreeing(dim), now.end()};
  }

  /// The parts whose partial values stay as they are. One of another kind that
  /// combines later goes first if it is new or has to be reduced.
  std::vector<AxisPart> stayingPartial() const {
    std::vector<AxisPart> staying;
    std::vector<ReductionKind> before;
    std::vector<AxisPlacement> entries = current.entries;
    llvm::sort(entries, [](const AxisPlacement &a, const AxisPlacement &b) {
      return a.part < b.part;
    });
    for (const auto &[part, placement] : entries) {
      const AxisPlacement *goal = target.find(part);
      bool mayStay = goal && placement.isPartial() &&
                     goal->placement == placement &&
                     llvm::all_of(before, [&](ReductionKind kind) {
                       return kind == placement.reduction;
                     });
      if (mayStay) {
        staying.push_back(part);
        continue;
      }
      if (placement.isPartial())
        before.push_back(placement.reduction);
      if (goal && goal->placement.isPartial())
        before.push_back(goal->placement.reduction);
      // Parts of an axis that the target cuts in another way.
      if (!goal)
        for (const AxisPlacement &other : target.entries)
          if (other.part.axis == part.axis && other.placement.isPartial())
            before.push_back(other.placement.reduction);
    }
    return staying;
  }

  /// The partial parts that are reduced next, of one kind: no part that is
  /// reduced after them has to be so before them.
  std::vector<AxisPart> reducedNext(ReductionKind &kind) const {
    std::vector<AxisPart> staying = stayingPartial(), parts;
    for (const auto &[part, placement] : llvm::reverse(current.entries)) {
      if (!placement.isPartial() || llvm::is_contained(staying, part))
        continue;
      if (!parts.empty() && placement.reduction != kind)
        break;
      kind = placement.reduction;
      parts.insert(parts.begin(), part);
    }
    return parts;
  }

  /// Goes one step on, or makes the last step longer.
  void append(LayoutStep step, const Placement &placement) {
    if (placement.isShard())
      adoptShards(step.dim, placement);
    current.place(step.parts, placement);
    step.result = joined(current);
    if (!steps.empty() && extends(steps.back(), step)) {
      steps.back().result = step.result;
      return;
    }
    step.parts = joined(step.parts);
    steps.push_back(std::move(step));
  }

  /// Makes `last` do what `next` does, too, where that is one collective.
  static bool extends(LayoutStep &last, const LayoutStep &next) {
    if (last.kind != next.kind || last.dim != next.dim ||
        last.reduction != next.reduction)
      return false;
    std::vector<AxisPart> parts = last.parts;
    switch (next.kind) {
    case StepKind::AllGather:
      parts.insert(parts.begin(), next.parts.begin(), next.parts.end());
      break;
    case StepKind::LocalSlice:
    case StepKind::ReduceScatter:
      parts.insert(parts.end(), next.parts.begin(), next.parts.end());
      break;
    case StepKind::LocalPartial:
    case StepKind::AllReduce:
      parts.insert(parts.end(), next.parts.begin(), next.parts.end());
      llvm::sort(parts);
      break;
    default:
      return false;
    }
    last.parts = joined(parts);
    return true;
  }

  /// Gives the shards of `dim` the unit and segments of the target, which say
  /// the same of them: those that are added must agree.
  void adoptShards(int64_t dim, const Placement &shard) {
    for (AxisPlacement &entry : current.entries)
      if (entry.placement.isShard() && entry.placement.dim == dim)
        entry.placement = shard;
  }

  /// Shards the first dimension that one of its next parts is ready for, by as
  /// many of them, in their order, as are ready.
  bool shardNext(StepKind kind, ReductionKind reduction,
                 llvm::function_ref<bool(AxisPart)> isReady) {
    for (int64_t dim = 0; dim < rank(); ++dim) {
      std::vector<AxisPart> parts = nextOn(dim);
      parts.erase(llvm::find_if_not(parts, isReady), parts.end());
      if (parts.empty())
        continue;
      LayoutStep step(kind, parts, reduction);
      step.dim = dim;
      append(step, target.find(parts.front())->placement);
      return true;
    }
    return false;
  }

  bool slice() {
    return shardNext(StepKind::LocalSlice, ReductionKind::Sum,
                     [&](AxisPart part) {
                       const AxisPlacement *entry = current.find(part);
                       return entry && entry->placement.isReplicate();
                     });
  }

  bool reduceScatter() {
    ReductionKind kind = ReductionKind::Sum;
    std::vector<AxisPart> reduced = reducedNext(kind);
    return shardNext(StepKind::ReduceScatter, kind, [&](AxisPart part) {
      return llvm::is_contained(reduced, part);
    });
  }

  bool allToAll() {
    for (int64_t from = 0; from < rank(); ++from) {
      // The longest run that leaves one dimension as it joins the other.
      std::vector<AxisPart> parts = leaving(from);
      for (; !parts.empty(); parts.erase(parts.begin()))
        for (int64_t to = 0; to < rank(); ++to) {
          std::vector<AxisPart> next = nextOn(to);
          if (to == from || next.size() < parts.size() ||
              llvm::ArrayRef(next).take_front(parts.size()) !=
                  llvm::ArrayRef(parts))
            continue;
          LayoutStep step(StepKind::AllToAll, parts);
          step.dim = to;
          step.sourceDim = from;
          append(step, target.find(parts.front())->placement);
          return true;
        }
    }
    return false;
  }

  bool allReduce() {
    ReductionKind kind = ReductionKind::Sum;
    std::vector<AxisPart> parts = reducedNext(kind);
    if (parts.empty())
      return false;
    append(LayoutStep(StepKind::AllReduce, parts, kind),
           Placement::replicate());
    return true;
  }

  /// One exchange of whole buffers, where the ranks hold what the target says
  /// but not each its own, as with another order of the same axes. After a
  /// gather it would save nothing: that only has to go on.
  bool permute() {
    if (!steps.empty() && steps.back().kind == StepKind::AllGather)
      return false;
    std::vector<AxisPart> staying = stayingPartial(), parts;
    Layout goal = target;
    for (AxisPlacement &entry : goal.entries)
      if (entry.placement.isPartial() &&
          !llvm::is_contained(staying, entry.part))
        entry.placement = Placement::replicate();
    for (int64_t dim = 0; dim < rank(); ++dim) {
      llvm::append_range(parts, leaving(dim));
      llvm::append_range(
          parts, llvm::drop_begin(goal.partsSharding(dim), agreeing(dim)));
    }
    llvm::sort(parts);
    parts.erase(llvm::unique(parts), parts.end());
    if (parts.empty() || !llvm::all_of(parts, [&](AxisPart part) {
          const AxisPlacement *entry = current.find(part);
          return entry && !entry->placement.isPartial();
        }))
      return false;
    std::optional<std::vector<int64_t>> sources =
        permutationBetween(mesh, shape, current, goal, parts);
    if (!sources)
      return false;
    LayoutStep step(StepKind::Permute, joined(parts));
    step.sources = std::move(*sources);
    current = std::move(goal);
    step.result = joined(current);
    steps.push_back(std::move(step));
    return true;
  }

  /// Gathers the minor-most part that leaves a dimension. One that goes to
  /// another dimension waits: it may move there when that is free.
  bool gather() {
    std::optional<int64_t> chosen;
    for (int64_t dim = 0; dim < rank(); ++dim) {
      std::vector<AxisPart> parts = leaving(dim);
      if (parts.empty())
        continue;
      const AxisPlacement *goal = target.find(parts.back());
      bool moves =
          goal && goal->placement.isShard() && goal->placement.dim != dim;
      if (!chosen || !moves)
        chosen = dim;
      if (!moves)
        break;
    }
    if (!chosen)
      return false;
    LayoutStep step(StepKind::AllGather, {leaving(*chosen).back()});
    step.dim = *chosen;
    append(step, Placement::replicate());
    return true;
  }

  /// What is replicated may be cut as the target cuts it.
  bool retile() {
    std::vector<AxisPart> now = partsOf(current), goal = partsOf(target);
    Layout next = current;
    for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
      auto isOther = [&](const AxisPlacement &entry,
                         llvm::ArrayRef<AxisPart> parts) {
        return entry.part.axis == axis &&
               !llvm::is_contained(parts, entry.part);
      };
      bool isFree = llvm::all_of(current.entries, [&](const auto &entry) {
        return !isOther(entry, goal) || entry.placement.isReplicate();
      });
      if (!isFree)
        continue;
      llvm::erase_if(next.entries, [&](const AxisPlacement &entry) {
        return isOther(entry, goal);
      });
      for (const AxisPlacement &entry : target.entries)
        if (isOther(entry, now))
          next.entries.push_back({entry.part, Placement::replicate()});
    }
    next.canonicalize();
    if (next == current)
      return false;
    current = std::move(next);
    return true;
  }

  void makePartial() {
    for (const auto &[part, placement] : target.entries)
      if (const AxisPlacement *entry = current.find(part);
          placement.isPartial() && entry && entry->placement.isReplicate())
        append(LayoutStep(StepKind::LocalPartial, {part}, placement.reduction),
               placement);
  }

  const Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  Layout current, target;
  std::vector<LayoutStep> steps;
};
} // namespace

std::vector<LayoutStep> tp::fixedOrderPath(const Mesh &mesh,
                                           llvm::ArrayRef<int64_t> shape,
                                           const Layout &from,
                                           const Layout &to) {
  if (from == to)
    return {};
  std::vector<LayoutStep> steps;
  if (holdsSame(mesh, shape, from, to))
    steps.emplace_back(StepKind::Reinterpret);
  else
    steps = PathFinder(mesh, shape, from, to).find();
  // What the last step leaves says the same as the target.
  if (!steps.empty())
    steps.back().result = to;
  return steps;
}
