//===- Mesh.cpp - named axes of devices -----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Mesh.h"
#include <algorithm>
#include <map>

using namespace tp;

int64_t Mesh::numRanks() const {
  int64_t n = 1;
  for (const MeshAxis &axis : axes)
    n *= axis.size;
  return n;
}

std::optional<unsigned> Mesh::axisByName(llvm::StringRef name) const {
  for (unsigned i = 0; i < axes.size(); ++i)
    if (name == axes[i].name)
      return i;
  return std::nullopt;
}

std::vector<int64_t> Mesh::coordinates(int64_t rank) const {
  int64_t position = rank;
  if (!deviceOrder.empty())
    position = std::find(deviceOrder.begin(), deviceOrder.end(), rank) -
               deviceOrder.begin();
  std::vector<int64_t> result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = position % axes[i].size;
    position /= axes[i].size;
  }
  return result;
}

int64_t Mesh::rankAt(llvm::ArrayRef<int64_t> coordinates) const {
  int64_t position = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    position = position * axes[i].size + coordinates[i];
  return deviceOrder.empty() ? position : deviceOrder[position];
}

int64_t Mesh::rankAlong(llvm::ArrayRef<AxisPart> parts,
                        int64_t position) const {
  std::vector<int64_t> coordinates(axes.size(), 0);
  for (size_t i = parts.size(); i-- > 0;) {
    const AxisPart &part = parts[i];
    int64_t minor = axes[part.axis].size / (part.major * part.size);
    coordinates[part.axis] += position % part.size * minor;
    position /= part.size;
  }
  return rankAt(coordinates);
}

int64_t Mesh::coordinate(int64_t rank, AxisPart part) const {
  int64_t minor = axes[part.axis].size / (part.major * part.size);
  return coordinates(rank)[part.axis] / minor % part.size;
}

std::vector<std::vector<int64_t>>
Mesh::groups(llvm::ArrayRef<AxisPart> parts) const {
  // Ranks in one group agree in everything but their position along `parts`.
  std::map<std::vector<int64_t>, std::vector<std::pair<int64_t, int64_t>>>
      groups;
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    std::vector<int64_t> key = coordinates(rank);
    int64_t position = 0;
    for (AxisPart part : parts) {
      int64_t c = coordinate(rank, part);
      int64_t minor = axes[part.axis].size / (part.major * part.size);
      position = position * part.size + c;
      key[part.axis] -= c * minor;
    }
    groups[key].emplace_back(position, rank);
  }
  std::vector<std::vector<int64_t>> result;
  for (auto &[key, members] : groups) {
    std::sort(members.begin(), members.end());
    std::vector<int64_t> &group = result.emplace_back();
    for (auto &[position, rank] : members)
      group.push_back(rank);
  }
  return result;
}

std::string Mesh::verify() const {
  if (axes.empty())
    return "a mesh has at least one axis";
  int64_t n = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name.empty())
      return "a mesh axis has a name";
    if (axes[i].size < 1)
      return "mesh axis '" + axes[i].name + "' has size " +
             std::to_string(axes[i].size) + ", expected at least 1";
    if (__builtin_mul_overflow(n, axes[i].size, &n) || n > (1 << 24))
      return "a mesh has at most 16777216 ranks";
    for (size_t j = 0; j < i; ++j)
      if (axes[i].name == axes[j].name)
        return "mesh axis '" + axes[i].name + "' is named twice";
  }
  if (deviceOrder.empty())
    return "";
  std::vector<int64_t> sorted = deviceOrder;
  std::sort(sorted.begin(), sorted.end());
  bool isPermutation = static_cast<int64_t>(sorted.size()) == n;
  for (size_t i = 0; isPermutation && i < sorted.size(); ++i)
    isPermutation = sorted[i] == static_cast<int64_t>(i);
  if (!isPermutation)
    return "the device order is a permutation of the " + std::to_string(n) +
           " ranks";
  return "";
}

std::string tp::toString(AxisPart part, const Mesh &mesh) {
  std::string text = "\"" + mesh.axes[part.axis].name + "\"";
  if (!mesh.isWhole(part))
    text += ":" + std::to_string(part.major) + ":" + std::to_string(part.size);
  return text;
}

llvm::hash_code tp::hash_value(const AxisPart &part) {
  return llvm::hash_combine(part.axis, part.major, part.size);
}

llvm::hash_code tp::hash_value(const Mesh &mesh) {
  llvm::hash_code hash = llvm::hash_combine_range(mesh.deviceOrder.begin(),
                                                  mesh.deviceOrder.end());
  for (const MeshAxis &axis : mesh.axes)
    hash = llvm::hash_combine(hash, axis.name, axis.size);
  return hash;
}

llvm::hash_code tp::hash_value(const std::vector<AxisPart> &parts) {
  return llvm::hash_combine_range(parts.begin(), parts.end());
}
