//===- RedistributionPathTest.cpp -----------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every path is executed on the buffers of all ranks, block by block as ranks
// exchange them, with NaN in all padding. After every step each rank must hold
// what the step's layout says.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/RedistributionPath.h"
#include "tp/Support/ShardBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

using namespace tp;

namespace {
using Shape = std::vector<int64_t>;

int64_t product(llvm::ArrayRef<int64_t> sizes) {
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

  Buffer composed(int64_t dim, llvm::ArrayRef<Stretch> stretches,
                  int64_t size) const {
    Buffer result = resized(dim, size);
    int64_t at = 0;
    for (const Stretch &stretch : stretches) {
      if (stretch.offset >= 0)
        result.copy(dim, at, *this, stretch.offset, stretch.size);
      at += stretch.size;
    }
    EXPECT_EQ(at, size);
    return result;
  }
};

double combine(ReductionKind kind, double a, double b) {
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return a + b;
  case ReductionKind::Product:
    return a * b;
  case ReductionKind::Max:
    return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
  case ReductionKind::Min:
    return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
  }
  return 0;
}

double identity(ReductionKind kind) {
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

double combined(ReductionKind kind, llvm::ArrayRef<double> numbers) {
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

std::string describe(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                     const Layout &from, const Layout &to) {
  std::string text = "shape";
  for (int64_t size : shape)
    text += " " + std::to_string(size);
  return text + ": " + from.toString(mesh) + " to " + to.toString(mesh);
}

/// Executes the path and says what is wrong with it, if anything is.
std::string wrongWith(const Mesh &mesh, const Shape &shape, const Layout &from,
                      const Layout &to) {
  std::vector<LayoutStep> path = redistributionPath(mesh, shape, from, to);
  if (path.empty())
    return from == to ? "" : "no path";
  Ranks ranks(mesh, shape);
  ranks.distribute(from);
  Layout current = from;
  for (const LayoutStep &step : path) {
    if (std::string broken = step.result.verify(mesh, shape); !broken.empty())
      return broken;
    std::optional<Layout> after = step.kind == StepKind::Permute
                                      ? step.result
                                      : layoutAfter(mesh, shape, current, step);
    if (!after || !holdsSame(mesh, shape, *after, step.result))
      return "illegal step to " + step.result.toString(mesh);
    std::vector<int64_t> sources = step.sources;
    llvm::sort(sources);
    for (auto [position, source] : llvm::enumerate(sources))
      if (source != static_cast<int64_t>(position))
        return "a rank sends twice";
    ranks.execute(current, step);
    if (!ranks.hold(step.result))
      return "wrong numbers in " + step.result.toString(mesh);
    current = step.result;
  }
  return current == to ? "" : "ends at " + current.toString(mesh);
}

/// All layouts of a tensor of `shape` over `parts` with `placements`, in all
/// nest orders.
std::vector<Layout> layoutsOver(const Mesh &mesh, const Shape &shape,
                                std::vector<AxisPart> parts,
                                llvm::ArrayRef<Placement> placements) {
  std::vector<Layout> layouts;
  std::set<std::string> seen;
  std::vector<size_t> choice(parts.size(), 0);
  while (true) {
    std::vector<size_t> order(parts.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    do {
      Layout layout;
      for (size_t i : order)
        layout.entries.push_back({parts[i], placements[choice[i]]});
      layout.canonicalize();
      if (layout.verify(mesh, shape).empty() &&
          seen.insert(layout.toString(mesh)).second)
        layouts.push_back(layout);
    } while (std::next_permutation(order.begin(), order.end()));
    size_t i = 0;
    while (i < choice.size() && ++choice[i] == placements.size())
      choice[i++] = 0;
    if (i == choice.size())
      return layouts;
  }
}

struct Case {
  Mesh mesh;
  /// Ways to cut the axes.
  std::vector<std::vector<AxisPart>> parts;
  std::vector<Placement> placements;
  std::vector<Shape> shapes;
};

/// Every pair of layouts, `stride` apart.
void checkAllPairs(const Case &test, int64_t stride = 1) {
  int64_t pairs = 0;
  for (const Shape &shape : test.shapes) {
    std::vector<Layout> layouts;
    for (const std::vector<AxisPart> &parts : test.parts)
      llvm::append_range(layouts,
                         layoutsOver(test.mesh, shape, parts, test.placements));
    for (const Layout &from : layouts)
      for (const Layout &to : layouts) {
        if (++pairs % stride)
          continue;
        std::string wrong = wrongWith(test.mesh, shape, from, to);
        ASSERT_EQ(wrong, "") << describe(test.mesh, shape, from, to);
      }
  }
}

Placement sum() { return Placement::partial(ReductionKind::Sum); }
Placement avg() { return Placement::partial(ReductionKind::Avg); }
Placement max() { return Placement::partial(ReductionKind::Max); }
Placement times() { return Placement::partial(ReductionKind::Product); }
Placement min() { return Placement::partial(ReductionKind::Min); }

std::vector<AxisPart> wholeAxes(const Mesh &mesh) {
  std::vector<AxisPart> parts;
  for (unsigned i = 0; i < mesh.axes.size(); ++i)
    parts.push_back(mesh.wholeAxis(i));
  return parts;
}

Mesh meshOf(llvm::ArrayRef<int64_t> sizes) {
  Mesh mesh;
  for (auto [i, size] : llvm::enumerate(sizes))
    mesh.axes.push_back({std::string(1, "abcd"[i]), size});
  return mesh;
}

std::vector<Placement> onDims(int64_t rank, std::vector<Placement> others) {
  others.push_back(Placement::replicate());
  for (int64_t dim = 0; dim < rank; ++dim)
    others.push_back(Placement::shard(dim));
  return others;
}
} // namespace

TEST(RedistributionPath, OneAxis) {
  for (int64_t n : {1, 2, 3, 4, 5}) {
    Mesh mesh = meshOf({n});
    checkAllPairs({mesh, {wholeAxes(mesh)}, onDims(0, {sum(), max()}), {{}}});
    for (int64_t size = 0; size <= 7; ++size) {
      std::vector<Placement> units =
          onDims(1, {sum(), avg(), max(), min(), times()});
      units.push_back(Placement::shard(0, 2));
      units.push_back(Placement::shard(0, 3));
      checkAllPairs({mesh, {wholeAxes(mesh)}, units, {{size}}});
      checkAllPairs({mesh,
                     {wholeAxes(mesh)},
                     onDims(3, {sum()}),
                     {{size, 3, 2}, {4, size, 5}, {1, 6, size}}});
    }
  }
}

TEST(RedistributionPath, Segments) {
  for (int64_t n : {2, 3, 4}) {
    Mesh mesh = meshOf({n});
    std::vector<Placement> placements = onDims(2, {sum()});
    for (int64_t unit : {1, 2}) {
      placements.push_back(Placement::shard(0, unit, {2, 5}));
      placements.push_back(Placement::shard(0, unit, {3, 1, 3}));
      placements.push_back(Placement::shard(0, unit, {7}));
    }
    checkAllPairs({mesh, {wholeAxes(mesh)}, placements, {{7, 3}, {7, 4}}});
  }
  Mesh grid = meshOf({2, 3});
  std::vector<Placement> placements = onDims(2, {sum()});
  placements.push_back(Placement::shard(0, 1, {4, 4, 4}));
  placements.push_back(Placement::shard(0, 2, {4, 4, 4}));
  placements.push_back(Placement::shard(0, 1, {7, 5}));
  checkAllPairs({grid, {wholeAxes(grid)}, placements, {{12, 3}, {12, 6}}});
}

TEST(RedistributionPath, TwoAxes) {
  for (const Mesh &mesh : {meshOf({2, 2}), meshOf({2, 3}), meshOf({3, 1})}) {
    for (int64_t size = 0; size <= 7; ++size) {
      std::vector<Placement> units = onDims(1, {sum(), max()});
      units.push_back(Placement::shard(0, 2));
      checkAllPairs({mesh, {wholeAxes(mesh)}, units, {{size}}});
      checkAllPairs({mesh,
                     {wholeAxes(mesh)},
                     onDims(2, {sum(), avg()}),
                     {{size, 4}, {5, size}}});
    }
  }
}

TEST(RedistributionPath, DeviceOrder) {
  Mesh mesh = meshOf({2, 3});
  mesh.deviceOrder = {3, 0, 5, 1, 4, 2};
  checkAllPairs(
      {mesh, {wholeAxes(mesh)}, onDims(2, {sum()}), {{6, 6}, {5, 4}}});
}

TEST(RedistributionPath, KindsThatDiffer) {
  Mesh mesh = meshOf({2, 2});
  checkAllPairs({mesh,
                 {wholeAxes(mesh)},
                 onDims(1, {sum(), avg(), max(), min(), times()}),
                 {{3}, {4}}});
  Mesh cube = meshOf({2, 2, 2});
  checkAllPairs(
      {cube, {wholeAxes(cube)}, onDims(1, {sum(), max(), times()}), {{5}}}, 7);
}

TEST(RedistributionPath, PartsOfAnAxis) {
  Mesh four = meshOf({4});
  std::vector<std::vector<AxisPart>> halves = {wholeAxes(four),
                                               {{0, 1, 2}, {0, 2, 2}}};
  for (int64_t size = 0; size <= 9; ++size)
    checkAllPairs({four, halves, onDims(2, {sum(), max()}), {{size, 4}}});
  Mesh six = meshOf({6});
  std::vector<std::vector<AxisPart>> parts = {
      wholeAxes(six), {{0, 1, 2}, {0, 2, 3}}, {{0, 1, 3}, {0, 3, 2}}};
  std::vector<Placement> units = onDims(2, {sum()});
  units.push_back(Placement::shard(0, 2));
  for (int64_t size : {0, 1, 4, 5, 6, 7, 12})
    checkAllPairs({six, parts, units, {{size, 6}}});
  Mesh eight = meshOf({8});
  checkAllPairs({eight,
                 {wholeAxes(eight),
                  {{0, 1, 2}, {0, 2, 4}},
                  {{0, 1, 4}, {0, 4, 2}},
                  {{0, 1, 2}, {0, 2, 2}, {0, 4, 2}}},
                 onDims(1, {sum()}),
                 {{5}, {8}, {12}}});
  Mesh grid = meshOf({2, 4});
  checkAllPairs({grid,
                 {wholeAxes(grid), {{0, 1, 2}, {1, 1, 2}, {1, 2, 2}}},
                 onDims(2, {sum()}),
                 {{5, 3}, {8, 4}}},
                5);
}

TEST(RedistributionPath, ThreeAxes) {
  Mesh cube = meshOf({2, 2, 2});
  for (int64_t size : {1, 4, 5, 7, 8})
    checkAllPairs({cube, {wholeAxes(cube)}, onDims(1, {sum()}), {{size}}});
  checkAllPairs({cube, {wholeAxes(cube)}, onDims(2, {sum()}), {{8, 3}, {5, 4}}},
                13);
}

TEST(RedistributionPath, FourAxes) {
  Mesh mesh = meshOf({2, 2, 2, 2});
  checkAllPairs({mesh, {wholeAxes(mesh)}, onDims(2, {sum()}), {{13, 6}}}, 997);
}

//===----------------------------------------------------------------------===//
// Which steps
//===----------------------------------------------------------------------===//

namespace {
std::string stepsOf(const Mesh &mesh, const Shape &shape,
                    std::vector<Placement> from, std::vector<Placement> to) {
  std::string text;
  for (const LayoutStep &step :
       redistributionPath(mesh, shape, Layout::onWholeAxes(mesh, from),
                          Layout::onWholeAxes(mesh, to))) {
    static const char *const names[] = {
        "reinterpret",    "local_slice", "local_partial", "all_reduce",
        "reduce_scatter", "all_gather",  "all_to_all",    "permute"};
    text += (text.empty() ? "" : ", ") +
            std::string(names[static_cast<int>(step.kind)]);
    for (AxisPart part : step.parts)
      text += " " + mesh.axes[part.axis].name;
  }
  return text;
}
} // namespace

TEST(RedistributionPath, TakesDirectForms) {
  Mesh mesh = meshOf({2, 2});
  Placement r, s0 = Placement::shard(0), s1 = Placement::shard(1);
  for (int64_t size : {4, 5}) {
    Shape shape{size, 7};
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), sum()}, {r, r}), "all_reduce a b");
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), sum()}, {s0, s0}),
              "reduce_scatter a b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, sum()}, {s0, r}), "all_reduce b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, s0}, {r, r}), "all_gather a b");
    EXPECT_EQ(stepsOf(mesh, shape, {r, r}, {s1, s1}), "local_slice a b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, s0}, {s1, s1}), "all_to_all a b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, s0}, {s0, s1}), "all_to_all b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, r}, {r, s1}),
              "local_slice b, all_gather a");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, s1}, {s1, s1}),
              "all_gather b, all_to_all a, local_slice b");
    EXPECT_EQ(stepsOf(mesh, shape, {r, r}, {sum(), sum()}),
              "local_partial a b");
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), max()}, {r, r}),
              "all_reduce b, all_reduce a");
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), max()}, {sum(), r}), "all_reduce b");
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), max()}, {r, max()}),
              "all_reduce b, all_reduce a, local_partial b");
  }
}

TEST(RedistributionPath, AnotherOrderOfTheAxes) {
  Mesh mesh = meshOf({2, 2});
  Layout ab =
      Layout::onWholeAxes(mesh, {Placement::shard(0), Placement::shard(0)});
  Layout ba = ab;
  std::swap(ba.entries[0], ba.entries[1]);
  std::vector<LayoutStep> path = redistributionPath(mesh, {8}, ab, ba);
  ASSERT_EQ(path.size(), 1u);
  EXPECT_EQ(path[0].kind, StepKind::Permute);
  EXPECT_EQ(path[0].sources, (std::vector<int64_t>{0, 2, 1, 3}));
  // The same exchange between two dimensions, and to another axis.
  Placement r, s0 = Placement::shard(0), s1 = Placement::shard(1);
  EXPECT_EQ(stepsOf(mesh, {8, 5}, {s0, s1}, {s1, s0}), "permute a b");
  EXPECT_EQ(stepsOf(mesh, {5}, {s0, r}, {r, s0}), "permute a b");
  EXPECT_EQ(stepsOf(meshOf({2, 3}), {6, 6}, {s0, s1}, {s1, s0}),
            "all_gather a, all_to_all b, local_slice a");
}

TEST(RedistributionPath, UnitsThatChangeNothing) {
  Mesh mesh = meshOf({2});
  EXPECT_EQ(stepsOf(mesh, {8}, {Placement::shard(0)}, {Placement::shard(0, 4)}),
            "reinterpret");
  EXPECT_EQ(stepsOf(mesh, {6}, {Placement::shard(0)}, {Placement::shard(0, 4)}),
            "all_gather a, local_slice a");
}
