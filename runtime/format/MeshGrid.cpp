//===- MeshGrid.cpp - ranks by their coordinates --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/MeshGrid.h"
#include <algorithm>

using namespace tp::runtime;

int64_t tp::runtime::sizeOf(const AxisParts &parts) {
  int64_t size = 1;
  for (const AxisPart &part : parts)
    size *= part.size;
  return size;
}

int64_t tp::runtime::positionOf(const Coordinates &rank,
                                const AxisParts &parts) {
  int64_t position = 0;
  for (const AxisPart &part : parts)
    position = position * part.size + part.coordinate(rank);
  return position;
}

int64_t Mesh::numRanks() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

/// The coordinates of a position of the grid.
static Coordinates coordinatesAt(const Mesh &mesh, int64_t position) {
  Coordinates result = {};
  for (size_t i = mesh.axes.size(); i-- > 0;) {
    result[i] = position % mesh.axes[i].size;
    position /= mesh.axes[i].size;
  }
  return result;
}

/// The same with coordinate 0 on all of `parts`: what a group has in common.
static Coordinates originOf(Coordinates rank, const AxisParts &parts) {
  for (const AxisPart &part : parts)
    rank[part.axis] -= part.coordinate(rank) * part.minor;
  return rank;
}

/// The ranks from `origin` on, by their position along `parts`.
static std::vector<int64_t> membersFrom(const Mesh &mesh,
                                        const Coordinates &origin,
                                        const AxisParts &parts) {
  std::vector<int64_t> members;
  for (int64_t position = 0; position < sizeOf(parts); ++position) {
    Coordinates member = origin;
    int64_t rest = position;
    for (size_t i = parts.size(); i-- > 0;) {
      member[parts[i].axis] += rest % parts[i].size * parts[i].minor;
      rest /= parts[i].size;
    }
    members.push_back(mesh.rankAt(member));
  }
  return members;
}

Coordinates Mesh::coordinates(int64_t rank) const {
  int64_t position = rank;
  if (!deviceOrder.empty())
    position = std::find(deviceOrder.begin(), deviceOrder.end(), rank) -
               deviceOrder.begin();
  return coordinatesAt(*this, position);
}

int64_t Mesh::rankAt(const Coordinates &coordinates) const {
  int64_t position = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    position = position * axes[i].size + coordinates[i];
  return deviceOrder.empty() ? position : deviceOrder[position];
}

std::vector<std::vector<int64_t>> Mesh::groups(const AxisParts &parts) const {
  std::vector<std::vector<int64_t>> result;
  for (int64_t position = 0; position < numRanks(); ++position) {
    Coordinates origin = coordinatesAt(*this, position);
    if (origin == originOf(origin, parts))
      result.push_back(membersFrom(*this, origin, parts));
  }
  return result;
}

std::vector<int64_t> Mesh::groupOf(int64_t rank, const AxisParts &parts) const {
  return membersFrom(*this, originOf(coordinates(rank), parts), parts);
}

std::string Mesh::text() const {
  std::string text;
  for (const MeshAxis &axis : axes)
    text += (text.empty() ? "" : ", ") + axis.name + " = " +
            std::to_string(axis.size);
  return text;
}

std::string Mesh::text(const AxisPart &part) const {
  const std::string &name = axes[part.axis].name;
  if (isWhole(part))
    return name;
  return name + ":" + std::to_string(major(part)) + ":" +
         std::to_string(part.size);
}
