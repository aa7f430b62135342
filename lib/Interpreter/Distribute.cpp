//===- Distribute.cpp - a global value and its parts ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Distribute.h"
#include "tp/Interpreter/Identity.h"
#include "tp/Sharding/LayoutChange.h"

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
    ReductionKind kind = entry.placement.reduction;
    if (result.levels.empty() || result.levels.back().kind != kind)
      result.levels.push_back({kind, 1});
    result.levels.back().size *= entry.part.size;
    result.parts.push_back(entry.part);
  }
  return result;
}

Scalar PartialParts::combine(ArrayRef<Scalar> numbers, Type type) const {
  SmallVector<Scalar> rest(numbers);
  for (const Level &level : llvm::reverse(levels)) {
    SmallVector<Scalar> next;
    for (size_t i = 0; i < rest.size(); i += level.size) {
      Scalar value = rest[i];
      for (int64_t k = 1; k < level.size; ++k)
        value = simulator::combine(level.kind, value, rest[i + k], type);
      next.push_back(finishAverage(level.kind, value, level.size, type));
    }
    rest = std::move(next);
  }
  return rest.front();
}

std::string PartialParts::kindsText() const {
  std::string text;
  for (const Level &level : levels)
    text += (text.empty() ? "" : " of ") + toString(level.kind).str();
  return text;
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

/// The kind whose identity `rank` holds: that of the first part to combine in
/// which it is not the first; none where it holds the value.
static std::optional<ReductionKind>
identityHeld(const Mesh &mesh, const Layout &layout, int64_t rank) {
  for (const AxisPlacement &entry : llvm::reverse(layout.entries))
    if (entry.placement.isPartial() &&
        !combinesCopies(entry.placement.reduction) &&
        mesh.coordinate(rank, entry.part) != 0)
      return entry.placement.reduction;
  return std::nullopt;
}

TensorData simulator::distribute(const TensorData &whole, LayoutAttr layout,
                                 int64_t rank) {
  const Mesh &mesh = layout.getMesh().getValue();
  SmallVector<int64_t> shape(whole.shape());
  Type type = whole.elementType();
  if (std::optional<ReductionKind> kind =
          identityHeld(mesh, layout.getValue(), rank))
    return TensorData::splat(type, layout.localShape(shape),
                             identityOf(*kind, type));
  if (whole.isSplat() && whole.isAllDefined() &&
      !layout.getValue().isUneven(shape))
    return whole.reshaped(layout.localShape(shape));
  SmallVector<int64_t> strides = whole.strides();
  TensorData part = TensorData::poison(type, layout.localShape(shape));
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

/// Appends numbers that combine to `value` over `levels`.
static void scatter(ArrayRef<PartialParts::Level> levels, Scalar value,
                    uint64_t seed, SmallVectorImpl<Scalar> &numbers) {
  if (levels.empty()) {
    numbers.push_back(value);
    return;
  }
  auto [kind, count] = levels.front();
  int64_t owner = mix(seed) % count;
  SmallVector<Scalar> shares(count);
  Scalar rest = value;
  // An average adds up to `count` times the value.
  if (kind == ReductionKind::Avg)
    rest = {value.real * count, value.integer * count};
  for (int64_t i = 0; i < count; ++i) {
    if (i == owner)
      continue;
    Scalar other = share(mix(seed + 31 * i + 1), kind);
    switch (kind) {
    case ReductionKind::Sum:
    case ReductionKind::Avg:
      rest.real -= other.real;
      rest.integer -= other.integer;
      break;
    case ReductionKind::Product:
      rest.real /= other.real;
      break;
    case ReductionKind::Max:
      other = {value.real - other.real, value.integer - other.integer};
      break;
    case ReductionKind::Min:
      other = {value.real + other.real, value.integer + other.integer};
      break;
    }
    shares[i] = other;
  }
  shares[owner] = rest;
  for (auto [i, number] : llvm::enumerate(shares))
    scatter(levels.drop_front(), number, mix(seed + i), numbers);
}

std::vector<TensorData> simulator::distributeAtRandom(const TensorData &whole,
                                                      LayoutAttr layout,
                                                      uint64_t seed) {
  const Mesh &mesh = layout.getMesh().getValue();
  PartialParts partial = partialParts(layout.getValue());
  Type type = whole.elementType();
  SmallVector<int64_t> shape(whole.shape());
  SmallVector<int64_t> strides = whole.strides();
  std::vector<TensorData> parts;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    parts.push_back(distribute(whole, layout, rank));
  // i1 has too few numbers to differ.
  if (partial.parts.empty() || type.isInteger(1))
    return parts;
  for (const std::vector<int64_t> &group : mesh.groups(partial.parts)) {
    for (int64_t rank : group)
      parts[rank] = TensorData::poison(type, layout.localShape(shape));
    forEachHeld(layout, shape, group[0],
                [&](ArrayRef<int64_t> index, int64_t to) {
                  int64_t from = 0;
                  for (auto [position, stride] : llvm::zip(index, strides))
                    from += position * stride;
                  SmallVector<Scalar> numbers;
                  scatter(partial.levels, whole.get(from),
                          mix(seed + from * 31), numbers);
                  for (auto [rank, number] : llvm::zip_equal(group, numbers))
                    parts[rank].set(to, number);
                });
  }
  return parts;
}
