//===- ShardingGrid.h - the parts of a port and their ranks -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_PICTURE_SHARDINGGRID_H
#define TP_RUNTIME_FORMAT_PICTURE_SHARDINGGRID_H

#include "tp/Runtime/Port.h"

namespace tp::runtime {

/// Ranks as a set: one flag each.
using RankSet = std::vector<bool>;

/// A dimension between two neighbouring places where some rank's part begins or
/// ends, and the ranks that hold it.
struct GridInterval {
  int64_t start = 0, size = 0;
  RankSet ranks;
};

/// A port as a grid: every dimension is cut wherever the part of a rank begins
/// or ends. Each element is held by some rank, so the intervals of a dimension
/// cover it.
struct ShardingGrid {
  static constexpr int64_t maxParts = 4096;

  ShardingGrid(const Port &port, const Mesh &mesh);

  /// By dimension; nothing of a dimension without elements.
  std::vector<std::vector<GridInterval>> dims;
  /// The dimensions that a picture shows: those that are cut; of one or two
  /// dimensions all.
  std::vector<size_t> shown;
  int64_t numRanks = 1;
  /// More than maxParts parts; then nothing else is of use.
  bool isTooFine = false;

  /// The ranks that hold the part at these positions of the shown dimensions.
  RankSet ranksAt(const std::vector<size_t> &position) const;
  /// Ranks without any element.
  RankSet emptyRanks() const;
};

/// "rank 3", "ranks 0-3, 8"; "no rank".
std::string ranksText(const RankSet &ranks);

} // namespace tp::runtime

#endif // TP_RUNTIME_FORMAT_PICTURE_SHARDINGGRID_H
