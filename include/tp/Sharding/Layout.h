//===- Layout.h - how one tensor lies on a mesh -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layout algebra, free of IR. A layout gives every mesh axis (or sub-axis) a
// placement with DTensor's meaning: replicate, shard<d> or partial<kind>.
// Uneven dimensions follow torch.chunk, counted in units: chunk = ceil(N / unit
// / n) * unit; trailing ranks have smaller or empty chunks.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_LAYOUT_H
#define TP_SHARDING_LAYOUT_H

#include "tp/Sharding/Mesh.h"

namespace tp {

/// How the ranks' numbers of a partial value combine to its value.
enum class ReductionKind { Sum, Avg, Product, Max, Min };

llvm::StringRef toString(ReductionKind kind);
std::optional<ReductionKind> parseReductionKind(llvm::StringRef text);

enum class PlacementKind { Replicate, Shard, Partial };

/// What one axis does to a tensor.
struct Placement {
  PlacementKind kind = PlacementKind::Replicate;
  /// Shard: the dimension, the unit of its chunks in elements, and the sizes of
  /// the segments of a packed dimension (empty: one segment), each of which is
  /// sharded by itself.
  int64_t dim = 0;
  int64_t unit = 1;
  std::vector<int64_t> segments;
  /// Partial: how the ranks' values combine.
  ReductionKind reduction = ReductionKind::Sum;

  static Placement replicate() { return {}; }
  static Placement shard(int64_t dim, int64_t unit = 1,
                         std::vector<int64_t> segments = {}) {
    return {PlacementKind::Shard, dim, unit, std::move(segments),
            ReductionKind::Sum};
  }
  static Placement partial(ReductionKind reduction) {
    return {PlacementKind::Partial, 0, 1, {}, reduction};
  }
  bool isReplicate() const { return kind == PlacementKind::Replicate; }
  bool isShard() const { return kind == PlacementKind::Shard; }
  bool isPartial() const { return kind == PlacementKind::Partial; }
  bool operator==(const Placement &) const = default;
};

/// The size of the largest of `count` chunks that `size` elements are split
/// into, by whole units.
int64_t chunkSize(int64_t size, int64_t unit, int64_t count);

struct AxisPlacement {
  AxisPart part;
  Placement placement;
  bool operator==(const AxisPlacement &) const = default;
};

/// A run of indices of one dimension: where it starts in the global dimension
/// and in the rank's buffer.
struct Interval {
  int64_t globalOffset = 0;
  int64_t localOffset = 0;
  int64_t size = 0;
  bool operator==(const Interval &) const = default;
};

/// A box of elements: one interval per dimension.
struct Box {
  std::vector<int64_t> globalOffsets, localOffsets, sizes;
};

/// The layout of one tensor on a mesh: every part of every axis exactly once.
/// Of two entries that shard the same dimension the earlier one is the major
/// one. Entries that share no dimension are in mesh order, so that equal
/// layouts compare equal (see `canonicalize`).
struct Layout {
  std::vector<AxisPlacement> entries;

  static Layout replicated(const Mesh &mesh);
  /// One placement per mesh axis, in mesh order.
  static Layout onWholeAxes(const Mesh &mesh,
                            llvm::ArrayRef<Placement> placements);

  bool operator==(const Layout &) const = default;

  /// The placement on the whole axis `axis`; the layout must not split it.
  const Placement &onAxis(unsigned axis) const;
  void setAxis(const Mesh &mesh, unsigned axis, Placement placement);

  /// The entry of exactly this axis part, or null.
  const AxisPlacement *find(AxisPart part) const;
  /// Gives `parts`, which have to be entries, a new placement. Shards are
  /// appended as the minor-most of their dimension, in the order given. Returns
  /// false, and changes nothing, if a part is no entry.
  bool place(llvm::ArrayRef<AxisPart> parts, const Placement &placement);

  bool isReplicated() const;
  bool hasPartial() const;
  /// The axis parts that shard `dim`, major first.
  std::vector<AxisPart> partsSharding(int64_t dim) const;
  /// The number of shards of `dim`.
  int64_t shardCount(int64_t dim) const;

  /// Sorts the entries into their canonical order.
  void canonicalize();

  /// Size of `dim` in every rank's buffer, `size` being its global size.
  int64_t localSize(int64_t dim, int64_t size) const;
  /// The buffer shape, the same on all ranks.
  std::vector<int64_t> localShape(llvm::ArrayRef<int64_t> shape) const;
  /// The valid elements of `dim` on `rank`, by global offset; empty intervals
  /// are left out.
  std::vector<Interval> intervals(const Mesh &mesh, int64_t dim, int64_t size,
                                  int64_t rank) const;
  /// The valid elements on `rank` as boxes (several only with segments).
  std::vector<Box> boxes(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                         int64_t rank) const;
  /// True when some rank's buffer has padding.
  bool isUneven(llvm::ArrayRef<int64_t> shape) const;

  /// Empty when well formed for a tensor of this shape, else the rule that is
  /// broken.
  std::string verify(const Mesh &mesh, llvm::ArrayRef<int64_t> shape) const;

  /// The spelling inside `#tp.layout<mesh, ...>`: `[shard<1>, replicate]` in
  /// mesh order, or with named axes where the order or sub-axes need it:
  /// `["tp" = shard<0>, "dp" = shard<0>]`, `["tp":1:2 = shard<0>, ...]`
  /// (`"axis":major:size`).
  std::string toString(const Mesh &mesh) const;
};

std::string toString(const Placement &placement);
llvm::hash_code hash_value(const Placement &placement);
llvm::hash_code hash_value(const AxisPlacement &entry);
llvm::hash_code hash_value(const Layout &layout);

} // namespace tp

#endif // TP_SHARDING_LAYOUT_H
