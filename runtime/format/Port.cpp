//===- Port.cpp - arguments and results of a program ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Port.h"
#include "tp/Runtime/Commands.h"
#include <algorithm>
#include <numeric>

using namespace tp::runtime;

namespace {

/// What cuts one dimension; segments that none has are the whole dimension.
struct Cut {
  std::vector<int64_t> segments;
  int64_t unit = 1;
  /// Major first.
  AxisParts parts;
};

/// A run of indices of one dimension.
struct Interval {
  int64_t global, local, size;
};

} // namespace

static Cut cutOf(const PortLayout &layout, int64_t dim, int64_t size) {
  Cut cut;
  for (const AxisPlacement &entry : layout) {
    const auto *shard = std::get_if<Sharded>(&entry.what);
    if (!shard || shard->dim != dim)
      continue;
    cut.parts.push_back(entry.part);
    cut.unit = shard->unit;
    cut.segments = shard->segments;
  }
  if (cut.segments.empty())
    cut.segments = {size};
  return cut;
}

static int64_t chunkSize(int64_t size, int64_t unit, int64_t count) {
  int64_t units = (size + unit - 1) / unit;
  return std::min((units + count - 1) / count * unit, size);
}

static int64_t localSize(const PortLayout &layout, int64_t dim, int64_t size) {
  Cut cut = cutOf(layout, dim, size);
  int64_t local = 0;
  for (int64_t segment : cut.segments) {
    for (const AxisPart &part : cut.parts)
      segment = chunkSize(segment, cut.unit, part.size);
    local += segment;
  }
  return local;
}

/// The valid elements of `dim` on a rank; those of no element are left out.
static std::vector<Interval> intervals(const PortLayout &layout, int64_t dim,
                                       int64_t size, const Coordinates &rank) {
  Cut cut = cutOf(layout, dim, size);
  std::vector<Interval> result;
  int64_t segmentStart = 0, localStart = 0;
  for (int64_t segment : cut.segments) {
    int64_t offset = 0, valid = segment, chunk = segment;
    for (const AxisPart &part : cut.parts) {
      chunk = chunkSize(chunk, cut.unit, part.size);
      int64_t start = std::min(part.coordinate(rank) * chunk, valid);
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

static std::vector<int64_t> stridesOf(const std::vector<int64_t> &localShape,
                                      const std::vector<int64_t> &permutation) {
  std::vector<int64_t> stored(localShape.size());
  for (size_t i = 0; i < stored.size(); ++i)
    stored[i] = localShape[permutation[i]];
  std::vector<int64_t> storedStrides = rowMajorStrides(stored);
  std::vector<int64_t> strides(stored.size());
  for (size_t i = 0; i < stored.size(); ++i)
    strides[permutation[i]] = storedStrides[i];
  return strides;
}

static int64_t bytesOf(const std::vector<int64_t> &localShape, DataType dtype) {
  return elementCount(localShape).value_or(0) * byteSize(dtype);
}

static std::string placementText(const AxisPlacement &entry) {
  return std::visit(
      Overloaded{[](const Replicated &) { return std::string("replicate"); },
                 [](const Partial &partial) {
                   return std::string("partial<") +
                          spelling(partial.reduction) + ">";
                 },
                 [](const Sharded &shard) {
                   std::string text = "shard<" + std::to_string(shard.dim);
                   if (shard.unit != 1)
                     text += ", unit = " + std::to_string(shard.unit);
                   if (!shard.segments.empty()) {
                     text += ", segments = [";
                     for (size_t i = 0; i < shard.segments.size(); ++i)
                       text +=
                           (i ? ", " : "") + std::to_string(shard.segments[i]);
                     text += "]";
                   }
                   return text + ">";
                 }},
      entry.what);
}

AxisParts tp::runtime::partialParts(const PortLayout &layout) {
  AxisParts parts;
  for (const AxisPlacement &entry : layout)
    if (std::holds_alternative<Partial>(entry.what))
      parts.push_back(entry.part);
  return parts;
}

std::optional<Reduction>
tp::runtime::partialReduction(const PortLayout &layout) {
  for (const AxisPlacement &entry : layout)
    if (const auto *partial = std::get_if<Partial>(&entry.what))
      return partial->reduction;
  return std::nullopt;
}

std::string tp::runtime::layoutText(const PortLayout &layout,
                                    const Mesh &mesh) {
  bool inMeshOrder = layout.size() == mesh.axes.size();
  for (size_t i = 0; inMeshOrder && i < layout.size(); ++i)
    inMeshOrder = layout[i].part == mesh.whole(i);
  std::string text = "[";
  for (size_t i = 0; i < layout.size(); ++i) {
    const AxisPart &part = layout[i].part;
    text += i ? ", " : "";
    if (!inMeshOrder) {
      text += "\"" + mesh.axes[part.axis].name + "\"";
      if (!mesh.isWhole(part))
        text += ":" + std::to_string(mesh.major(part)) + ":" +
                std::to_string(part.size);
      text += " = ";
    }
    text += placementText(layout[i]);
  }
  return text + "]";
}

PortLayout tp::runtime::replicatedLayout(const Mesh &mesh) {
  PortLayout layout;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    layout.push_back({mesh.whole(i), Replicated()});
  return layout;
}

int64_t RankSlice::localBytes() const { return bytesOf(localShape, dtype); }

std::vector<int64_t> RankSlice::localStrides() const {
  return stridesOf(localShape, permutation);
}

std::vector<int64_t> Port::localShape() const {
  std::vector<int64_t> result;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    result.push_back(localSize(layout, dim, shape[dim]));
  return result;
}

int64_t Port::localBytes() const {
  return dead ? 0 : bytesOf(localShape(), dtype);
}

std::vector<int64_t> Port::localStrides() const {
  return stridesOf(localShape(), permutation);
}

RankSlice Port::slice(const Coordinates &rank) const {
  RankSlice result{dtype, shape, localShape(), permutation, {Box()}};
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<Box> extended;
    for (const Box &box : result.boxes)
      for (const Interval &piece : intervals(layout, dim, shape[dim], rank)) {
        Box &next = extended.emplace_back(box);
        next.global.push_back(piece.global);
        next.local.push_back(piece.local);
        next.size.push_back(piece.size);
      }
    result.boxes = std::move(extended);
  }
  std::optional<Reduction> reduction = partialReduction(layout);
  if (!reduction || combinesCopies(*reduction))
    return result;
  for (const AxisPart &part : partialParts(layout))
    if (part.coordinate(rank) != 0)
      result.identity = identityOf(dtype, *reduction);
  return result;
}

PortRole tp::runtime::roleOf(std::string_view kind) {
  if (kind == "parameter")
    return PortRole::Parameter;
  if (kind == "buffer")
    return PortRole::Buffer;
  if (kind == "constant_tensor")
    return PortRole::Constant;
  if (kind.starts_with("opt_"))
    return PortRole::OptimizerState;
  return PortRole::Input;
}

WholeSource tp::runtime::defaultSource(const Port &port) {
  switch (port.role()) {
  case PortRole::Input:
    return {};
  case PortRole::Parameter:
  case PortRole::Buffer:
  case PortRole::Constant:
    return {{port.name}};
  case PortRole::OptimizerState:
    // States have their parameter's name, and others in the file.
    return {{port.kind + ":" + port.name}};
  }
  return {};
}

Status tp::runtime::findPort(const std::vector<Port> &ports,
                             std::string_view name, const char *side,
                             int64_t &index) {
  std::vector<int64_t> byName;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].kind + ":" + ports[i].name == name) {
      index = i;
      return {};
    }
    if (ports[i].name == name)
      byName.push_back(i);
  }
  if (byName.size() == 1) {
    index = byName.front();
    return {};
  }
  std::string message = std::string(byName.empty() ? "no " : "more than one ") +
                        side + " is called '" + std::string(name) + "'";
  if (byName.empty()) {
    std::vector<std::string> names;
    for (size_t i = 0; i < ports.size(); ++i)
      names.push_back(portName(ports, int64_t(i)));
    if (std::string near = nearestName(name, names); !near.empty())
      return invalidArgument(message + ", did you mean '" + near + "'?");
  }
  // All names of a large model would bury the message.
  constexpr size_t mostListed = 12;
  const char *separator = byName.empty() ? ", there are: " : ", write: ";
  size_t listed = 0;
  for (size_t i = 0; i < ports.size() && listed < mostListed; ++i) {
    if (byName.empty() ? ports[i].isWeight() : ports[i].name != name)
      continue;
    message += separator + portName(ports, i);
    separator = ", ";
    ++listed;
  }
  return invalidArgument(message);
}

std::string tp::runtime::portName(const std::vector<Port> &ports,
                                  int64_t index) {
  const Port &port = ports[index];
  for (size_t i = 0; i < ports.size(); ++i)
    if (int64_t(i) != index && ports[i].name == port.name)
      return port.kind + ":" + port.name;
  return port.name;
}

/// Insertions, removals and replacements that make `b` of `a`.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, replaced});
    }
  }
  return row.back();
}

std::string tp::runtime::nearestName(std::string_view word,
                                     const std::vector<std::string> &names,
                                     size_t tooMany) {
  std::string nearest;
  for (const std::string &name : names) {
    // Each letter more or less is an edit.
    if (std::max(name.size(), word.size()) -
            std::min(name.size(), word.size()) >=
        tooMany)
      continue;
    size_t distance = editDistance(word, name);
    if (distance >= tooMany)
      continue;
    tooMany = distance;
    nearest = name;
  }
  return nearest;
}
