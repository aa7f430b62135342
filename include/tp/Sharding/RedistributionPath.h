//===- RedistributionPath.h - from one layout to another --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A way of steps from any layout of a tensor to any other on the same mesh.
// Every step is legal by `layoutAfter` for the layout that the one before it
// leaves, so that whoever finds ways only has to return steps.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_REDISTRIBUTIONPATH_H
#define TP_SHARDING_REDISTRIBUTIONPATH_H

#include "tp/Sharding/StepCost.h"
#include <unordered_map>

namespace tp {

/// The steps from `from` to `to`, both well formed for a tensor of `shape` on
/// `mesh`; none if they are equal. In a fixed order, always right and not
/// always cheapest:
///
/// 1. what is replicated and stands next on a dimension of the target is cut;
/// 2. partial values that shard next are scattered while they are reduced, and
///    shards that the target has elsewhere move there directly;
/// 3. other partial values are reduced, buffers change places where that is all
///    there is to do, or shards in the way of the target's are gathered,
///    minor-most first; then 1 and 2 are tried again;
/// 4. what is missing is made partial.
///
/// Steps of one kind that follow each other on one dimension are one step over
/// the combined group.
std::vector<LayoutStep> fixedOrderPath(const Mesh &mesh,
                                       llvm::ArrayRef<int64_t> shape,
                                       const Layout &from, const Layout &to);

/// How a way was found.
struct PathSearchStats {
  /// Layouts whose steps were looked at, and parts tried in these steps.
  size_t expanded = 0, partsTried = 0;
  /// A search stopped at its limit: there may be cheaper ways.
  bool stopped = false;
};

/// The parts of axes that a search may try in steps before it stops.
inline constexpr size_t mostPartsTried = 5000;

/// The steps from `from` to `to` whose cost (`pathCost`) is least of all lists
/// of steps that are legal by `layoutAfter`: ring bytes with padding and 1 KiB
/// per collective first, then bytes copied locally, then the number of steps.
/// The way may lead through any division of the mesh's axes, any order of them
/// and any of these chunkings of a dimension: plain, that of `from`, that of
/// `to`, and where one of these leaves padding in units of its chunk. Among
/// equals the fixed order's way wins, then what a search in the order of
/// LayoutMoves.h finds first; nothing depends on hashes.
///
/// Axes are first cut where the two layouts cut them and then anywhere. Where
/// one of these searches stops at `mostPartsTried`, the way is the cheapest one
/// found so far, at worst that of the fixed order.
std::vector<LayoutStep> redistributionPath(const Mesh &mesh,
                                           llvm::ArrayRef<int64_t> shape,
                                           int64_t elementBytes,
                                           const Layout &from, const Layout &to,
                                           PathSearchStats *stats = nullptr);

/// Ways on one mesh that are searched once and remembered.
class RedistributionPaths {
public:
  explicit RedistributionPaths(Mesh mesh) : mesh(std::move(mesh)) {}

  /// The steps that layout changes are made of: the cheapest way, except that
  /// what is reduced and nothing else is reduced by one all_reduce, as a lazy
  /// output of a plan is promised to be (parts of it could be reduced by ranks
  /// that all have it, and gathered again). Valid as long as this object.
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
