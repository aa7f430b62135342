//===- LocalParts.cpp - what ranks hold of a value ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalParts.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <functional>
#include <random>

using namespace mlir;
using namespace tp;
using simulator::Scalar;
using simulator::TensorData;

SmallVector<Placement> tp::placementsOf(RankedTensorType type) {
  SmallVector<Placement> placements = {Placement::replicate()};
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) > 1)
      placements.push_back(Placement::shard(dim));
  using enum ReductionKind;
  bool isBool = type.getElementType().isInteger(1);
  for (ReductionKind kind : {Sum, Avg, Product, Max, Min}) {
    // Of bits there is no sum, and an average of integers is cut.
    if (isBool && kind != Max && kind != Min)
      continue;
    if (kind == Avg && !isa<FloatType>(type.getElementType()))
      continue;
    placements.push_back(Placement::partial(kind));
  }
  return placements;
}

/// The first index that `rank` holds of `size` ones, and how many.
static std::pair<int64_t, int64_t> chunkOf(int64_t size, int64_t rank,
                                           int64_t ranks) {
  int64_t chunk = (size + ranks - 1) / ranks;
  int64_t begin = std::min(rank * chunk, size);
  return {begin, std::min(chunk, size - begin)};
}

RankedTensorType tp::localType(RankedTensorType type,
                               const Placement &placement, int64_t rank,
                               int64_t ranks) {
  if (!placement.isShard())
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[placement.dim] = chunkOf(shape[placement.dim], rank, ranks).second;
  return RankedTensorType::get(shape, type.getElementType());
}

namespace {
/// Random numbers that are the same on every host.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : engine(seed) {}
  /// Of 0 to `count` - 1.
  int64_t below(int64_t count) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
  }
  double sign() { return below(2) ? 1 : -1; }
  /// A quarter to four, or the negative of that; of 16 bits a half to two, so
  /// that products of many fit.
  double real(Type type) {
    int64_t quarters =
        type.getIntOrFloatBitWidth() > 16 ? 1 + below(16) : 2 + below(7);
    return sign() * static_cast<double>(quarters) / 4;
  }
  /// What a product may be divided by: of any bits, and now and then so large
  /// that fewer bits cannot hold it.
  double factor(Type type) {
    bool isWide = type.getIntOrFloatBitWidth() > 16;
    int64_t steps = isWide ? int64_t(1) << 20 : 64;
    double number =
        1 + static_cast<double>(below(steps)) / static_cast<double>(steps);
    return sign() * number * (isWide && below(8) == 0 ? 1 << 17 : 1);
  }
  /// Any integer of the type's width, so that what wraps is met.
  int64_t integer(Type type) {
    return simulator::wrapTo(static_cast<int64_t>(engine()), type);
  }

private:
  std::mt19937_64 engine;
};
} // namespace

TensorData tp::drawNumbers(RankedTensorType type, uint64_t seed) {
  RandomNumbers numbers(seed);
  TensorData array(type.getElementType(), type.getShape());
  Type element = type.getElementType();
  for (int64_t i = 0, e = array.numElements(); i < e; ++i)
    array.set(i, isa<FloatType>(element) ? Scalar{numbers.real(element), 0}
                                         : Scalar{0, numbers.integer(element)});
  return array;
}

/// Integers of 64 bits wrap too.
template <typename Operation>
static int64_t wrapped(Operation operation, Scalar a, Scalar b) {
  return static_cast<int64_t>(operation(static_cast<uint64_t>(a.integer),
                                        static_cast<uint64_t>(b.integer)));
}

/// One number of `type` in as many parts as there are of `parts`.
static void split(Scalar whole, Type type, ReductionKind kind,
                  RandomNumbers &numbers, MutableArrayRef<Scalar> parts) {
  int64_t ranks = parts.size(), keeper = numbers.below(ranks);
  bool isFloat = isa<FloatType>(type);
  Scalar rest = whole;
  if (kind == ReductionKind::Avg)
    rest.real *= static_cast<double>(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (rank == keeper)
      continue;
    Scalar &part = parts[rank];
    part = {};
    switch (kind) {
    case ReductionKind::Sum:
    case ReductionKind::Avg:
      if (isFloat) {
        part.real = numbers.real(type);
        rest.real -= part.real;
      } else {
        part.integer = numbers.integer(type);
        rest.integer =
            simulator::wrapTo(wrapped(std::minus<>(), rest, part), type);
      }
      break;
    case ReductionKind::Product:
      if (isFloat) {
        part.real = numbers.factor(type);
        rest.real /= part.real;
      } else {
        part.integer = static_cast<int64_t>(numbers.sign());
        rest.integer =
            simulator::wrapTo(wrapped(std::multiplies<>(), rest, part), type);
      }
      break;
    case ReductionKind::Max:
      if (isFloat)
        part.real = whole.real - static_cast<double>(numbers.below(16)) / 4;
      else
        part.integer = std::min(whole.integer, numbers.integer(type));
      break;
    case ReductionKind::Min:
      if (isFloat)
        part.real = whole.real + static_cast<double>(numbers.below(16)) / 4;
      else
        part.integer = std::max(whole.integer, numbers.integer(type));
      break;
    }
  }
  parts[keeper] = rest;
}

std::vector<TensorData> tp::partsOf(const TensorData &whole,
                                    const Placement &placement, int64_t ranks,
                                    uint64_t seed) {
  Type type = whole.elementType();
  if (placement.isReplicate())
    return std::vector<TensorData>(ranks, whole);
  std::vector<TensorData> parts;
  if (placement.isPartial()) {
    RandomNumbers numbers(seed);
    for (int64_t rank = 0; rank < ranks; ++rank)
      parts.emplace_back(type, whole.shape());
    std::vector<Scalar> split(ranks);
    for (int64_t i = 0, e = whole.numElements(); i < e; ++i) {
      ::split(whole.get(whole.isSplat() ? 0 : i), type, placement.reduction,
              numbers, split);
      for (int64_t rank = 0; rank < ranks; ++rank)
        parts[rank].set(i, split[rank]);
    }
    return parts;
  }
  auto wholeType = RankedTensorType::get(whole.shape(), type);
  SmallVector<int64_t> strides = simulator::rowMajorStrides(whole.shape());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    SmallVector<int64_t> shape(
        localType(wholeType, placement, rank, ranks).getShape());
    TensorData &part = parts.emplace_back(type, shape);
    int64_t first = chunkOf(whole.shape()[placement.dim], rank, ranks).first;
    SmallVector<int64_t> index(shape.size(), 0);
    for (int64_t i = 0, e = part.numElements(); i < e; ++i) {
      int64_t from = first * strides[placement.dim];
      for (auto [position, stride] : llvm::zip(index, strides))
        from += position * stride;
      int64_t source = whole.isSplat() ? 0 : from;
      part.copy(i, whole, source);
      part.setUndefined(i, !whole.isDefined(source));
      simulator::nextIndex(index, shape);
    }
  }
  return parts;
}

namespace {
/// A number that ranks make together, and how large what went into it was.
struct Combined {
  Scalar number;
  double magnitude = 0;
  bool isFinite = true;
};
} // namespace

static Combined combine(ArrayRef<TensorData> parts, int64_t at,
                        ReductionKind kind) {
  Combined sum;
  for (auto [rank, array] : llvm::enumerate(parts)) {
    Scalar part = array.get(array.isSplat() ? 0 : at);
    Scalar &all = sum.number;
    sum.isFinite &= std::isfinite(part.real);
    sum.magnitude += std::abs(part.real);
    if (rank == 0) {
      all = part;
      continue;
    }
    switch (kind) {
    case ReductionKind::Sum:
    case ReductionKind::Avg:
      all = {all.real + part.real, wrapped(std::plus<>(), all, part)};
      break;
    case ReductionKind::Product:
      all = {all.real * part.real, wrapped(std::multiplies<>(), all, part)};
      break;
    case ReductionKind::Max:
      all = {std::max(all.real, part.real),
             std::max(all.integer, part.integer)};
      break;
    case ReductionKind::Min:
      all = {std::min(all.real, part.real),
             std::min(all.integer, part.integer)};
      break;
    }
  }
  if (kind == ReductionKind::Avg)
    sum.number.real /= static_cast<double>(parts.size());
  return sum;
}

static bool isClose(Scalar a, Scalar b, Type type, double magnitude) {
  // A few roundings; numbers that differ do so by much more.
  double tolerance = 1e-5;
  if (auto real = dyn_cast<FloatType>(type))
    tolerance = std::max(
        tolerance, std::ldexp(16, -static_cast<int>(APFloat::semanticsPrecision(
                                      real.getFloatSemantics()))));
  if (a.integer != b.integer)
    return false;
  if (std::isnan(a.real) || std::isnan(b.real))
    return std::isnan(a.real) && std::isnan(b.real);
  return a.real == b.real ||
         std::abs(a.real - b.real) <=
             tolerance * (std::abs(a.real) + std::abs(b.real) + magnitude);
}

static bool isEqual(const TensorData &part, const TensorData &whole) {
  if (part.shape() != whole.shape())
    return false;
  for (int64_t i = 0, e = whole.numElements(); i < e; ++i)
    if (whole.isDefined(whole.isSplat() ? 0 : i) &&
        !isClose(part.get(part.isSplat() ? 0 : i),
                 whole.get(whole.isSplat() ? 0 : i), whole.elementType(), 0))
      return false;
  return true;
}

bool tp::arePartsOf(ArrayRef<TensorData> parts, const TensorData &whole,
                    const Placement &placement) {
  int64_t ranks = parts.size();
  if (!placement.isPartial()) {
    std::vector<TensorData> expected = partsOf(whole, placement, ranks, 0);
    return llvm::all_of(llvm::zip(parts, expected), [](auto pair) {
      return isEqual(std::get<0>(pair), std::get<1>(pair));
    });
  }
  ReductionKind kind = placement.reduction;
  bool isExtremum = kind == ReductionKind::Max || kind == ReductionKind::Min;
  for (const TensorData &part : parts)
    if (part.shape() != whole.shape())
      return false;
  // Infinities add up to no average, but are their own.
  bool isOfAll = llvm::all_of(
      parts, [&](const TensorData &part) { return isEqual(part, whole); });
  for (int64_t i = 0, e = whole.numElements(); i < e; ++i) {
    if (!whole.isDefined(whole.isSplat() ? 0 : i))
      continue;
    Combined made = combine(parts, i, kind);
    if (!made.isFinite && !isExtremum &&
        !(kind == ReductionKind::Avg && isOfAll))
      return false;
    bool addsUp = kind == ReductionKind::Sum || kind == ReductionKind::Avg;
    double magnitude = addsUp ? made.magnitude : 0;
    // Integers wrap where they add up.
    made.number.integer =
        isa<FloatType>(whole.elementType())
            ? 0
            : simulator::wrapTo(made.number.integer, whole.elementType());
    if (!isClose(made.number, whole.get(whole.isSplat() ? 0 : i),
                 whole.elementType(), magnitude))
      return false;
  }
  return true;
}
