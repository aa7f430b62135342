//===- ShardingGrid.cpp - the parts of a port and their ranks -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/picture/ShardingGrid.h"
#include <algorithm>
#include <iterator>
#include <set>

using namespace tp::runtime;

/// The port's dimension alone, cut as it is in the port.
static Port dimensionOf(const Port &port, size_t dim) {
  Port line;
  line.shape = {port.shape[dim]};
  line.permutation = {0};
  for (AxisPlacement entry : port.layout) {
    auto *shard = std::get_if<Sharded>(&entry.what);
    if (shard && shard->dim == int64_t(dim))
      shard->dim = 0;
    else
      entry.what = Replicated();
    line.layout.push_back(entry);
  }
  return line;
}

/// Nothing where there are more parts than a picture shows.
static std::vector<GridInterval> cut(const Port &line, const Mesh &mesh) {
  std::vector<std::vector<Box>> boxes;
  std::set<int64_t> places;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    boxes.push_back(line.slice(mesh.coordinates(rank)).boxes);
    for (const Box &box : boxes.back()) {
      places.insert(box.global[0]);
      places.insert(box.global[0] + box.size[0]);
    }
    if (places.size() > size_t(ShardingGrid::maxParts) + 1)
      return {};
  }
  std::vector<GridInterval> result;
  for (auto it = places.begin(); it != places.end(); ++it)
    if (auto next = std::next(it); next != places.end())
      result.push_back({*it, *next - *it, RankSet(mesh.numRanks())});
  for (size_t rank = 0; rank < boxes.size(); ++rank) {
    size_t i = 0;
    for (const Box &box : boxes[rank]) {
      while (result[i].start < box.global[0])
        ++i;
      for (; i < result.size() && result[i].start < box.global[0] + box.size[0];
           ++i)
        result[i].ranks[rank] = true;
    }
  }
  // Segments may leave neighbours with one rank.
  std::vector<GridInterval> joined;
  for (GridInterval &interval : result)
    if (!joined.empty() && joined.back().ranks == interval.ranks)
      joined.back().size += interval.size;
    else
      joined.push_back(std::move(interval));
  return joined;
}

ShardingGrid::ShardingGrid(const Port &port, const Mesh &mesh)
    : numRanks(mesh.numRanks()) {
  for (size_t dim = 0; dim < port.shape.size(); ++dim) {
    dims.push_back(cut(dimensionOf(port, dim), mesh));
    isTooFine |= port.shape[dim] > 0 && dims.back().empty();
    if (port.shape.size() <= 2 || dims.back().size() > 1)
      shown.push_back(dim);
  }
  int64_t parts = 1;
  for (const std::vector<GridInterval> &dim : dims) {
    parts *= int64_t(dim.size());
    isTooFine |= parts > maxParts;
    parts = std::min(parts, maxParts);
  }
}

RankSet ShardingGrid::ranksAt(const std::vector<size_t> &position) const {
  RankSet ranks(numRanks, true);
  for (size_t i = 0; i < shown.size(); ++i) {
    const RankSet &along = dims[shown[i]][position[i]].ranks;
    for (int64_t rank = 0; rank < numRanks; ++rank)
      ranks[rank] = ranks[rank] && along[rank];
  }
  return ranks;
}

RankSet ShardingGrid::emptyRanks() const {
  RankSet empty(numRanks);
  for (const std::vector<GridInterval> &dim : dims)
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      bool has = false;
      for (const GridInterval &interval : dim)
        has = has || interval.ranks[rank];
      empty[rank] = empty[rank] || !has;
    }
  return empty;
}

std::string tp::runtime::ranksText(const RankSet &ranks) {
  std::string text;
  size_t count = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank])
      continue;
    size_t last = rank;
    while (last + 1 < ranks.size() && ranks[last + 1])
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
    if (last > rank)
      text += "-" + std::to_string(last);
    count += last - rank + 1;
    rank = last;
  }
  if (count == 0)
    return "no rank";
  return (count == 1 ? "rank " : "ranks ") + text;
}
