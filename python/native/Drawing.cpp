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
#include "tp/Runtime/Reduce.h"
#include "tp/Runtime/ShardingPicture.h"
#include <map>
#include <utility>

namespace {
struct Described {
  tp::runtime::Mesh mesh;
  tp::runtime::Port port;

  explicit Described(const std::string &description) {
    tp::runtime::Status status =
        tp::runtime::parsePort(description, mesh, port);
    if (!status.ok())
      throw tp::python::Failure(tp_code(status.code()), status.message());
  }
};
} // namespace

std::vector<std::vector<int64_t>>
tp::python::reductionGroups(const std::string &description) {
  Described of(description);
  return of.mesh.groups(runtime::partialParts(of.port.layout));
}

std::string tp::python::heldIdentity(const std::string &description,
                                     int64_t rank) {
  Described of(description);
  runtime::RankSlice slice = of.port.slice(of.mesh.coordinates(rank));
  if (!slice.identity)
    return "";
  return {slice.identity->data(), size_t(runtime::byteSize(of.port.dtype))};
}

void tp::python::reduceParts(const std::string &description,
                             const std::vector<const char *> &parts,
                             int64_t count, void *reduced) {
  Described of(description);
  if (auto reduction = runtime::partialReduction(of.port.layout))
    runtime::reduce(of.port.dtype, *reduction, parts.data(),
                    int64_t(parts.size()), /*byteOffset=*/0, count, reduced);
}

std::vector<std::vector<std::vector<int64_t>>>
tp::python::heldIntervals(const std::string &description) {
  const auto [mesh, port] = Described(description);
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
  const auto [mesh, port] = Described(description);
  std::string drawn;
  runtime::Status status = runtime::drawSharding(
      port, mesh, svg ? runtime::Picture::Svg : runtime::Picture::Text, drawn);
  if (!status.ok())
    throw Failure(tp_code(status.code()), status.message());
  return drawn;
}
