//===- RankBuffers.h - steps on the buffers of all ranks --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps executed on the buffers of all ranks, block by block as ranks exchange
// them, with NaN in all padding.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_SHARDING_RANKBUFFERS_H
#define TP_TEST_UNIT_SHARDING_RANKBUFFERS_H

#include "tp/Sharding/LayoutChange.h"
#include "tp/Sharding/ShardBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tp::test {
using Shape = std::vector<int64_t>;

inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

struct Buffer {
  Shape shape;
  std::vector<double> numbers;

  explicit Buffer(Shape sizes)
      : shape(std::move(sizes)),
        numbers(product(shape), std::numeric_limits<double>::quiet_NaN()) {}

  /// Copies `size` slices of dimension `dim` from `other`.
  void copy(int64_t dim, int64_t to, const Buffer &other, int64_t from,
            int64_t size) {
    int64_t inner = product(llvm::ArrayRef(shape).drop_front(dim + 1));
    int64_t outer = product(llvm::ArrayRef(shape).take_front(dim));
    for (int64_t i = 0; i < outer; ++i)
      std::copy_n(other.numbers.begin() + (i * other.shape[dim] + from) * inner,
                  size * inner,
                  numbers.begin() + (i * shape[dim] + to) * inner);
  }

  Buffer resized(int64_t dim, int64_t size) const {
    Shape sizes = shape;
    sizes[dim] = size;
    return Buffer(sizes);
  }

  Buffer slice(int64_t dim, int64_t from, int64_t size) const {
    Buffer result = resized(dim, size);
    result.copy(dim, 0, *this, from, size);
    return result;
  }

  Buffer composed(int64_t dim, llvm::ArrayRef<CopyRun> stretches,
                  int64_t size) const {
    Buffer result = resized(dim, size);
    int64_t at = 0;
    for (const CopyRun &stretch : stretches) {
      if (stretch.offset >= 0)
        result.copy(dim, at, *this, stretch.offset, stretch.size);
      at += stretch.size;
    }
    EXPECT_EQ(at, size);
    return result;
  }
};

inline double combine(ReductionKind kind, double a, double b) {
  if (kind == ReductionKind::Product)
    return a * b;
  bool isMax = kind == ReductionKind::Max, isMin = kind == ReductionKind::Min;
  if (std::isnan(a) || std::isnan(b) || !(isMax || isMin))
    return a + b;
  return isMax ? std::max(a, b) : std::min(a, b);
}

inline double identity(ReductionKind kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
  case ReductionKind::Product:
    return 1;
  case ReductionKind::Max:
    return -infinity;
  case ReductionKind::Min:
    return infinity;
  default:
    return 0;
  }
}

inline double combined(ReductionKind kind, llvm::ArrayRef<double> numbers) {
  double result = numbers.front();
  for (double number : numbers.drop_front())
    result = combine(kind, result, number);
  return kind == ReductionKind::Avg ? result / numbers.size() : result;
}

/// The buffers of all ranks.
class Ranks {
public:
  Ranks(const Mesh &mesh, Shape shape) : mesh(mesh), shape(std::move(shape)) {}

  void distribute(const Layout &layout) {
    buffers.clear();
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      buffers.emplace_back(layout.localShape(shape));
    std::vector<AxisPlacement> partial = partialEntries(layout);
    forEachHeld(layout, partial,
                [&](int64_t rank, int64_t offset, int64_t element) {
                  scatter(partial, rank, offset, truth(element), element);
                });
  }

  /// True if every rank holds what `layout` says.
  bool hold(const Layout &layout) {
    std::vector<AxisPlacement> partial = partialEntries(layout);
    for (const Buffer &buffer : buffers)
      if (buffer.shape != layout.localShape(shape))
        return false;
    bool holds = true;
    forEachHeld(layout, partial,
                [&](int64_t rank, int64_t offset, int64_t element) {
                  double found = gathered(partial, rank, offset);
                  holds &= std::abs(found - truth(element)) < 1e-9;
                });
    return holds;
  }

  void execute(const Layout &from, const LayoutStep &step) {
    std::vector<Buffer> results = buffers;
    for (const std::vector<int64_t> &group : mesh.groups(step.parts))
      for (auto [position, rank] : llvm::enumerate(group))
        results[rank] = resultOf(from, step, group, position);
    buffers = std::move(results);
  }

private:
  static double truth(int64_t element) { return 3 * element + 1; }

  static std::vector<AxisPlacement> partialEntries(const Layout &layout) {
    std::vector<AxisPlacement> partial;
    for (const AxisPlacement &entry : layout.entries)
      if (entry.placement.isPartial())
        partial.push_back(entry);
    return partial;
  }

  int64_t moved(int64_t rank, AxisPart part, int64_t coordinate) {
    std::vector<int64_t> coordinates = mesh.coordinates(rank);
    int64_t minor = mesh.axes[part.axis].size / (part.major * part.size);
    coordinates[part.axis] +=
        (coordinate - mesh.coordinate(rank, part)) * minor;
    return mesh.rankAt(coordinates);
  }

  /// Calls `function(rank, offset in its buffer, element)` for the ranks that
  /// come first along all of `partial`.
  template <typename Function>
  void forEachHeld(const Layout &layout, llvm::ArrayRef<AxisPlacement> partial,
                   Function function) {
    Shape local = layout.localShape(shape);
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      if (llvm::any_of(partial, [&](const AxisPlacement &entry) {
            return mesh.coordinate(rank, entry.part) != 0;
          }))
        continue;
      for (const Box &box : layout.boxes(mesh, shape, rank))
        for (int64_t i = 0, e = product(box.sizes); i < e; ++i) {
          int64_t rest = i, offset = 0, element = 0;
          int64_t stride = 1, globalStride = 1;
          for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
            int64_t at = rest % box.sizes[dim];
            rest /= box.sizes[dim];
            offset += (box.localOffsets[dim] + at) * stride;
            element += (box.globalOffsets[dim] + at) * globalStride;
            stride *= local[dim];
            globalStride *= shape[dim];
          }
          function(rank, offset, element);
        }
    }
  }

  /// Puts numbers at `offset` that combine to `value`, the later of `partial`
  /// first.
  void scatter(llvm::ArrayRef<AxisPlacement> partial, int64_t rank,
               int64_t offset, double value, int64_t seed) {
    if (partial.empty()) {
      buffers[rank].numbers[offset] = value;
      return;
    }
    const AxisPlacement &entry = partial.front();
    int64_t size = entry.part.size, owner = seed % size;
    ReductionKind kind = entry.placement.reduction;
    double rest = kind == ReductionKind::Avg ? value * size : value;
    std::vector<double> numbers(size);
    for (int64_t i = 0; i < size; ++i) {
      if (i == owner)
        continue;
      double share = (seed + 5 * i) % 7 + 1;
      switch (kind) {
      case ReductionKind::Sum:
      case ReductionKind::Avg:
        rest -= numbers[i] = share - 4;
        break;
      case ReductionKind::Product:
        rest /= numbers[i] = i % 2 ? 2 : -0.5;
        break;
      case ReductionKind::Max:
        numbers[i] = value - share;
        break;
      case ReductionKind::Min:
        numbers[i] = value + share;
        break;
      }
    }
    numbers[owner] = rest;
    for (int64_t i = 0; i < size; ++i)
      scatter(partial.drop_front(), moved(rank, entry.part, i), offset,
              numbers[i], seed + 3 * i + 1);
  }

  double gathered(llvm::ArrayRef<AxisPlacement> partial, int64_t rank,
                  int64_t offset) {
    if (partial.empty())
      return buffers[rank].numbers[offset];
    std::vector<double> numbers;
    for (int64_t i = 0; i < partial.front().part.size; ++i)
      numbers.push_back(gathered(partial.drop_front(),
                                 moved(rank, partial.front().part, i), offset));
    return combined(partial.front().placement.reduction, numbers);
  }

  Buffer reduced(ReductionKind kind, llvm::ArrayRef<int64_t> group) {
    Buffer result = buffers[group.front()];
    for (size_t i = 0; i < result.numbers.size(); ++i) {
      std::vector<double> numbers;
      for (int64_t rank : group)
        numbers.push_back(buffers[rank].numbers[i]);
      result.numbers[i] = combined(kind, numbers);
    }
    return result;
  }

  Buffer resultOf(const Layout &from, const LayoutStep &step,
                  llvm::ArrayRef<int64_t> group, int64_t position) {
    const Buffer &own = buffers[group[position]];
    auto blocksOf = [&](const Layout &layout, int64_t dim) {
      return shardBlocks(mesh, shape, layout, dim, step.parts);
    };
    auto inBlocks = [&](const Buffer &buffer, const ShardBlocks &blocks) {
      return buffer.composed(step.dim, blocksFromBuffer(blocks),
                             blocks.blockSize * blocks.count);
    };
    auto block = [&](const Buffer &buffer, const ShardBlocks &blocks) {
      return inBlocks(buffer, blocks)
          .slice(step.dim, position * blocks.blockSize, blocks.blockSize);
    };
    auto putTogether = [&](llvm::ArrayRef<Buffer> received, int64_t dim) {
      ShardBlocks blocks = blocksOf(from, dim);
      Buffer all = received[0].resized(dim, blocks.blockSize * blocks.count);
      for (auto [i, piece] : llvm::enumerate(received))
        all.copy(dim, i * blocks.blockSize, piece, 0, blocks.blockSize);
      return all.composed(dim, bufferFromBlocks(blocks), blocks.bufferSize);
    };
    switch (step.kind) {
    case StepKind::Reinterpret:
      return own;
    case StepKind::Permute:
      return buffers[group[step.sources[position]]];
    case StepKind::LocalSlice: {
      ShardBlocks blocks = blocksOf(step.result, step.dim);
      Buffer result = own.resized(step.dim, blocks.blockSize);
      for (const SegmentBlocks &segment : blocks.segments)
        result.copy(step.dim, segment.blockStart,
                    own.slice(step.dim, segment.bufferStart, segment.bufferSize)
                        .composed(step.dim, blocksFromSegment(segment),
                                  segment.blockSize * blocks.count),
                    position * segment.blockSize, segment.blockSize);
      return result;
    }
    case StepKind::LocalPartial: {
      Buffer result = own;
      if (position != 0 && step.reduction != ReductionKind::Avg)
        llvm::fill(result.numbers, identity(step.reduction));
      return result;
    }
    case StepKind::AllReduce:
      return reduced(step.reduction, group);
    case StepKind::ReduceScatter:
      return block(reduced(step.reduction, group),
                   blocksOf(step.result, step.dim));
    case StepKind::AllGather: {
      std::vector<Buffer> received;
      for (int64_t rank : group)
        received.push_back(buffers[rank]);
      return putTogether(received, step.dim);
    }
    case StepKind::AllToAll: {
      std::vector<Buffer> received;
      for (int64_t rank : group)
        received.push_back(
            block(buffers[rank], blocksOf(step.result, step.dim)));
      return putTogether(received, step.sourceDim);
    }
    }
    return own;
  }

  const Mesh &mesh;
  Shape shape;
  std::vector<Buffer> buffers;
};
} // namespace tp::test

#endif // TP_TEST_UNIT_SHARDING_RANKBUFFERS_H
