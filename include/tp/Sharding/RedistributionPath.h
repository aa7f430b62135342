//===- RedistributionPath.h - from one layout to another --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Paths of steps from any layout of a tensor to any other on the same mesh.
// Every step is legal (`layoutAfter`) on the layout that results from the step
// before it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_REDISTRIBUTIONPATH_H
#define TP_SHARDING_REDISTRIBUTIONPATH_H

#include "tp/Sharding/StepCost.h"
#include <unordered_map>

namespace tp {

/// The steps from `from` to `to`, both well formed for a tensor of `shape` on
/// `mesh`; none if they are equal. The order is fixed; the path is correct, but
/// not always the cheapest:
///
/// 1. slices what is replicated and comes next on a dimension of the target;
/// 2. reduce-scatters partial values to the next shards, and moves shards that
///    the target has on another dimension by all_to_all;
/// 3. reduces other partial values, permutes buffers if that is enough, or
///    gathers shards that the target does not have there, minor-most first;
///    then tries 1 and 2 again;
/// 4. makes the remaining entries partial.
///
/// Steps of one kind that follow each other on one dimension are one step over
/// the combined group.
std::vector<LayoutStep> fixedOrderPath(const Mesh &mesh,
                                       llvm::ArrayRef<int64_t> shape,
                                       const Layout &from, const Layout &to);

/// How a path was found.
struct PathSearchStats {
  /// Layouts that were expanded, and axis parts that were tried in their steps.
  size_t expanded = 0, partsTried = 0;
  /// A search stopped at its limit; there may be a cheaper path.
  bool stopped = false;
};

/// The parts of axes that a search may try in steps before it stops.
inline constexpr size_t mostPartsTried = 5000;

/// The steps from `from` to `to` whose cost (`pathCost`) is least of all lists
/// of steps that are legal by `layoutAfter`: ring bytes with padding and 1 KiB
/// per collective first, then bytes copied locally, then the number of steps.
/// The path may use any sub-axes of the mesh, in any order, and these chunkings
/// of a dimension: the plain one, that of `from`, that of `to`, and, if one of
/// these has padding, the one in units of its chunk. Ties are broken for the
/// fixed order's path, then for the path that a search in the order of
/// LayoutMoves.h finds first; nothing depends on hashes.
///
/// A first search uses the sub-axes of the two layouts, a second one all
/// sub-axes. If one of them stops at `mostPartsTried`, the result is the
/// cheapest path found so far, at worst the fixed order's.
std::vector<LayoutStep> redistributionPath(const Mesh &mesh,
                                           llvm::ArrayRef<int64_t> shape,
                                           int64_t elementBytes,
                                           const Layout &from, const Layout &to,
                                           PathSearchStats *stats = nullptr);

/// A cache of the paths on one mesh.
class RedistributionPaths {
public:
  explicit RedistributionPaths(Mesh mesh) : mesh(std::move(mesh)) {}

  /// The steps of a layout change: the cheapest path, except that a change that
  /// only reduces is one all_reduce, as plans promise for a lazy output. (A
  /// path that reduces pieces on different ranks and gathers them can be
  /// cheaper.) Valid as long as this object.
  const std::vector<LayoutStep> &path(llvm::ArrayRef<int64_t> shape,
                                      int64_t elementBytes, const Layout &from,
                                      const Layout &to);

private:
  struct Change {
    std::vector<int64_t> shape;
    int64_t elementBytes = 0;
    Layout from, to;
    bool operator==(const Change &) const = default;
  };
  struct ChangeHash {
    size_t operator()(const Change &change) const;
  };

  Mesh mesh;
  std::unordered_map<Change, std::vector<LayoutStep>, ChangeHash> known;
};

} // namespace tp

#endif // TP_SHARDING_REDISTRIBUTIONPATH_H
