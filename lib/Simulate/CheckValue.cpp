//===- CheckValue.cpp - local values against global ones ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckValue.h"
#include "mlir/IR/TypeUtilities.h"
#include "tp/Interpreter/Distribute.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

static double unitInLastPlace(Type type) {
  return std::ldexp(
      1.0, 1 - static_cast<int>(cast<FloatType>(type).getFPMantissaWidth()));
}

namespace {
/// How far a number may be from the expected one.
class Tolerance {
public:
  Tolerance(const CheckedValue &value)
      : magnitudes(value.magnitudes), type(value.expected.elementType()) {
    if (!value.allowRounding || !isa<FloatType>(type))
      return;
    // The order of accumulation moves a sum of many numbers by a few units in
    // the last place of what was added up, of very many by more: one after the
    // other, numbers of one size are all rounded the same way for long.
    double units = std::max(256.0, value.longestReduction / 16);
    relative = relativeOf(type, units);
    if (value.coarsest)
      relative = std::max(relative, relativeOf(value.coarsest, units));
    usual = usualMagnitude(value.expected);
  }

  bool accepts(Scalar got, Scalar expected, int64_t offset,
               double magnitude) const {
    if (!isa<FloatType>(type))
      return got.integer == expected.integer;
    if (got.real == expected.real ||
        (std::isnan(got.real) && std::isnan(expected.real)))
      return true;
    if (!magnitudes.empty())
      magnitude = std::max(magnitude, magnitudes[offset]);
    return std::fabs(got.real - expected.real) <=
           relative * (magnitude + std::fabs(expected.real) + usual);
  }

  /// `units`: how many units in the last place of a wide type may differ.
  static double relativeOf(Type type, double units) {
    return type.isF64()    ? units * 0x1p-52
           : type.isF32()  ? units * 0x1p-23
           : type.isBF16() ? 16 * 0x1p-8
           : type.isF16()  ? 64 * 0x1p-11
                           : unitInLastPlace(type);
  }

private:
  /// The median over a sample: where numbers cancel, the sizes of the others
  /// say how much was lost; masks of the largest number do not disturb it.
  static double usualMagnitude(const TensorData &array) {
    int64_t count = array.isSplat() ? std::min<int64_t>(array.numElements(), 1)
                                    : array.numElements();
    std::vector<double> sample;
    for (int64_t i = 0, step = std::max<int64_t>(1, count / 1023); i < count;
         i += step) {
      double size = std::fabs(array.get(i).real);
      if (std::isfinite(size) && array.isDefined(i))
        sample.push_back(size);
    }
    if (sample.empty())
      return 0;
    auto middle = sample.begin() + sample.size() / 2;
    std::nth_element(sample.begin(), middle, sample.end());
    return *middle;
  }

  ArrayRef<double> magnitudes;
  Type type;
  double relative = 0;
  double usual = 0;
};
} // namespace

static Type coarser(Type a, Type b) {
  if (!a || !b)
    return a ? a : b;
  return Tolerance::relativeOf(a, 1) < Tolerance::relativeOf(b, 1) ? b : a;
}

Type PartialRounding::behind(Operation &op) const {
  Type coarsest;
  for (Value operand : op.getOperands())
    coarsest = coarser(coarsest, types.lookup(operand));
  return coarsest;
}

void PartialRounding::carry(Operation &op, Value value, bool isPartial) {
  Type coarsest = behind(op);
  Type type = getElementTypeOrSelf(value.getType());
  if (isPartial && isa<FloatType>(type))
    coarsest = coarser(coarsest, type);
  if (coarsest)
    types[value] = coarsest;
}

static InFlightDiagnostic startError(const CheckedValue &value,
                                     ArrayRef<int64_t> index, Scalar expected) {
  InFlightDiagnostic diag = value.op->emitOpError() << value.name;
  if (!index.empty())
    diag << ", element " << indexText(index);
  diag << ": expected " << scalarText(expected, value.expected.elementType())
       << ", ";
  return diag;
}

/// One group of ranks whose numbers combine; a group of one where the value is
/// not partial.
static LogicalResult checkGroup(const CheckedValue &value,
                                const PartialParts &partial,
                                ArrayRef<int64_t> group,
                                const Tolerance &tolerance) {
  const TensorData &expected = value.expected;
  Type type = expected.elementType();
  SmallVector<int64_t> strides = expected.strides();
  SmallVector<int64_t> shape(expected.shape()), at;
  bool differs = false;
  Scalar found, wanted;
  auto visit = [&](ArrayRef<int64_t> index, int64_t offset) {
    if (differs)
      return;
    int64_t from = 0;
    for (auto [position, stride] : llvm::zip(index, strides))
      from += position * stride;
    if (!expected.isDefined(from))
      return;
    auto numberOf = [&](int64_t rank) {
      const TensorData &buffer = value.buffers[rank];
      return buffer.get(buffer.isSplat() ? 0 : offset);
    };
    SmallVector<Scalar> numbers;
    double magnitude = 0;
    for (int64_t rank : group) {
      numbers.push_back(numberOf(rank));
      magnitude += std::fabs(numbers.back().real);
    }
    Scalar got = partial.combine(numbers, type);
    wanted = expected.get(from);
    if (tolerance.accepts(got, wanted, from,
                          partial.parts.empty() ? 0 : magnitude))
      return;
    differs = true;
    at.assign(index.begin(), index.end());
    found = got;
  };
  if (value.layout)
    forEachHeld(value.layout, shape, group[0], visit);
  else
    visit({}, 0);
  if (!differs)
    return success();
  InFlightDiagnostic diag = startError(value, at, wanted);
  if (partial.parts.empty())
    return diag << "rank " << group[0] << " has " << scalarText(found, type);
  diag << "the partial values of ranks ";
  llvm::interleaveComma(group, diag);
  return diag << " combine to " << scalarText(found, type) << " ("
              << partial.kindsText() << ")";
}

LogicalResult simulator::checkValue(const CheckedValue &value) {
  Tolerance tolerance(value);
  if (!value.layout) {
    for (size_t rank = 0; rank < value.buffers.size(); ++rank)
      if (failed(
              checkGroup(value, {}, {static_cast<int64_t>(rank)}, tolerance)))
        return failure();
    return success();
  }
  PartialParts partial = partialParts(value.layout.getValue());
  const Mesh &mesh = value.layout.getMesh().getValue();
  for (const std::vector<int64_t> &group : mesh.groups(partial.parts))
    if (failed(checkGroup(value, partial, group, tolerance)))
      return failure();
  return success();
}

bool simulator::isNaNThroughout(const TensorData &array) {
  if (array.storage() == ElementStorage::Int || array.numElements() == 0)
    return false;
  for (int64_t i = 0, e = array.isSplat() ? 1 : array.numElements(); i < e; ++i)
    if (array.isDefined(i) && !std::isnan(array.get(i).real))
      return false;
  return array.isAllDefined();
}

void simulator::settle(const CheckedValue &value) {
  if (!value.layout)
    return;
  bool isPartial = value.layout.hasPartial();
  SmallVector<int64_t> shape(value.expected.shape());
  for (auto [rank, buffer] : llvm::enumerate(value.buffers)) {
    if (!isPartial && value.expected.isAllDefined()) {
      buffer = distribute(value.expected, value.layout, rank);
      continue;
    }
    if (!value.layout.getValue().isUneven(shape))
      continue;
    TensorData clean = TensorData::poison(buffer.elementType(), buffer.shape());
    forEachHeld(value.layout, shape, rank,
                [&](ArrayRef<int64_t>, int64_t offset) {
                  clean.copy(offset, buffer, buffer.isSplat() ? 0 : offset);
                });
    buffer = clean;
  }
}
