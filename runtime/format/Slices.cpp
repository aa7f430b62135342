//===- Slices.cpp - between global arrays and a rank's buffer -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Slices.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;

namespace {

struct Dimension {
  int64_t size, source, target; // strides in bytes
};

/// Outer dimensions by descending target stride; sizes of 1 dropped, and
/// neighbours that are contiguous in both merged.
std::vector<Dimension> simplify(std::vector<Dimension> dimensions) {
  std::erase_if(dimensions, [](const Dimension &d) { return d.size == 1; });
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension &a, const Dimension &b) {
              return std::pair(a.target, a.source) >
                     std::pair(b.target, b.source);
            });
  std::vector<Dimension> merged;
  for (const Dimension &d : dimensions) {
    if (!merged.empty() && merged.back().source == d.size * d.source &&
        merged.back().target == d.size * d.target)
      merged.back() = {merged.back().size * d.size, d.source, d.target};
    else
      merged.push_back(d);
  }
  return merged;
}

/// Visits all places of the dimensions, as offsets in bytes.
template <typename Visit>
void forEachOffset(const std::vector<Dimension> &dimensions, Visit visit) {
  std::vector<int64_t> index(dimensions.size());
  for (;;) {
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      from += index[d] * dimensions[d].source;
      to += index[d] * dimensions[d].target;
    }
    visit(from, to);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == dimensions[d - 1].size)
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

template <int64_t Bytes>
void copyTile(const Dimension &outer, const Dimension &inner,
              int64_t elementBytes, const char *source, char *target) {
  // Both sides of a tile fit the first-level cache, even where strides are
  // large powers of two and its lines compete.
  constexpr int64_t tile = 16;
  int64_t bytes = Bytes ? Bytes : elementBytes;
  for (int64_t i0 = 0; i0 < outer.size; i0 += tile)
    for (int64_t j0 = 0; j0 < inner.size; j0 += tile)
      for (int64_t i = i0, ie = std::min(i0 + tile, outer.size); i < ie; ++i)
        for (int64_t j = j0, je = std::min(j0 + tile, inner.size); j < je; ++j)
          std::memcpy(target + i * outer.target + j * inner.target,
                      source + i * outer.source + j * inner.source, bytes);
}

void copyInner(const Dimension &outer, const Dimension &inner,
               int64_t elementBytes, const char *source, char *target) {
  if (inner.source == elementBytes && inner.target == elementBytes) {
    for (int64_t i = 0; i < outer.size; ++i)
      std::memcpy(target + i * outer.target, source + i * outer.source,
                  inner.size * elementBytes);
    return;
  }
  switch (elementBytes) {
  case 4:
    return copyTile<4>(outer, inner, 4, source, target);
  case 2:
    return copyTile<2>(outer, inner, 2, source, target);
  default:
    return copyTile<0>(outer, inner, elementBytes, source, target);
  }
}

/// Calls copy(outer, inner, source, target) for each plane of the two
/// dimensions that matter: the target's innermost and the source's.
void copyDimensions(std::vector<Dimension> dimensions, int64_t elementBytes,
                    const char *source, char *target) {
  Dimension inner = {1, elementBytes, elementBytes};
  Dimension outer = {1, 0, 0};
  if (!dimensions.empty()) {
    inner = dimensions.back();
    dimensions.pop_back();
  }
  if (!dimensions.empty()) {
    auto closest = std::min_element(dimensions.begin(), dimensions.end(),
                                    [](const Dimension &a, const Dimension &b) {
                                      return a.source < b.source;
                                    });
    outer = *closest;
    dimensions.erase(closest);
  }
  forEachOffset(dimensions, [&](int64_t from, int64_t to) {
    copyInner(outer, inner, elementBytes, source + from, target + to);
  });
}

/// An array without elements may have no memory to point into.
bool isEmpty(const Box &box) {
  return std::find(box.size.begin(), box.size.end(), 0) != box.size.end();
}

int64_t dot(const std::vector<int64_t> &a, const std::vector<int64_t> &b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

} // namespace

/// Simplified; nothing of an array without elements.
static std::optional<std::vector<Dimension>>
dimensionsOf(const std::vector<int64_t> &sizes, int64_t elementBytes,
             const std::vector<int64_t> &sourceStrides,
             const std::vector<int64_t> &targetStrides) {
  std::vector<Dimension> dimensions;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0)
      return std::nullopt;
    dimensions.push_back({sizes[i], sourceStrides[i] * elementBytes,
                          targetStrides[i] * elementBytes});
  }
  return simplify(std::move(dimensions));
}

void tp::runtime::copyStrided(const std::vector<int64_t> &sizes,
                              int64_t elementBytes, const void *source,
                              const std::vector<int64_t> &sourceStrides,
                              void *target,
                              const std::vector<int64_t> &targetStrides) {
  if (auto dimensions =
          dimensionsOf(sizes, elementBytes, sourceStrides, targetStrides))
    copyDimensions(std::move(*dimensions), elementBytes,
                   static_cast<const char *>(source),
                   static_cast<char *>(target));
}

void tp::runtime::forEachRows(
    const std::vector<int64_t> &sizes, int64_t elementBytes,
    const std::vector<int64_t> &sourceStrides,
    const std::vector<int64_t> &targetStrides,
    const std::function<void(const StridedRows &)> &visit) {
  auto found = dimensionsOf(sizes, elementBytes, sourceStrides, targetStrides);
  if (!found)
    return;
  std::vector<Dimension> &dimensions = *found;
  StridedRows rows;
  rows.bytes = elementBytes;
  if (!dimensions.empty() && dimensions.back().source == elementBytes &&
      dimensions.back().target == elementBytes) {
    rows.bytes *= dimensions.back().size;
    dimensions.pop_back();
  }
  if (!dimensions.empty()) {
    const Dimension &last = dimensions.back();
    // What drivers take as a pitch.
    auto isPitch = [&](int64_t pitch) {
      return pitch >= rows.bytes && pitch <= INT32_MAX;
    };
    if (isPitch(last.source) && isPitch(last.target)) {
      rows.count = last.size;
      rows.sourcePitch = last.source;
      rows.targetPitch = last.target;
      dimensions.pop_back();
    }
  }
  forEachOffset(dimensions, [&](int64_t from, int64_t to) {
    rows.source = from;
    rows.target = to;
    visit(rows);
  });
}

void tp::runtime::scatter(const RankSlice &slice, const void *global,
                          const std::vector<int64_t> &globalStrides,
                          void *buffer) {
  scatter(slice, global, globalStrides, buffer, slice.localStrides());
}

void tp::runtime::scatter(const RankSlice &slice, const void *global,
                          const std::vector<int64_t> &globalStrides,
                          void *local,
                          const std::vector<int64_t> &localStrides) {
  int64_t bytes = byteSize(slice.dtype);
  // One element that is read again and again.
  std::vector<int64_t> sourceStrides =
      slice.identity ? std::vector<int64_t>(globalStrides.size())
                     : globalStrides;
  const char *source = slice.identity ? slice.identity->data()
                                      : static_cast<const char *>(global);
  for (const Box &box : slice.boxes)
    if (!isEmpty(box))
      copyStrided(
          box.size, bytes, source + dot(box.global, sourceStrides) * bytes,
          sourceStrides,
          static_cast<char *>(local) + dot(box.local, localStrides) * bytes,
          localStrides);
}

RankSlice tp::runtime::sliceWithin(const RankSlice &slice,
                                   const std::vector<int64_t> &offset,
                                   const std::vector<int64_t> &shape) {
  RankSlice within = slice;
  within.shape = shape;
  for (Box &box : within.boxes)
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t begin = std::max(box.global[d], offset[d]);
      int64_t end = std::min(box.global[d] + box.size[d], offset[d] + shape[d]);
      box.local[d] += begin - box.global[d];
      box.global[d] = begin - offset[d];
      box.size[d] = std::max<int64_t>(end - begin, 0);
    }
  return within;
}

ReducedBuffer::ReducedBuffer(const Port &port,
                             const std::vector<const char *> &buffers)
    : alone(buffers.front()) {
  std::optional<Reduction> reduction = partialReduction(port.layout);
  int64_t bytes = port.localBytes();
  if (!reduction || buffers.size() == 1 || bytes == 0)
    return;
  reduced.resize(size_t(bytes));
  reduce(port.dtype, *reduction, buffers.data(), int64_t(buffers.size()),
         /*byteOffset=*/0, bytes / byteSize(port.dtype), reduced.data());
}

void tp::runtime::assemble(const RankSlice &slice, const void *buffer,
                           void *global,
                           const std::vector<int64_t> &globalStrides) {
  int64_t bytes = byteSize(slice.dtype);
  std::vector<int64_t> strides = slice.localStrides();
  for (const Box &box : slice.boxes)
    if (!isEmpty(box))
      copyStrided(
          box.size, bytes,
          static_cast<const char *>(buffer) + dot(box.local, strides) * bytes,
          strides,
          static_cast<char *>(global) + dot(box.global, globalStrides) * bytes,
          globalStrides);
}

std::vector<uint8_t> tp::runtime::paddingMask(const RankSlice &slice) {
  int64_t elements = elementCount(slice.localShape).value_or(0);
  // The usual case, and it needs no memory: one box is the whole buffer.
  for (const Box &box : slice.boxes)
    if (box.size == slice.localShape)
      return {};
  std::vector<uint8_t> mask(elements, 1);
  forEachValid(slice, [&](int64_t, int64_t local) { mask[local] = 0; });
  if (std::find(mask.begin(), mask.end(), 1) == mask.end())
    mask.clear();
  return mask;
}
