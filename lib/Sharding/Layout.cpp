//===- Layout.cpp - how one tensor lies on a mesh -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Layout.h"
#include "AxisText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cassert>

using namespace tp;

static constexpr std::pair<llvm::StringLiteral, ReductionKind>
    reductionNames[] = {{"sum", ReductionKind::Sum},
                        {"avg", ReductionKind::Avg},
                        {"product", ReductionKind::Product},
                        {"max", ReductionKind::Max},
                        {"min", ReductionKind::Min}};

llvm::StringRef tp::toString(ReductionKind kind) {
  for (const auto &[name, named] : reductionNames)
    if (named == kind)
      return name;
  llvm_unreachable("every reduction kind has a name");
}

std::optional<ReductionKind> tp::parseReductionKind(llvm::StringRef text) {
  for (const auto &[name, named] : reductionNames)
    if (name == text)
      return named;
  return std::nullopt;
}

Layout Layout::replicated(const Mesh &mesh) {
  std::vector<Placement> placements(mesh.axes.size());
  return onWholeAxes(mesh, placements);
}

Layout Layout::onWholeAxes(const Mesh &mesh,
                           llvm::ArrayRef<Placement> placements) {
  assert(placements.size() == mesh.axes.size());
  Layout layout;
  for (unsigned i = 0; i < mesh.axes.size(); ++i)
    layout.entries.push_back({mesh.wholeAxis(i), placements[i]});
  return layout;
}

const Placement &Layout::onAxis(unsigned axis) const {
  auto it = llvm::find_if(entries, [&](const AxisPlacement &entry) {
    return entry.part.axis == axis;
  });
  assert(it != entries.end() && "every axis has a placement");
  return it->placement;
}

void Layout::setAxis(const Mesh &mesh, unsigned axis, Placement placement) {
  llvm::erase_if(entries, [&](const AxisPlacement &entry) {
    return entry.part.axis == axis;
  });
  entries.push_back({mesh.wholeAxis(axis), std::move(placement)});
  canonicalize();
}

const AxisPlacement *Layout::find(AxisPart part) const {
  auto it = llvm::find_if(
      entries, [&](const AxisPlacement &entry) { return entry.part == part; });
  return it == entries.end() ? nullptr : &*it;
}

bool Layout::place(llvm::ArrayRef<AxisPart> parts, const Placement &placement) {
  if (!llvm::all_of(parts, [&](AxisPart part) { return find(part); }))
    return false;
  for (AxisPart part : parts) {
    llvm::erase_if(entries, [&](const AxisPlacement &entry) {
      return entry.part == part;
    });
    entries.push_back({part, placement});
  }
  canonicalize();
  return true;
}

bool Layout::isReplicated() const {
  return llvm::all_of(entries, [](const AxisPlacement &entry) {
    return entry.placement.isReplicate();
  });
}

bool Layout::hasPartial() const {
  return llvm::any_of(entries, [](const AxisPlacement &entry) {
    return entry.placement.isPartial();
  });
}

std::vector<AxisPart> Layout::partsSharding(int64_t dim) const {
  std::vector<AxisPart> parts;
  for (const AxisPlacement &entry : entries)
    if (entry.placement.isShard() && entry.placement.dim == dim)
      parts.push_back(entry.part);
  return parts;
}

int64_t Layout::shardCount(int64_t dim) const {
  int64_t count = 1;
  for (AxisPart part : partsSharding(dim))
    count *= part.size;
  return count;
}

void Layout::canonicalize() {
  // Sort everything into mesh order, then refill the places of entries that
  // share a dimension in their nest order.
  std::vector<AxisPlacement> nest = entries;
  llvm::sort(entries, [](const AxisPlacement &a, const AxisPlacement &b) {
    return a.part < b.part;
  });
  auto next = [&](int64_t dim) {
    auto it = llvm::find_if(nest, [&](const AxisPlacement &entry) {
      return entry.placement.isShard() && entry.placement.dim == dim;
    });
    AxisPlacement entry = *it;
    nest.erase(it);
    return entry;
  };
  for (AxisPlacement &entry : entries)
    if (entry.placement.isShard())
      entry = next(entry.placement.dim);
}

namespace {
/// The unit and segments of a sharded dimension; entries that shard the same
/// dimension agree on them (see Layout::verify).
const Placement *firstShard(const Layout &layout, int64_t dim) {
  for (const AxisPlacement &entry : layout.entries)
    if (entry.placement.isShard() && entry.placement.dim == dim)
      return &entry.placement;
  return nullptr;
}

} // namespace

int64_t tp::chunkSize(int64_t size, int64_t unit, int64_t count) {
  int64_t units = llvm::divideCeil(size, unit);
  return std::min<int64_t>(llvm::divideCeil(units, count) * unit, size);
}

int64_t Layout::localSize(int64_t dim, int64_t size) const {
  const Placement *shard = firstShard(*this, dim);
  if (!shard)
    return size;
  std::vector<int64_t> segments = shard->segments;
  if (segments.empty())
    segments = {size};
  int64_t local = 0;
  for (int64_t segment : segments) {
    for (AxisPart part : partsSharding(dim))
      segment = chunkSize(segment, shard->unit, part.size);
    local += segment;
  }
  return local;
}

std::vector<int64_t> Layout::localShape(llvm::ArrayRef<int64_t> shape) const {
  std::vector<int64_t> result;
  for (auto [dim, size] : llvm::enumerate(shape))
    result.push_back(localSize(dim, size));
  return result;
}

std::vector<Interval> Layout::intervals(const Mesh &mesh, int64_t dim,
                                        int64_t size, int64_t rank) const {
  const Placement *shard = firstShard(*this, dim);
  if (!shard) {
    if (size == 0)
      return {};
    return {{0, 0, size}};
  }
  std::vector<int64_t> segments = shard->segments;
  if (segments.empty())
    segments = {size};
  std::vector<Interval> result;
  int64_t segmentStart = 0, localStart = 0;
  for (int64_t segment : segments) {
    int64_t offset = 0, valid = segment, chunk = segment;
    for (AxisPart part : partsSharding(dim)) {
      chunk = chunkSize(chunk, shard->unit, part.size);
      int64_t start = mesh.coordinate(rank, part) * chunk;
      start = std::min(start, valid);
      offset += start;
      valid = std::min(chunk, valid - start);
    }
    if (valid > 0)
      result.push_back({segmentStart + offset, localStart, valid});
    segmentStart += segment;
    localStart += chunk;
  }
  return result;
}

std::vector<Box> Layout::boxes(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                               int64_t rank) const {
  std::vector<Box> result(1);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    std::vector<Box> extended;
    std::vector<Interval> pieces = intervals(mesh, dim, size, rank);
    for (const Box &box : result) {
      for (const Interval &piece : pieces) {
        Box &next = extended.emplace_back(box);
        next.globalOffsets.push_back(piece.globalOffset);
        next.localOffsets.push_back(piece.localOffset);
        next.sizes.push_back(piece.size);
      }
    }
    result = std::move(extended);
  }
  return result;
}

bool Layout::isUneven(llvm::ArrayRef<int64_t> shape) const {
  for (auto [dim, size] : llvm::enumerate(shape))
    if (localSize(dim, size) * shardCount(dim) != size)
      return true;
  return false;
}

std::string Layout::verify(const Mesh &mesh,
                           llvm::ArrayRef<int64_t> shape) const {
  std::vector<std::vector<AxisPart>> partsOf(mesh.axes.size());
  for (const AxisPlacement &entry : entries) {
    const auto &[axis, major, size] = entry.part;
    if (axis >= mesh.axes.size())
      return "the layout names an axis that the mesh does not have";
    if (major < 1 || size < 1 || mesh.axes[axis].size % (major * size) != 0)
      return "part " + std::to_string(major) + ":" + std::to_string(size) +
             " does not divide axis '" + mesh.axes[axis].name + "' of size " +
             std::to_string(mesh.axes[axis].size);
    partsOf[axis].push_back(entry.part);
    const Placement &placement = entry.placement;
    if (!placement.isShard())
      continue;
    if (placement.dim < 0 ||
        placement.dim >= static_cast<int64_t>(shape.size()))
      return "shard<" + std::to_string(placement.dim) +
             "> needs that dimension, the tensor has rank " +
             std::to_string(shape.size());
    if (placement.unit < 1)
      return "the unit of a shard is at least 1, got " +
             std::to_string(placement.unit);
    const Placement *first = firstShard(*this, placement.dim);
    if (placement.unit != first->unit || placement.segments != first->segments)
      return "axes that shard the same dimension agree on its unit and "
             "segments";
    if (placement.segments.empty())
      continue;
    int64_t sum = 0;
    for (int64_t segment : placement.segments) {
      if (segment < 1)
        return "a segment has at least 1 element";
      sum += segment;
    }
    if (sum != shape[placement.dim])
      return "segments add up to " + std::to_string(sum) + ", dimension " +
             std::to_string(placement.dim) + " has size " +
             std::to_string(shape[placement.dim]);
  }
  for (auto [axis, parts] : llvm::enumerate(partsOf)) {
    llvm::sort(parts);
    int64_t covered = 1;
    for (AxisPart part : parts) {
      if (part.major != covered)
        return "axis '" + mesh.axes[axis].name +
               "' is used twice or with a gap between its parts";
      covered *= part.size;
    }
    if (parts.empty() || covered != mesh.axes[axis].size)
      return "axis '" + mesh.axes[axis].name + "' has no placement";
  }
  return "";
}

std::string tp::toString(const Placement &placement) {
  switch (placement.kind) {
  case PlacementKind::Replicate:
    return "replicate";
  case PlacementKind::Partial:
    return "partial<" + toString(placement.reduction).str() + ">";
  case PlacementKind::Shard:
    break;
  }
  std::string text = "shard<" + std::to_string(placement.dim);
  if (placement.unit != 1)
    text += ", unit = " + std::to_string(placement.unit);
  if (!placement.segments.empty()) {
    text += ", segments = [";
    for (auto [i, segment] : llvm::enumerate(placement.segments))
      text += (i ? ", " : "") + std::to_string(segment);
    text += "]";
  }
  return text + ">";
}

std::string Layout::toString(const Mesh &mesh) const {
  return listOnAxes(mesh, entries, [](const AxisPlacement &entry) {
    return tp::toString(entry.placement);
  });
}

llvm::hash_code tp::hash_value(const Placement &placement) {
  return llvm::hash_combine(placement.kind, placement.dim, placement.unit,
                            placement.reduction,
                            llvm::hash_combine_range(placement.segments.begin(),
                                                     placement.segments.end()));
}

llvm::hash_code tp::hash_value(const AxisPlacement &entry) {
  return llvm::hash_combine(entry.part, entry.placement);
}

llvm::hash_code tp::hash_value(const Layout &layout) {
  return llvm::hash_combine_range(layout.entries.begin(), layout.entries.end());
}
