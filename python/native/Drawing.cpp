//===- Drawing.cpp - pictures of layouts in Python ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses the format of artifacts, which needs no rank, and not the C ABI.
//
//===----------------------------------------------------------------------===//

#include "Drawing.h"
#include "Failure.h"
#include "tp/Runtime/ShardingPicture.h"
#include <map>
#include <utility>

std::vector<std::vector<std::vector<int64_t>>>
tp::python::heldIntervals(const std::string &description) {
  runtime::Mesh mesh;
  runtime::Port port;
  runtime::Status status = runtime::parsePort(description, mesh, port);
  if (!status.ok())
    throw Failure(tp_code(status.code()), status.message());
  std::vector<std::vector<std::vector<int64_t>>> ranks;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    // By the place in the buffer.
    std::vector<std::map<int64_t, std::pair<int64_t, int64_t>>> runs(
        port.shape.size());
    for (const runtime::Box &box : port.slice(mesh.coordinates(rank)).boxes)
      for (size_t d = 0; d < runs.size(); ++d)
        runs[d][box.local[d]] = {box.global[d], box.size[d]};
    std::vector<std::vector<int64_t>> &dims = ranks.emplace_back(runs.size());
    for (size_t d = 0; d < runs.size(); ++d)
      for (const auto &[local, run] : runs[d])
        dims[d].insert(dims[d].end(), {run.first, run.second});
  }
  return ranks;
}

std::string tp::python::drawSharding(const std::string &description, bool svg) {
  runtime::Mesh mesh;
  runtime::Port port;
  std::string drawn;
  runtime::Status status = runtime::parsePort(description, mesh, port);
  if (status.ok())
    status = runtime::drawSharding(
        port, mesh, svg ? runtime::Picture::Svg : runtime::Picture::Text,
        drawn);
  if (!status.ok())
    throw Failure(tp_code(status.code()), status.message());
  return drawn;
}
