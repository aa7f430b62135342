//===- ShardLayouts.cpp - grids and shardings as meshes and layouts -------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardLayouts.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

/// `dp=2,tp=4` as axes; nothing if it is not of this form.
static std::optional<std::vector<MeshAxis>> axesOf(StringRef sizes) {
  std::vector<MeshAxis> axes;
  SmallVector<StringRef> items;
  sizes.split(items, ',');
  for (StringRef item : items) {
    auto [name, sizeText] = item.split('=');
    int64_t size;
    if (name.trim().empty() || sizeText.trim().getAsInteger(10, size))
      return std::nullopt;
    axes.push_back({name.trim().str(), size});
  }
  return axes;
}

FailureOr<Mesh> tp::meshOfGrid(shard::GridOp grid, StringRef sizes) {
  ArrayRef<int64_t> shape = grid.getShape();
  if (ShapedType::isDynamicShape(shape))
    return grid.emitError()
           << "the grid @" << grid.getSymName()
           << " has an axis of dynamic size, expected the number of ranks";
  std::vector<MeshAxis> named;
  if (!sizes.empty()) {
    std::optional<std::vector<MeshAxis>> read = axesOf(sizes);
    if (!read ||
        !llvm::equal(*read, shape, [](const MeshAxis &axis, int64_t size) {
          return axis.size == size;
        })) {
      InFlightDiagnostic diag = grid.emitError()
                                << "the grid @" << grid.getSymName()
                                << " has the axes ";
      llvm::interleave(shape, diag, "x");
      return diag << ", expected a mesh of these sizes, as in "
                     "axis=size,axis=size, got '"
                  << sizes << "'";
    }
    named = std::move(*read);
  }
  Mesh mesh;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    std::string name = grid.getSymName().str();
    if (shape.size() > 1)
      name += "_" + std::to_string(axis);
    mesh.axes.push_back({named.empty() ? name : named[axis].name, size});
  }
  if (std::string broken = mesh.verify(); !broken.empty())
    return grid.emitError()
           << "the grid @" << grid.getSymName() << " is no mesh: " << broken;
  return mesh;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// Where the chunks of a dimension begin, and where the last one ends.
static SmallVector<int64_t> chunkOffsets(const Layout &layout, const Mesh &mesh,
                                         int64_t dim, int64_t size) {
  std::vector<AxisPart> parts = layout.partsSharding(dim);
  SmallVector<int64_t> offsets = {0};
  for (int64_t at = 0; at < layout.shardCount(dim); ++at) {
    std::vector<Interval> chunk =
        layout.intervals(mesh, dim, size, mesh.rankAlong(parts, at));
    offsets.push_back(chunk.empty()
                          ? offsets.back()
                          : chunk.back().globalOffset + chunk.back().size);
  }
  return offsets;
}

template <typename Numbers> static std::string listed(const Numbers &numbers) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(numbers, os << "[");
  os << "]";
  return text;
}

/// The chunks that an annotation states must be those that tp cuts.
static LogicalResult checkOffsets(shard::ShardOp annotation,
                                  shard::ShardingOp sharding,
                                  const Layout &layout, const Mesh &mesh) {
  if (!sharding.getDynamicShardedDimsOffsets().empty() ||
      ShapedType::isDynamicShape(sharding.getStaticShardedDimsOffsets()))
    return annotation.emitError()
           << "the sharding has sharded_dims_offsets that are known only at "
              "run time, expected numbers, or none for chunks of equal size";
  ArrayRef<int64_t> left = sharding.getStaticShardedDimsOffsets();
  if (left.empty())
    return success();
  auto type = cast<RankedTensorType>(annotation.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (layout.partsSharding(dim).empty())
      continue;
    SmallVector<int64_t> ours =
        chunkOffsets(layout, mesh, dim, type.getDimSize(dim));
    ArrayRef<int64_t> theirs = left.take_front(ours.size());
    if (theirs != ArrayRef(ours))
      return annotation.emitError()
             << "the sharding cuts dimension " << dim << " of "
             << annotation.getType() << " at " << listed(theirs)
             << ", tp cuts it at " << listed(ours)
             << "; write these as sharded_dims_offsets, or none";
    left = left.drop_front(ours.size());
  }
  if (!left.empty())
    return annotation.emitError()
           << "the sharding has " << left.size()
           << " sharded_dims_offsets too many: " << listed(left)
           << " belong to no sharded dimension";
  return success();
}

FailureOr<Layout> tp::layoutOf(shard::ShardOp annotation, const Mesh &mesh) {
  auto type = cast<RankedTensorType>(annotation.getType());
  if (!type.hasStaticShape())
    return annotation.emitError()
           << "expected an annotation on a static shape, got " << type;
  auto sharding = annotation.getSharding().getDefiningOp<shard::ShardingOp>();
  if (!sharding)
    return annotation.emitError()
           << "expected a layout from a shard.sharding, got "
           << (isa<BlockArgument>(annotation.getSharding())
                   ? "an argument"
                   : "the result of another op");
  if (!sharding.getDynamicHaloSizes().empty() ||
      llvm::any_of(sharding.getStaticHaloSizes(),
                   [](int64_t size) { return size != 0; }))
    return annotation.emitError()
           << "the sharding has halos, which tp does not keep: ranks hold "
              "their own elements only; leave halo_sizes out";
  std::vector<Placement> placements(mesh.axes.size());
  for (auto [dim, axes] : llvm::enumerate(sharding.getSplitAxes())) {
    ArrayRef<shard::GridAxis> split = axes.asArrayRef();
    if (static_cast<int64_t>(dim) >= type.getRank() && !split.empty())
      return annotation.emitError() << "the sharding splits dimension " << dim
                                    << ", the value is a " << type;
    for (shard::GridAxis axis : split) {
      if (axis < 0 || axis >= static_cast<int64_t>(mesh.axes.size()))
        return annotation.emitError()
               << "the sharding splits dimension " << dim << " along axis "
               << axis << ", the grid has " << mesh.axes.size()
               << (mesh.axes.size() == 1 ? " axis" : " axes");
      placements[axis] = Placement::shard(static_cast<int64_t>(dim));
    }
    if (!llvm::is_sorted(split)) {
      SmallVector<shard::GridAxis> sorted(split);
      llvm::sort(sorted);
      return annotation.emitError()
             << "the sharding splits dimension " << dim << " along the axes "
             << listed(split) << ", expected them in the order of the grid, "
             << listed(sorted) << "; else transpose the grid";
    }
  }
  Layout layout = Layout::onWholeAxes(mesh, placements);
  if (failed(checkOffsets(annotation, sharding, layout, mesh)))
    return failure();
  return layout;
}
