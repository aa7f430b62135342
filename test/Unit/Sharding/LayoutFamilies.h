//===- LayoutFamilies.h - all layouts of small tensors ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_SHARDING_LAYOUTFAMILIES_H
#define TP_TEST_UNIT_SHARDING_LAYOUTFAMILIES_H

#include "RankBuffers.h"
#include <algorithm>
#include <set>
#include <string>

namespace tp::test {
inline std::string describe(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                            const Layout &from, const Layout &to) {
  std::string text = "shape";
  for (int64_t size : shape)
    text += " " + std::to_string(size);
  return text + ": " + from.toString(mesh) + " to " + to.toString(mesh);
}

/// Executes `path` and says what is wrong with it, if anything is.
inline std::string wrongWith(const Mesh &mesh, const Shape &shape,
                             const Layout &from, const Layout &to,
                             llvm::ArrayRef<LayoutStep> path) {
  if (path.empty())
    return from == to ? "" : "no path";
  Ranks ranks(mesh, shape);
  ranks.distribute(from);
  Layout current = from;
  for (const LayoutStep &step : path) {
    if (std::string broken = step.result.verify(mesh, shape); !broken.empty())
      return broken;
    std::optional<Layout> after = step.kind == StepKind::Permute
                                      ? step.result
                                      : layoutAfter(mesh, shape, current, step);
    if (!after || !holdsSame(mesh, shape, *after, step.result))
      return "illegal step to " + step.result.toString(mesh);
    std::vector<int64_t> sources = step.sources;
    llvm::sort(sources);
    for (auto [position, source] : llvm::enumerate(sources))
      if (source != static_cast<int64_t>(position))
        return "a rank sends twice";
    ranks.execute(current, step);
    if (!ranks.hold(step.result))
      return "wrong numbers in " + step.result.toString(mesh);
    current = step.result;
  }
  return current == to ? "" : "ends at " + current.toString(mesh);
}

/// All layouts of a tensor of `shape` over `parts` with `placements`, in all
/// nest orders.
inline std::vector<Layout> layoutsOver(const Mesh &mesh, const Shape &shape,
                                       std::vector<AxisPart> parts,
                                       llvm::ArrayRef<Placement> placements) {
  std::vector<Layout> layouts;
  std::set<std::string> seen;
  std::vector<size_t> choice(parts.size(), 0);
  while (true) {
    std::vector<size_t> order(parts.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    do {
      Layout layout;
      for (size_t i : order)
        layout.entries.push_back({parts[i], placements[choice[i]]});
      layout.canonicalize();
      if (layout.verify(mesh, shape).empty() &&
          seen.insert(layout.toString(mesh)).second)
        layouts.push_back(layout);
    } while (std::next_permutation(order.begin(), order.end()));
    size_t i = 0;
    while (i < choice.size() && ++choice[i] == placements.size())
      choice[i++] = 0;
    if (i == choice.size())
      return layouts;
  }
}

inline Placement sum() { return Placement::partial(ReductionKind::Sum); }
inline Placement avg() { return Placement::partial(ReductionKind::Avg); }
inline Placement max() { return Placement::partial(ReductionKind::Max); }
inline Placement times() { return Placement::partial(ReductionKind::Product); }
inline Placement min() { return Placement::partial(ReductionKind::Min); }

inline std::vector<AxisPart> wholeAxes(const Mesh &mesh) {
  std::vector<AxisPart> parts;
  for (unsigned i = 0; i < mesh.axes.size(); ++i)
    parts.push_back(mesh.wholeAxis(i));
  return parts;
}

inline Mesh meshOf(llvm::ArrayRef<int64_t> sizes) {
  Mesh mesh;
  for (auto [i, size] : llvm::enumerate(sizes))
    mesh.axes.push_back({std::string(1, "abcd"[i]), size});
  return mesh;
}

inline std::vector<Placement> onDims(int64_t rank,
                                     std::vector<Placement> others) {
  others.push_back(Placement::replicate());
  for (int64_t dim = 0; dim < rank; ++dim)
    others.push_back(Placement::shard(dim));
  return others;
}

/// The steps of `path`, as "all_gather a b, local_slice b".
inline std::string spelled(const Mesh &mesh, llvm::ArrayRef<LayoutStep> path) {
  static const char *const names[] = {
      "reinterpret",    "local_slice", "local_partial", "all_reduce",
      "reduce_scatter", "all_gather",  "all_to_all",    "permute"};
  std::string text;
  for (const LayoutStep &step : path) {
    text += (text.empty() ? "" : ", ") +
            std::string(names[static_cast<int>(step.kind)]);
    for (AxisPart part : step.parts) {
      text += " " + mesh.axes[part.axis].name;
      if (!mesh.isWhole(part))
        text +=
            ":" + std::to_string(part.major) + ":" + std::to_string(part.size);
    }
  }
  return text;
}
} // namespace tp::test

#endif // TP_TEST_UNIT_SHARDING_LAYOUTFAMILIES_H
