//===- LayoutSearch.cpp - the cheapest way between layouts ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace tp;

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

CostBound::CostBound(AxisChains &chains, int64_t elementBytes,
                     const CanonicalLayout &target)
    : chains(chains), mesh(chains.mesh),
      elementBytes(static_cast<double>(elementBytes)), target(target) {
  for (int64_t size : chains.shape)
    elements *= static_cast<double>(size);
  for (auto [i, rank] : llvm::enumerate(chains.sampleRanks))
    if (llvm::all_of(target.partials, [&](const PartialPart &entry) {
          return mesh.coordinate(rank, entry.part) == 0;
        }))
      samples.push_back(i);
}

double CostBound::ranksToReduce(const CanonicalLayout &from,
                                size_t &kinds) const {
  double ranks = 1;
  std::vector<ReductionKind> seen;
  for (const PartialPart &entry : from.partials) {
    // Where the two overlap in more than whole parts, the bound is low.
    int64_t staying = 1;
    for (const PartialPart &kept : target.partials) {
      if (kept.kind != entry.kind || kept.part.axis != entry.part.axis)
        continue;
      int64_t begin = std::max(kept.part.major, entry.part.major);
      int64_t end = std::min(kept.part.major * kept.part.size,
                             entry.part.major * entry.part.size);
      if (end > begin)
        staying *= end % begin == 0 ? end / begin : entry.part.size;
    }
    if (staying >= entry.part.size)
      continue;
    ranks *=
        static_cast<double>(entry.part.size) / static_cast<double>(staying);
    if (!llvm::is_contained(seen, entry.kind))
      seen.push_back(entry.kind);
  }
  kinds = seen.size();
  return ranks;
}

double CostBound::missingOnSamples(const CanonicalLayout &from) const {
  double most = 0;
  for (size_t sample : samples) {
    double needed = 1, there = 1;
    for (auto [now, goal] : llvm::zip(from.chains, target.chains)) {
      int64_t size = 0, common = 0;
      for (const Interval &want : chains[goal].held[sample]) {
        size += want.size;
        for (const Interval &have : chains[now].held[sample]) {
          int64_t begin = std::max(want.globalOffset, have.globalOffset);
          int64_t end = std::min(want.globalOffset + want.size,
                                 have.globalOffset + have.size);
          common += std::max<int64_t>(0, end - begin);
        }
      }
      needed *= static_cast<double>(size);
      there *= static_cast<double>(common);
    }
    most = std::max(most, needed - there);
  }
  return most;
}

/// Elements that a rank has on average.
double CostBound::average(const CanonicalLayout &at) const {
  double result = elements;
  for (ChainId chain : at.chains)
    result /= static_cast<double>(chains[chain].shards);
  return result;
}

int64_t CostBound::operator()(const CanonicalLayout &from) const {
  size_t collectives = 0;
  double n = ranksToReduce(from, collectives);
  double local = average(from), missing;
  if (n > 1) {
    // How often a value is there.
    double copies = static_cast<double>(mesh.numRanks());
    for (ChainId chain : from.chains)
      copies /= static_cast<double>(chains[chain].shards);
    for (const PartialPart &entry : from.partials)
      copies /= static_cast<double>(entry.part.size);
    missing = (1 - 1 / n) * local / copies +
              std::max(0.0, average(target) - local / (n * copies));
  } else {
    missing = std::max(0.0, average(target) - local);
    if (from.partials.empty())
      missing = std::max(missing, missingOnSamples(from));
  }
  double bytes = missing * elementBytes;
  // Quotients are off by far less than this.
  constexpr double inexact = 1e-6;
  if (bytes > inexact)
    collectives = std::max<size_t>(collectives, 1);
  // An all_reduce may count half a byte less than it sends; one more than
  // these costs more than that.
  if (!from.partials.empty())
    bytes -= 0.5 * static_cast<double>(collectives);
  int64_t whole = saturatingRound(std::ceil(bytes * (1 - 1e-12) - inexact));
  StepCosts costs;
  for (size_t i = 0; i < collectives; ++i)
    whole = saturatingAdd(
        whole, costs.collective(CollectiveKind::Permute, 0, 1).primary);
  return whole;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

LayoutSearch::LayoutSearch(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                           int64_t elementBytes, const Layout &from,
                           const Layout &to, bool cutsAnywhere)
    : mesh(mesh), shape(shape), from(from), to(to),
      chains(mesh, shape, {&from, &to}, cutsAnywhere),
      moves(chains, elementBytes, to, mostPartsTried),
      start(moves.canonicalLayoutOf(from)), target(moves.canonicalLayoutOf(to)),
      costBound(chains, elementBytes, target) {}

LayoutSearch::Rank LayoutSearch::rankOf(size_t at) const {
  const ReachedLayout &node = reached[at];
  return {saturatingAdd(node.cost.primary, node.bound), node.cost.secondary,
          node.steps, at};
}

void LayoutSearch::reach(const Move &move, std::optional<size_t> previous) {
  Cost cost;
  size_t steps = 0;
  if (previous) {
    cost = reached[*previous].cost + move.cost;
    steps = reached[*previous].steps + 1;
  }
  auto known = numbers.find(move.next);
  if (known != numbers.end()) {
    ReachedLayout &node = reached[known->second];
    if (std::tie(node.cost, node.steps) <= std::tie(cost, steps))
      return;
  }
  int64_t bound = known == numbers.end() ? costBound(move.next)
                                         : reached[known->second].bound;
  // A way that does not end here needs a step more.
  size_t least = steps + (move.next == target ? 0 : 1);
  Cost whole = cost;
  whole.primary = saturatingAdd(whole.primary, bound);
  if (std::tie(whole, least) >= std::tie(limit, limitSteps))
    return;
  size_t at = reached.size();
  if (known == numbers.end()) {
    numbers.emplace(move.next, at);
    reached.emplace_back();
  } else {
    at = known->second;
  }
  reached[at] = {move, cost, steps, bound, previous, false};
  open.push(rankOf(at));
}

std::vector<LayoutStep> LayoutSearch::cheaperThan(const Cost &cost,
                                                  size_t steps,
                                                  PathSearchStats &stats) {
  limit = cost;
  limitSteps = steps;
  Move begin;
  begin.next = start;
  reach(begin, std::nullopt);
  while (!open.empty()) {
    auto [primary, secondary, count, at] = open.top();
    bool isOld = rankOf(at) != open.top() || reached[at].isExpanded;
    open.pop();
    if (isOld)
      continue;
    if (reached[at].move.next == target)
      break;
    ++stats.expanded;
    reached[at].isExpanded = true;
    const CanonicalLayout here = reached[at].move.next;
    bool isPermuted = reached[at].move.kind == StepKind::Permute;
    Cost costHere = reached[at].cost;
    auto isTooDear = [&](int64_t primary) {
      return saturatingAdd(costHere.primary, primary) > limit.primary;
    };
    moves.forEach(here, [&](const Move &move) {
      reach(move, at);
      // Longer ones cost as much at least, and slices only lose elements.
      return !isTooDear(move.kind == StepKind::LocalSlice ? costBound(move.next)
                                                          : move.cost.primary);
    });
    // Two permutations in a row are one.
    if (!isPermuted && !isTooDear(moves.costOfPermute(here).primary))
      moves.forEachPermutation(here, [&](const Move &move) {
        reach(move, at);
        return false;
      });
    if (moves.isExhausted()) {
      stats.stopped = true;
      break;
    }
  }
  stats.partsTried += moves.partsTried();
  auto end = numbers.find(target);
  return end == numbers.end() ? std::vector<LayoutStep>()
                              : stepsTo(end->second);
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

LayoutStep LayoutSearch::stepOf(const Move &move) const {
  return LayoutStep(move.kind, joined(move.parts), move.reduction, move.dim,
                    move.sourceDim);
}

Layout LayoutSearch::writtenFor(const CanonicalLayout &at, const Move &move,
                                std::map<int64_t, ChainForm> forms) {
  int64_t dim = move.kind == StepKind::AllGather  ? move.dim
                : move.kind == StepKind::AllToAll ? move.sourceDim
                                                  : -1;
  if (dim >= 0) {
    ChainForm form;
    for (const ChainForm &rest : chains[move.next.chains[dim]].forms)
      if (rest.chunking == move.sourceChunking)
        form = rest;
    llvm::append_range(form.parts, move.parts);
    forms[dim] = std::move(form);
  }
  return moves.write(at, forms);
}

/// The smallest group found over which whole buffers change places.
bool LayoutSearch::findSources(const Layout &before, LayoutStep &step) {
  Layout a = cutAt(mesh, shape, before, partsOf(step.result));
  Layout b = cutAt(mesh, shape, step.result, partsOf(a));
  PartList changed, all;
  for (const auto &[part, placement] : a.entries) {
    if (placement.isPartial())
      continue;
    all.push_back(part);
    const AxisPlacement *other = b.find(part);
    if (!other || !placement.isReplicate() || !other->placement.isReplicate())
      changed.push_back(part);
  }
  // A major part that stays does not prevent that.
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    PartList now = a.partsSharding(dim), next = b.partsSharding(dim);
    for (size_t i = 0; i < std::min(now.size(), next.size()); ++i) {
      if (now[i] != next[i])
        break;
      llvm::erase(changed, now[i]);
    }
  }
  for (PartList *parts : {&changed, &all}) {
    llvm::sort(*parts);
    if (std::optional<std::vector<int64_t>> sources =
            permutationBetween(mesh, shape, before, step.result, *parts)) {
      step.parts = joined(*parts);
      step.sources = std::move(*sources);
      return true;
    }
  }
  return false;
}

bool LayoutSearch::isLegal(const Layout &before, LayoutStep &step) {
  if (step.kind == StepKind::Permute)
    return findSources(before, step);
  std::optional<Layout> after = layoutAfter(mesh, shape, before, step);
  return after && holdsSame(mesh, shape, *after, step.result);
}

std::vector<LayoutStep> LayoutSearch::stepsTo(size_t at) {
  std::vector<size_t> way;
  for (std::optional<size_t> i = at; reached[*i].previous;
       i = reached[*i].previous)
    way.insert(way.begin(), *i);
  std::vector<LayoutStep> steps;
  Layout before = from;
  for (auto [i, number] : llvm::enumerate(way)) {
    const Move &move = reached[number].move;
    const CanonicalLayout &source =
        reached[*reached[number].previous].move.next;
    LayoutStep step = stepOf(move);
    // The dimension that is added to, as the step adds to it.
    std::map<int64_t, ChainForm> added;
    if (move.kind == StepKind::LocalSlice ||
        move.kind == StepKind::ReduceScatter || move.kind == StepKind::AllToAll)
      for (const ChainForm &form : chains[source.chains[move.dim]].forms)
        if (form.chunking == move.chunking) {
          added[move.dim] = form;
          llvm::append_range(added[move.dim].parts, move.parts);
        }
    // Written for the step after this one, if that is possible.
    std::vector<Layout> results;
    if (i + 1 == way.size()) {
      results = {to};
    } else {
      const Move &next = reached[way[i + 1]].move;
      results = {writtenFor(move.next, next, added),
                 writtenFor(move.next, next)};
    }
    results.push_back(moves.write(move.next, added));
    results.push_back(moves.write(move.next));
    auto tryFrom = [&](const Layout &layout) {
      for (const Layout &result : results) {
        step.result = result;
        if (isLegal(layout, step))
          return true;
      }
      return false;
    };
    if (!tryFrom(before)) {
      Layout needed = writtenFor(source, move);
      steps.emplace_back(StepKind::Reinterpret).result = needed;
      if (!tryFrom(needed))
        return {};
    }
    before = step.result;
    steps.push_back(std::move(step));
  }
  if (before != to)
    steps.emplace_back(StepKind::Reinterpret).result = to;
  return steps;
}
