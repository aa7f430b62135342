//===- RedistributionPath.cpp - from one layout to another ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/RedistributionPath.h"
#include "LayoutSearch.h"

using namespace tp;

std::vector<LayoutStep>
tp::redistributionPath(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                       int64_t elementBytes, const Layout &from,
                       const Layout &to, PathSearchStats *stats) {
  PathSearchStats ignored;
  PathSearchStats &found = stats ? *stats : ignored;
  found = {};
  std::vector<LayoutStep> fixed = fixedOrderPath(mesh, shape, from, to);
  // One step without communication, or none, cannot be beaten.
  if (from == to || (fixed.size() == 1 && !collectiveOf(fixed[0].kind)))
    return fixed;
  Cost cost = fixed.empty() ? Cost::infinite()
                            : pathCost(shape, elementBytes, from, fixed);
  LayoutSearch search(mesh, shape, elementBytes, from, to);
  if (fixed.size() == 1 && cost.primary <= search.bound())
    return fixed;
  std::vector<LayoutStep> cheaper =
      search.cheaperThan(cost, fixed.size(), found);
  // A way that cannot be written as steps is none, though it is not expected.
  if (cheaper.empty())
    return fixed;
  Cost cheaperCost = pathCost(shape, elementBytes, from, cheaper);
  bool isBetter = cheaperCost < cost ||
                  (cheaperCost == cost && cheaper.size() < fixed.size());
  return isBetter ? cheaper : fixed;
}

size_t RedistributionPaths::ChangeHash::operator()(const Change &change) const {
  return llvm::hash_combine(
      llvm::hash_combine_range(change.shape.begin(), change.shape.end()),
      change.elementBytes, hash_value(change.from), hash_value(change.to));
}

const std::vector<LayoutStep> &
RedistributionPaths::find(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                          const Layout &from, const Layout &to) {
  auto [it, isNew] = known.try_emplace({shape.vec(), elementBytes, from, to});
  if (isNew)
    it->second = redistributionPath(mesh, shape, elementBytes, from, to);
  return it->second;
}
