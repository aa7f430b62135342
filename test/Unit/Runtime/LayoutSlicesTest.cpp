//===- LayoutSlicesTest.cpp - every layout, as the runtime slices it ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler writes a layout into the manifest, and the runtime finds each
// rank's boxes by it: loads, assembles and poisons by them. Here all layouts of
// small tensors on small meshes go that way, through the text of a manifest,
// against a model that cuts lists of indices, and against the compiler's boxes
// of every rank.
//
//===----------------------------------------------------------------------===//

#include "tp/Codegen/DescribeLayout.h"
#include "tp/Runtime/Manifest.h"
#include "tp/Runtime/Slices.h"
#include "tp/Sharding/Layout.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

using namespace tp;
namespace rt = tp::runtime;

namespace {

/// Global indices by place in the buffer, -1 for padding.
using Indices = std::vector<int64_t>;

/// torch.chunk in units of the list, padding included: the piece of one
/// coordinate, filled up to the size of the first one.
Indices chunk(const Indices &list, int64_t unit, int64_t count,
              int64_t coordinate) {
  int64_t size = list.size();
  int64_t units = (size + unit - 1) / unit;
  int64_t length = std::min((units + count - 1) / count * unit, size);
  Indices piece(length, -1);
  for (int64_t i = 0; i < length && coordinate * length + i < size; ++i)
    piece[i] = list[coordinate * length + i];
  return piece;
}

/// What `rank` holds of one dimension: every segment cut by one axis part after
/// the other.
Indices model(const Mesh &mesh, const Layout &layout, int64_t dim, int64_t size,
              int64_t rank) {
  Indices segments = {size};
  int64_t unit = 1;
  for (const AxisPlacement &entry : layout.entries)
    if (entry.placement.isShard() && entry.placement.dim == dim) {
      unit = entry.placement.unit;
      if (!entry.placement.segments.empty())
        segments = entry.placement.segments;
    }
  Indices held;
  int64_t start = 0;
  for (int64_t segment : segments) {
    Indices piece(segment);
    std::iota(piece.begin(), piece.end(), start);
    for (const AxisPlacement &entry : layout.entries)
      if (entry.placement.isShard() && entry.placement.dim == dim) {
        // The coordinate by hand: the grid's position, then the part's digit.
        int64_t position = rank;
        if (!mesh.deviceOrder.empty())
          position = std::find(mesh.deviceOrder.begin(), mesh.deviceOrder.end(),
                               rank) -
                     mesh.deviceOrder.begin();
        for (size_t axis = mesh.axes.size(); axis-- > entry.part.axis + 1;)
          position /= mesh.axes[axis].size;
        position %= mesh.axes[entry.part.axis].size;
        position /= mesh.axes[entry.part.axis].size /
                    (entry.part.major * entry.part.size);
        piece = chunk(piece, unit, entry.part.size, position % entry.part.size);
      }
    held.insert(held.end(), piece.begin(), piece.end());
    start += segment;
  }
  return held;
}

/// As lib/Codegen/Artifact/MakeManifest.cpp writes it.
rt::Port portOf(const Mesh &mesh, const Layout &layout,
                const std::vector<int64_t> &shape, bool reversed) {
  rt::Port port;
  port.name = "w";
  port.kind = "parameter";
  port.dtype = rt::DataType::I32;
  port.shape = shape;
  port.layout = target::describeLayout(mesh, layout);
  port.source = rt::defaultSource(port);
  port.permutation.resize(shape.size());
  std::iota(port.permutation.begin(), port.permutation.end(), 0);
  if (reversed)
    std::reverse(port.permutation.begin(), port.permutation.end());
  return port;
}

/// A manifest of no command on this mesh.
rt::Manifest manifestOn(const Mesh &mesh) {
  rt::Manifest manifest;
  manifest.mesh = target::describeMesh(mesh);
  manifest.entries.emplace_back().name = "main";
  return manifest;
}

/// The manifest as a reader gets it; fails where that is another one.
rt::Manifest reread(const rt::Manifest &manifest) {
  rt::Manifest read;
  rt::Status status = rt::parseManifest(rt::writeManifest(manifest), 0, read);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(read == manifest) << rt::writeManifest(manifest);
  return read;
}

/// Whether the function of coordinates gives what the compiler computes for
/// every rank.
bool hasBoxesOf(const rt::RankSlice &slice, const Mesh &mesh,
                const Layout &layout, const std::vector<int64_t> &shape,
                int64_t rank) {
  std::vector<rt::Box> boxes;
  for (const Box &box : layout.boxes(mesh, shape, rank))
    boxes.push_back({box.globalOffsets, box.localOffsets, box.sizes});
  return slice.boxes == boxes && slice.localShape == layout.localShape(shape);
}

/// Loads, poisons and assembles `shape` in `layout`; false after a failure.
bool check(const Mesh &mesh, const Layout &layout,
           const std::vector<int64_t> &shape, bool reversed) {
  rt::Manifest manifest = manifestOn(mesh);
  manifest.arguments = {portOf(mesh, layout, shape, reversed)};
  manifest.entries[0].signature = {0};
  manifest = reread(manifest);
  if (manifest.arguments.empty())
    return false;
  const rt::Port &port = manifest.arguments[0];
  EXPECT_EQ(rt::layoutText(port.layout, manifest.mesh), layout.toString(mesh));
  std::vector<int64_t> localShape = port.localShape();
  int64_t elements = 1, localElements = 1;
  for (int64_t size : shape)
    elements *= size;
  for (int64_t size : localShape)
    localElements *= size;
  std::vector<int32_t> global(elements), back(elements, -1);
  std::iota(global.begin(), global.end(), 0);
  std::vector<int64_t> strides = rt::rowMajorStrides(shape);
  std::vector<int64_t> localStrides = port.localStrides();
  bool good = true;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    std::vector<int32_t> expected(localElements, -7), local(localElements, -7);
    std::vector<uint8_t> padding(localElements, 1);
    std::vector<Indices> held;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      held.push_back(model(mesh, layout, dim, shape[dim], rank));
      good &= int64_t(held[dim].size()) == localShape[dim];
    }
    if (!good)
      break;
    std::function<void(size_t, int64_t, int64_t)> fill =
        [&](size_t dim, int64_t from, int64_t to) {
          if (dim == shape.size()) {
            expected[to] = int32_t(from);
            padding[to] = 0;
            return;
          }
          for (size_t i = 0; i < held[dim].size(); ++i)
            if (held[dim][i] >= 0)
              fill(dim + 1, from + held[dim][i] * strides[dim],
                   to + int64_t(i) * localStrides[dim]);
        };
    fill(0, 0, 0);
    rt::RankSlice slice = port.slice(manifest.mesh.coordinates(rank));
    good &= hasBoxesOf(slice, mesh, layout, shape, rank);
    rt::scatter(slice, global.data(), strides, local.data());
    good &= local == expected;
    std::vector<uint8_t> mask = rt::paddingMask(slice);
    bool isFull = std::find(padding.begin(), padding.end(), 1) == padding.end();
    good &= isFull ? mask.empty() : mask == padding;
    rt::assemble(slice, local.data(), back.data(), strides);
  }
  good &= back == global;
  if (good)
    return true;
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  ADD_FAILURE() << layout.toString(mesh) << " of " << text
                << (reversed ? ", stored reversed" : "");
  return false;
}

/// All ways to see the mesh as parts of axes: whole axes, and each size that is
/// a product as two factors.
std::vector<std::vector<AxisPart>> splits(const Mesh &mesh) {
  std::vector<std::vector<AxisPart>> result = {{}};
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    int64_t size = mesh.axes[axis].size;
    std::vector<std::vector<AxisPart>> extended;
    for (const std::vector<AxisPart> &parts : result)
      for (int64_t major = 1; major < std::max<int64_t>(size, 2); ++major) {
        if (size % major)
          continue;
        std::vector<AxisPart> next = parts;
        if (major == 1) {
          next.push_back({axis, 1, size});
        } else {
          next.push_back({axis, 1, major});
          next.push_back({axis, major, size / major});
        }
        extended.push_back(next);
      }
    result = extended;
  }
  return result;
}

/// All nest orders and all choices of replicate or a dimension for each part,
/// as canonical layouts, once each. `shard` gives the placement on a dimension.
void forEachLayout(const Mesh &mesh, int64_t dims,
                   const std::function<Placement(int64_t)> &shard,
                   const std::function<void(const Layout &)> &visit) {
  std::set<std::string> seen;
  for (std::vector<AxisPart> parts : splits(mesh)) {
    std::sort(parts.begin(), parts.end());
    do {
      int64_t choices = 1;
      for (size_t i = 0; i < parts.size(); ++i)
        choices *= dims + 1;
      for (int64_t choice = 0; choice < choices; ++choice) {
        Layout layout;
        int64_t rest = choice;
        for (AxisPart part : parts) {
          int64_t dim = rest % (dims + 1);
          rest /= dims + 1;
          layout.entries.push_back(
              {part, dim == dims ? Placement::replicate() : shard(dim)});
        }
        layout.canonicalize();
        if (seen.insert(layout.toString(mesh)).second)
          visit(layout);
      }
    } while (std::next_permutation(parts.begin(), parts.end()));
  }
}

std::vector<Mesh> meshes() {
  std::vector<Mesh> result;
  const std::vector<std::vector<int64_t>> grids = {
      {1},    {2},    {3},    {4},    {5},       {8},
      {2, 2}, {2, 3}, {3, 2}, {2, 4}, {2, 2, 2}, {1, 2, 1, 2}};
  for (const std::vector<int64_t> &sizes : grids) {
    Mesh mesh;
    for (size_t i = 0; i < sizes.size(); ++i)
      mesh.axes.push_back({std::string(1, char('a' + i)), sizes[i]});
    result.push_back(mesh);
    int64_t ranks = mesh.numRanks();
    for (int64_t i = 0; i < ranks; ++i)
      mesh.deviceOrder.push_back((i * (ranks - 1) + 1) % ranks);
    if (ranks > 2)
      result.push_back(mesh);
  }
  return result;
}

/// Units and segments of one dimension: none, equal and unequal ones, as many
/// as fit.
std::vector<Placement> placements(int64_t size) {
  std::vector<Placement> result;
  for (int64_t unit : {1, 2, 3}) {
    std::vector<std::vector<int64_t>> segments = {{}};
    if (size >= 2) {
      segments.push_back({1, size - 1});
      if (size % 2 == 0)
        segments.push_back({size / 2, size / 2});
    }
    if (size >= 5)
      segments.push_back({2, size - 4, 2});
    for (const std::vector<int64_t> &sizes : segments)
      result.push_back(Placement::shard(0, unit, sizes));
  }
  return result;
}

TEST(LayoutSlicesTest, OneDimension) {
  int64_t layouts = 0;
  for (const Mesh &mesh : meshes())
    for (int64_t size = 0; size < 14; ++size)
      for (const Placement &placement : placements(size))
        forEachLayout(
            mesh, 1, [&](int64_t) { return placement; },
            [&](const Layout &layout) {
              EXPECT_EQ(layout.verify(mesh, {size}), "");
              layouts += check(mesh, layout, {size}, false);
            });
  EXPECT_GT(layouts, 20000);
}

TEST(LayoutSlicesTest, TwoDimensions) {
  int64_t layouts = 0;
  const std::vector<std::vector<int64_t>> shapes = {{0, 3}, {3, 0}, {1, 1},
                                                    {2, 5}, {6, 4}, {7, 3}};
  for (const Mesh &mesh : meshes())
    for (const std::vector<int64_t> &shape : shapes)
      for (bool reversed : {false, true})
        for (size_t kind = 0; kind < 4; ++kind)
          forEachLayout(
              mesh, 2,
              [&](int64_t dim) {
                std::vector<Placement> all = placements(shape[dim]);
                Placement placement = all[(kind * 5 + dim * 2) % all.size()];
                placement.dim = dim;
                return placement;
              },
              [&](const Layout &layout) {
                EXPECT_EQ(layout.verify(mesh, shape), "");
                layouts += check(mesh, layout, shape, reversed);
              });
  EXPECT_GT(layouts, 10000);
}

TEST(LayoutSlicesTest, Scalars) {
  for (const Mesh &mesh : meshes())
    EXPECT_TRUE(check(mesh, Layout::replicated(mesh), {}, false));
}

/// Coordinates and groups mean the same on both sides.
TEST(LayoutSlicesTest, CoordinatesAndGroups) {
  for (const Mesh &mesh : meshes()) {
    rt::Manifest manifest = manifestOn(mesh);
    std::vector<std::vector<std::vector<int64_t>>> expected;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
        EXPECT_EQ(manifest.mesh.coordinates(rank)[axis],
                  mesh.coordinates(rank)[axis]);
    for (const std::vector<AxisPart> &parts : splits(mesh))
      for (size_t subset = 0; subset < size_t(1) << parts.size(); ++subset) {
        std::vector<AxisPart> chosen;
        for (size_t i = 0; i < parts.size(); ++i)
          if (subset >> i & 1)
            chosen.push_back(parts[i]);
        // Any order of the parts.
        if (subset % 2)
          std::reverse(chosen.begin(), chosen.end());
        rt::RankGroup group;
        group.id = int64_t(manifest.groups.size());
        for (const AxisPart &part : chosen)
          group.axes.push_back(target::describePart(mesh, part));
        manifest.groups.push_back(group);
        expected.push_back(mesh.groups(chosen));
      }
    manifest = reread(manifest);
    ASSERT_EQ(manifest.groups.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const rt::AxisParts &axes = manifest.groups[i].axes;
      EXPECT_EQ(manifest.mesh.groups(axes), expected[i]);
      for (const std::vector<int64_t> &ranks : expected[i])
        for (size_t position = 0; position < ranks.size(); ++position) {
          EXPECT_EQ(manifest.mesh.groupOf(ranks[position], axes), ranks);
          EXPECT_EQ(
              rt::positionOf(manifest.mesh.coordinates(ranks[position]), axes),
              int64_t(position));
        }
    }
  }
}

} // namespace
