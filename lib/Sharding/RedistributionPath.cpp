//===- RedistributionPath.cpp - from one layout to another ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/RedistributionPath.h"
#include "LayoutSearch.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;

static bool isComposite(const MeshAxis &axis) {
  for (int64_t divisor = 2; divisor * divisor <= axis.size; ++divisor)
    if (axis.size % divisor == 0)
      return true;
  return false;
}

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
  std::vector<LayoutStep> best = std::move(fixed);
  Cost cost = best.empty() ? Cost::infinite()
                           : pathCost(shape, elementBytes, from, best);
  auto search = [&](bool cutsAnywhere) {
    LayoutSearch ways(mesh, shape, elementBytes, from, to, cutsAnywhere);
    if (best.size() == 1 && cost.primary <= ways.bound())
      return;
    std::vector<LayoutStep> cheaper =
        ways.cheaperThan(cost, best.size(), found);
    if (cheaper.empty())
      return;
    Cost cheaperCost = pathCost(shape, elementBytes, from, cheaper);
    if (cheaperCost < cost ||
        (cheaperCost == cost && cheaper.size() < best.size())) {
      cost = cheaperCost;
      best = std::move(cheaper);
    }
  };
  search(/*cutsAnywhere=*/false);
  if (llvm::any_of(mesh.axes, isComposite))
    search(/*cutsAnywhere=*/true);
  return best;
}

size_t RedistributionPaths::ChangeHash::operator()(const Change &change) const {
  return llvm::hash_combine(
      llvm::hash_combine_range(change.shape.begin(), change.shape.end()),
      change.elementBytes, hash_value(change.from), hash_value(change.to));
}

const std::vector<LayoutStep> &
RedistributionPaths::path(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                          const Layout &from, const Layout &to) {
  auto [it, isNew] = known.try_emplace({shape.vec(), elementBytes, from, to});
  if (!isNew)
    return it->second;
  std::vector<LayoutStep> fixed = fixedOrderPath(mesh, shape, from, to);
  bool isReduction =
      fixed.size() == 1 && fixed.front().kind == StepKind::AllReduce;
  it->second = isReduction
                   ? std::move(fixed)
                   : redistributionPath(mesh, shape, elementBytes, from, to);
  return it->second;
}
