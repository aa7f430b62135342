//===- PortCheck.cpp - consistency of arguments and results ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestCheck.h"
#include <algorithm>

using namespace tp::runtime;

namespace {
constexpr size_t maxDimensions = 16;
/// Of one rank: every combination of segments is a box.
constexpr size_t maxBoxes = 1 << 16;
} // namespace

/// The parts of every axis multiply up to it, each once.
static std::string checkCoverage(const PortLayout &layout, const Mesh &mesh) {
  std::vector<std::vector<AxisPart>> partsOf(mesh.axes.size());
  for (const AxisPlacement &entry : layout)
    partsOf[entry.part.axis].push_back(entry.part);
  for (size_t axis = 0; axis < partsOf.size(); ++axis) {
    std::vector<AxisPart> &parts = partsOf[axis];
    std::sort(parts.begin(), parts.end(),
              [&](const AxisPart &a, const AxisPart &b) {
                return std::pair(mesh.major(a), a.size) <
                       std::pair(mesh.major(b), b.size);
              });
    int64_t covered = 1;
    for (const AxisPart &part : parts) {
      if (mesh.major(part) != covered)
        return "its layout has axis '" + mesh.axes[axis].name +
               "' twice or with a gap between its parts";
      covered *= part.size;
    }
    if (parts.empty() || covered != mesh.axes[axis].size)
      return "its layout has no placement for axis '" + mesh.axes[axis].name +
             "'";
  }
  return "";
}

static std::string checkLayout(const Port &port, const Mesh &mesh) {
  std::vector<const Sharded *> first(port.shape.size());
  size_t boxes = 1;
  for (const AxisPlacement &entry : port.layout) {
    const auto *shard = std::get_if<Sharded>(&entry.what);
    if (!shard)
      continue;
    std::string name = "shard<" + std::to_string(shard->dim) + ">";
    if (shard->dim < 0 || shard->dim >= int64_t(port.shape.size()))
      return name + " needs that dimension, it has " +
             std::to_string(port.shape.size());
    if (shard->unit < 1)
      return "the unit of " + name + " is at least 1, got " +
             std::to_string(shard->unit);
    const Sharded *&known = first[shard->dim];
    if (known &&
        (known->unit != shard->unit || known->segments != shard->segments))
      return "axes that shard dimension " + std::to_string(shard->dim) +
             " differ in unit or segments";
    if (known || shard->segments.empty()) {
      known = shard;
      continue;
    }
    known = shard;
    int64_t sum = 0;
    for (int64_t segment : shard->segments)
      sum = std::min(sum + segment, maxBytes + 1);
    if (sum != port.shape[shard->dim])
      return "segments " + text(shard->segments) + " do not add up to " +
             "dimension " + std::to_string(shard->dim) + " of shape " +
             text(port.shape);
    boxes = std::min(boxes * shard->segments.size(), maxBoxes + 1);
  }
  if (boxes > maxBoxes)
    return "at most " + std::to_string(maxBoxes) +
           " combinations of segments, got more";
  return checkCoverage(port.layout, mesh);
}

/// What ranks hold different numbers of is neither kept from step to step nor
/// read from files: an array stands for it where the ranks take it in or give
/// it away.
static std::string checkPartial(const Port &port) {
  std::optional<Reduction> reduction = partialReduction(port.layout);
  if (!reduction)
    return "";
  std::string name = std::string("partial<") + spelling(*reduction) + ">";
  for (const AxisPlacement &entry : port.layout)
    if (const auto *other = std::get_if<Partial>(&entry.what);
        other && other->reduction != *reduction)
      return "axes that are partial have one reduction, got " + name + " and " +
             "partial<" + spelling(other->reduction) + ">";
  if (port.isWeight())
    return "a port of kind '" + port.kind + "' cannot be " + name;
  if (port.update)
    return "a result that updates an argument cannot be " + name;
  if (std::string wrong = whyNotReduced(port.dtype, *reduction); !wrong.empty())
    return name + ": " + wrong;
  // Programs compare integers as signed ones.
  if (isUnsigned(port.dtype) &&
      (*reduction == Reduction::Max || *reduction == Reduction::Min))
    return name + ": expected a signed or float dtype, got " +
           spelling(port.dtype);
  return "";
}

/// Every element of the argument is in one segment: no two overlap, and they
/// have as many as the argument.
static std::string checkJoined(const Port &port, const JoinedSource &joined) {
  size_t rank = port.shape.size();
  int64_t elements = 0;
  for (size_t i = 0; i < joined.segments.size(); ++i) {
    const SourceSegment &segment = joined.segments[i];
    std::string which = "source segment " + std::to_string(i);
    if (segment.sourceKeys.empty())
      return which + " has no source_keys";
    if (segment.shape.size() != rank || segment.offset.size() != rank)
      return which + " does not have " + std::to_string(rank) + " dimensions";
    for (size_t d = 0; d < rank; ++d)
      if (segment.offset[d] + segment.shape[d] > port.shape[d])
        return which + " of shape " + text(segment.shape) + " at " +
               text(segment.offset) + " leaves shape " + text(port.shape);
    for (size_t j = 0; j < i; ++j) {
      const SourceSegment &other = joined.segments[j];
      bool apart = false;
      for (size_t d = 0; d < rank; ++d)
        apart |= segment.offset[d] + segment.shape[d] <= other.offset[d] ||
                 other.offset[d] + other.shape[d] <= segment.offset[d];
      if (!apart)
        return which + " overlaps source segment " + std::to_string(j);
    }
    elements += elementCount(segment.shape).value_or(0);
  }
  int64_t expected = elementCount(port.shape).value_or(0);
  if (elements != expected)
    return "its source segments have " + std::to_string(elements) + " of " +
           std::to_string(expected) + " elements";
  return "";
}

std::string tp::runtime::checkPort(const Port &port, const Mesh &mesh) {
  size_t rank = port.shape.size();
  if (rank > maxDimensions)
    return "at most 16 dimensions, got " + std::to_string(rank);
  std::optional<int64_t> global = elementCount(port.shape);
  if (!global || !product({*global, byteSize(port.dtype)}))
    return "its size in bytes is too large";
  if (std::string wrong = checkLayout(port, mesh); !wrong.empty())
    return wrong;
  if (std::string wrong = checkPartial(port); !wrong.empty())
    return wrong;
  std::optional<int64_t> local = elementCount(port.localShape());
  if (!local || !product({*local, byteSize(port.dtype)}))
    return "its size in bytes is too large";
  if (!isPermutation(port.permutation, rank))
    return "storage " + text(port.permutation) +
           " is no permutation of its dimensions";
  if (port.roundedFrom) {
    bool isNarrow = port.dtype == DataType::F16 || port.dtype == DataType::BF16;
    if (!port.isWeight() || !isNarrow || *port.roundedFrom != DataType::F32)
      return std::string("expected a weight of f16 or bf16 that is rounded "
                         "from f32, got ") +
             spelling(port.dtype) + " from " + spelling(*port.roundedFrom);
  }
  if (const auto *joined = std::get_if<JoinedSource>(&port.source))
    return checkJoined(port, *joined);
  return "";
}
