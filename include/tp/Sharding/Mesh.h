//===- Mesh.h - named axes of devices ---------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mesh names the axes of an n-dimensional grid of ranks. No IR here: the
// attribute `#tp.mesh` wraps this class.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_MESH_H
#define TP_SHARDING_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tp {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis &) const = default;
};

/// A whole mesh axis or a sub-axis of it. An axis of size n = major * size *
/// minor is a grid of three dimensions; the part is the middle one. A whole
/// axis has major 1 and size n.
struct AxisPart {
  unsigned axis = 0;
  int64_t major = 1;
  int64_t size = 1;
  bool operator==(const AxisPart &) const = default;
  auto operator<=>(const AxisPart &) const = default;
};

/// Named axes with sizes and an optional device order. Positions of the grid
/// are numbered with the last axis fastest; `deviceOrder[position]` is the rank
/// at that position (empty: rank = position).
struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<int64_t> deviceOrder;

  bool operator==(const Mesh &) const = default;

  /// The number of ranks: the product of all axis sizes.
  int64_t numRanks() const;
  std::optional<unsigned> axisByName(llvm::StringRef name) const;
  AxisPart wholeAxis(unsigned axis) const { return {axis, 1, axes[axis].size}; }
  bool isWhole(AxisPart part) const {
    return part.major == 1 && part.size == axes[part.axis].size;
  }

  /// The coordinate of `rank` along every axis.
  std::vector<int64_t> coordinates(int64_t rank) const;
  /// The rank at `coordinates`, one per axis.
  int64_t rankAt(llvm::ArrayRef<int64_t> coordinates) const;
  /// The rank at `position` along `parts` (major to minor), and at 0 along all
  /// else.
  int64_t rankAlong(llvm::ArrayRef<AxisPart> parts, int64_t position) const;
  /// The coordinate of `rank` along one axis part, in [0, part.size).
  int64_t coordinate(int64_t rank, AxisPart part) const;

  /// The ranks that communicate when a collective runs over `parts` (major to
  /// minor): a partition of all ranks, each group ordered by its position
  /// along `parts`.
  std::vector<std::vector<int64_t>>
  groups(llvm::ArrayRef<AxisPart> parts) const;

  /// Empty when well formed, else the rule that is broken.
  std::string verify() const;
};

/// `"axis"`, or `"axis":major:size` for a sub-axis.
std::string toString(AxisPart part, const Mesh &mesh);

llvm::hash_code hash_value(const Mesh &mesh);
llvm::hash_code hash_value(const AxisPart &part);
llvm::hash_code hash_value(const std::vector<AxisPart> &parts);

} // namespace tp

#endif // TP_SHARDING_MESH_H
