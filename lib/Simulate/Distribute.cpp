//===- Distribute.cpp - a global value and its parts ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribute.h"
#include "Identity.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

uint64_t simulator::mix(uint64_t value) {
  // The finalizer of splitmix64.
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

PartialParts simulator::partialParts(const Layout &layout) {
  PartialParts result;
  for (const AxisPlacement &entry : layout.entries) {
    if (!entry.placement.isPartial())
      continue;
    result.mixed |=
        !result.parts.empty() && result.kind != entry.placement.reduction;
    result.kind = entry.placement.reduction;
    result.parts.push_back(entry.part);
  }
  return result;
}

void simulator::forEachHeld(
    LayoutAttr layout, ArrayRef<int64_t> shape, int64_t rank,
    llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> function) {
  const Layout &value = layout.getValue();
  SmallVector<int64_t> strides = rowMajorStrides(layout.localShape(shape));
  for (const Box &box : value.boxes(layout.getMesh().getValue(), shape, rank)) {
    SmallVector<int64_t> at(shape.size(), 0), index(shape.size(), 0);
    do {
      int64_t offset = 0;
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        index[dim] = box.globalOffsets[dim] + at[dim];
        offset += (box.localOffsets[dim] + at[dim]) * strides[dim];
      }
      function(index, offset);
    } while (nextIndex(at, box.sizes));
  }
}

/// The position of `rank` in its group along the partial parts.
static bool isFirst(const Mesh &mesh, ArrayRef<AxisPart> parts, int64_t rank) {
  return llvm::all_of(
      parts, [&](AxisPart part) { return mesh.coordinate(rank, part) == 0; });
}

Array simulator::distribute(const Array &whole, LayoutAttr layout,
                            int64_t rank) {
  const Mesh &mesh = layout.getMesh().getValue();
  SmallVector<int64_t> shape(whole.shape());
  PartialParts partial = partialParts(layout.getValue());
  Type type = whole.elementType();
  if (!partial.parts.empty() && partial.kind != ReductionKind::Avg &&
      !isFirst(mesh, partial.parts, rank))
    return Array::splat(type, layout.localShape(shape),
                        identityOf(partial.kind, type));
  if (whole.isSplat() && whole.isAllDefined() &&
      !layout.getValue().isUneven(shape))
    return whole.reshaped(layout.localShape(shape));
  SmallVector<int64_t> strides = whole.strides();
  Array part = Array::poison(type, layout.localShape(shape));
  forEachHeld(layout, shape, rank, [&](ArrayRef<int64_t> index, int64_t to) {
    int64_t from = 0;
    for (auto [position, stride] : llvm::zip(index, strides))
      from += position * stride;
    part.copy(to, whole, from);
    if (!whole.isDefined(from))
      part.setUndefined(to, true);
  });
  return part;
}

/// What a rank's number differs from the others': small and exact.
static Scalar share(uint64_t hash, ReductionKind kind) {
  int64_t number = static_cast<int64_t>(hash % 13) + 1;
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    number = hash & 16 ? -number : number;
    return {static_cast<double>(number) / 8, number};
  case ReductionKind::Product:
    return {hash & 1 ? 2.0 : 0.5, 1};
  case ReductionKind::Max:
  case ReductionKind::Min:
    break;
  }
  return {static_cast<double>(number) / 8, number};
}

std::vector<Array> simulator::distributeAtRandom(const Array &whole,
                                                 LayoutAttr layout,
                                                 uint64_t seed) {
  const Mesh &mesh = layout.getMesh().getValue();
  PartialParts partial = partialParts(layout.getValue());
  Type type = whole.elementType();
  SmallVector<int64_t> shape(whole.shape());
  SmallVector<int64_t> strides = whole.strides();
  std::vector<Array> parts;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    parts.push_back(distribute(whole, layout, rank));
  // i1 has too few numbers to differ.
  if (partial.parts.empty() || type.isInteger(1))
    return parts;
  for (const std::vector<int64_t> &group : mesh.groups(partial.parts)) {
    std::vector<Array> buffers;
    for (size_t i = 0; i < group.size(); ++i)
      buffers.push_back(Array::poison(type, layout.localShape(shape)));
    forEachHeld(
        layout, shape, group[0], [&](ArrayRef<int64_t> index, int64_t to) {
          int64_t from = 0;
          for (auto [position, stride] : llvm::zip(index, strides))
            from += position * stride;
          Scalar value = whole.get(from);
          size_t count = group.size();
          size_t owner = mix(seed ^ from) % count;
          for (size_t i = 0; i < count; ++i) {
            if (i == owner)
              continue;
            Scalar other = share(mix(seed + from * 31 + i), partial.kind);
            switch (partial.kind) {
            case ReductionKind::Sum:
            case ReductionKind::Avg:
              value.real -= other.real;
              value.integer -= other.integer;
              break;
            case ReductionKind::Product:
              value.real /= other.real;
              break;
            case ReductionKind::Max:
              other = {whole.get(from).real - other.real,
                       whole.get(from).integer - other.integer};
              break;
            case ReductionKind::Min:
              other = {whole.get(from).real + other.real,
                       whole.get(from).integer + other.integer};
              break;
            }
            buffers[i].set(to, other);
          }
          // The others' numbers were taken off `value`; an average adds up to
          // `count` times it.
          if (partial.kind == ReductionKind::Avg) {
            value.real += whole.get(from).real * (count - 1);
            value.integer +=
                whole.get(from).integer * static_cast<int64_t>(count - 1);
          }
          buffers[owner].set(to, value);
        });
    for (auto [rank, buffer] : llvm::zip(group, buffers))
      parts[rank] = buffer;
  }
  return parts;
}
