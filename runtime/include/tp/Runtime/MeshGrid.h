//===- MeshGrid.h - ranks by their coordinates ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that differs between ranks in a manifest is a function of a rank's
// coordinates on the mesh: slices of ports, groups, the k of a product. So a
// manifest does not grow with the number of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_MESHGRID_H
#define TP_RUNTIME_MESHGRID_H

#include "tp/Runtime/Kernel.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tp::runtime {

/// A rank's coordinate on every mesh axis, in the mesh's order; 0 beyond it.
using Coordinates = std::array<int64_t, TP_MAX_MESH_AXES>;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis &) const = default;
};

/// A whole axis or a sub-axis. An axis of size major * size * minor is a grid
/// of three, of which the part is the middle dimension; of a whole axis major
/// and minor are 1.
struct AxisPart {
  /// Position in Mesh::axes.
  int64_t axis = 0;
  int64_t size = 1;
  int64_t minor = 1;

  int64_t coordinate(const Coordinates &rank) const {
    return rank[axis] / minor % size;
  }
  bool operator==(const AxisPart &) const = default;
};

/// Axes, major first, over which something is counted.
using AxisParts = std::vector<AxisPart>;

/// The product of their sizes.
int64_t sizeOf(const AxisParts &parts);
/// The position of a rank along them, from 0 to sizeOf(parts) - 1.
int64_t positionOf(const Coordinates &rank, const AxisParts &parts);

/// A checked mesh has 1 to TP_MAX_MESH_AXES axes of different names and at
/// most `maxRanks` ranks.
struct Mesh {
  static constexpr int64_t maxRanks = 4096;

  std::vector<MeshAxis> axes;
  /// The rank at every position of the grid, the last axis fastest; empty
  /// where that is the position.
  std::vector<int64_t> deviceOrder;

  int64_t numRanks() const;
  Coordinates coordinates(int64_t rank) const;
  int64_t rankAt(const Coordinates &coordinates) const;
  AxisPart whole(int64_t axis) const { return {axis, axes[axis].size, 1}; }
  bool isWhole(const AxisPart &part) const {
    return part.size == axes[part.axis].size;
  }
  /// Of an axis of size major * size * minor.
  int64_t major(const AxisPart &part) const {
    return axes[part.axis].size / (part.size * part.minor);
  }
  /// The ranks that are equal in all but their position along `parts`, each
  /// group in the order of that position, and all groups in the order of the
  /// grid.
  std::vector<std::vector<int64_t>> groups(const AxisParts &parts) const;
  /// The one of these groups that `rank` is in.
  std::vector<int64_t> groupOf(int64_t rank, const AxisParts &parts) const;
  /// "dp = 2, tp = 4"
  std::string text() const;
  /// "tp", or "tp:2:4" (major and size) of a sub-axis.
  std::string text(const AxisPart &part) const;

  bool operator==(const Mesh &) const = default;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_MESHGRID_H
