//===- AxisChains.cpp - what shards one dimension -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisChains.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace tp;

/// A rank away from 0 along every prime factor of every axis, each by itself,
/// and the last rank.
static std::vector<int64_t> ranksOfEveryKind(const Mesh &mesh) {
  std::vector<int64_t> coordinates(mesh.axes.size(), 0);
  std::vector<int64_t> ranks = {mesh.rankAt(coordinates)};
  for (auto [axis, named] : llvm::enumerate(mesh.axes)) {
    int64_t rest = named.size;
    for (int64_t prime = 2; rest > 1; ++prime)
      while (rest % prime == 0) {
        rest /= prime;
        coordinates[axis] = (prime - 1) * rest;
        ranks.push_back(mesh.rankAt(coordinates));
      }
    coordinates[axis] = 0;
  }
  for (auto [axis, named] : llvm::enumerate(mesh.axes))
    coordinates[axis] = named.size - 1;
  ranks.push_back(mesh.rankAt(coordinates));
  return ranks;
}

AxisChains::AxisChains(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<const Layout *> layouts, bool anywhere)
    : mesh(mesh), shape(shape), sampleRanks(ranksOfEveryKind(mesh)),
      places(mesh.axes.size()) {
  for (const Layout *layout : layouts)
    for (const AxisPlacement &entry : layout->entries) {
      places[entry.part.axis].insert(entry.part.major);
      places[entry.part.axis].insert(entry.part.major * entry.part.size);
    }
  for (auto [axis, cuts] : llvm::zip(mesh.axes, places))
    for (int64_t place = 1; anywhere && place <= axis.size; ++place)
      if (axis.size % place == 0)
        cuts.insert(place);
  for (size_t dim = 0; dim < shape.size(); ++dim)
    placements.push_back({Placement::shard(dim)});
  for (const Layout *layout : layouts)
    for (const auto &[part, placement] : layout->entries)
      if (placement.isShard() && part.size > 1 &&
          !llvm::is_contained(placements[placement.dim], placement))
        placements[placement.dim].push_back(placement);
  // In units of its chunk an uneven shard over an axis is one over the parts
  // of the axis, too.
  for (const Layout *layout : layouts)
    for (auto [dim, size] : llvm::enumerate(shape)) {
      int64_t chunk = layout->localSize(dim, size);
      Placement inChunks = Placement::shard(dim, chunk);
      if (chunk > 1 && chunk * layout->shardCount(dim) != size &&
          chunk < size && !llvm::is_contained(placements[dim], inChunks))
        placements[dim].push_back(std::move(inChunks));
    }
}

/// Where `part`, the last that splits anything, splits `units` single units
/// over more ranks: keeps the minor part that has a rank for each. No rank away
/// from 0 along the major rest holds anything, so its order makes no
/// difference.
static void removeEmptyHalves(AxisPart &part, PartList &interchangeable,
                              int64_t units) {
  AxisPart whole = part;
  for (const AxisPart &other : interchangeable)
    if (other.axis == part.axis && other.major * other.size == part.major) {
      whole.major = other.major;
      whole.size *= other.size;
      llvm::erase(interchangeable, AxisPart(other));
      break;
    }
  int64_t size = units;
  while (size < whole.size && whole.size % size)
    ++size;
  part = {whole.axis, whole.major * (whole.size / size), size};
  if (size < whole.size)
    interchangeable.push_back({whole.axis, whole.major, whole.size / size});
  llvm::sort(interchangeable);
  interchangeable = joined(interchangeable);
}

ChainForm AxisChains::coarsest(int64_t dim, unsigned chunking,
                               llvm::ArrayRef<AxisPart> parts) const {
  ChainForm form{chunking, {}, 0};
  // Nothing of an empty dimension can be split.
  if (shape[dim] == 0)
    return form;
  const Placement &shard = placements[dim][chunking];
  std::vector<int64_t> chunks = shard.segments, beforeLast;
  if (chunks.empty())
    chunks = {shape[dim]};
  PartList interchangeable;
  for (AxisPart part : parts) {
    if (part.size == 1)
      continue;
    if (!interchangeable.empty() || llvm::all_of(chunks, [&](int64_t chunk) {
          return chunk <= shard.unit;
        })) {
      interchangeable.push_back(part);
      continue;
    }
    std::vector<int64_t> next;
    for (int64_t chunk : chunks)
      next.push_back(chunkSize(chunk, shard.unit, part.size));
    auto isOnePartWith = [&](AxisPart last) {
      if (last.axis != part.axis || last.major * last.size != part.major)
        return false;
      for (size_t i = 0; i < chunks.size(); ++i)
        if (beforeLast[i] > shard.unit && chunks[i] != part.size * next[i])
          return false;
      return true;
    };
    if (!form.parts.empty() && isOnePartWith(form.parts.back())) {
      form.parts.back().size *= part.size;
    } else {
      form.parts.push_back(part);
      beforeLast = chunks;
    }
    chunks = std::move(next);
  }
  llvm::sort(interchangeable);
  interchangeable = joined(interchangeable);
  if (!form.parts.empty() &&
      llvm::all_of(chunks, [&](int64_t chunk) { return chunk <= shard.unit; }))
    removeEmptyHalves(
        form.parts.back(), interchangeable,
        llvm::divideCeil(*llvm::max_element(beforeLast), shard.unit));
  form.firstInterchangeable = form.parts.size();
  llvm::append_range(form.parts, interchangeable);
  return form;
}

Layout AxisChains::layoutOf(int64_t dim, const ChainForm &form) const {
  Layout layout;
  for (AxisPart part : form.parts)
    layout.entries.push_back({part, placements[dim][form.chunking]});
  return layout;
}

const std::vector<AxisChains::SubAxisCut> &AxisChains::partsIn(AxisPart range) {
  auto [it, isNew] = subAxisCuts.try_emplace(range);
  if (!isNew)
    return it->second;
  int64_t start = range.major, stop = range.major * range.size;
  std::set<int64_t> ends = {start, stop};
  for (int64_t place : places[range.axis])
    if (place % start == 0 && stop % place == 0)
      ends.insert(place);
  for (int64_t begin : ends)
    for (int64_t end : ends) {
      if (end <= begin || end % begin)
        continue;
      SubAxisCut cut{{range.axis, begin, end / begin}, {}};
      if (begin > start)
        cut.rest.push_back({range.axis, start, begin / start});
      if (stop > end)
        cut.rest.push_back({range.axis, end, stop / end});
      it->second.push_back(std::move(cut));
    }
  llvm::sort(it->second, [](const SubAxisCut &a, const SubAxisCut &b) {
    return std::tie(b.part.size, a.part.major) <
           std::tie(a.part.size, b.part.major);
  });
  return it->second;
}

ChainId AxisChains::find(int64_t dim, unsigned chunking, PartList parts) {
  std::pair<int64_t, ChainForm> key{dim, {chunking, std::move(parts), 0}};
  if (auto it = written.find(key); it != written.end())
    return it->second;
  ChainForm form = coarsest(dim, chunking, key.second.parts);
  Layout layout = layoutOf(dim, form);
  std::vector<ChainForm> forms;
  for (unsigned other = 0; other < placements[dim].size(); ++other) {
    if (other == chunking) {
      forms.push_back(form);
      continue;
    }
    ChainForm same = coarsest(dim, other, form.parts);
    if (form.parts.empty() ||
        sameShards(mesh, shape[dim], dim, layout, layoutOf(dim, same)))
      forms.push_back(std::move(same));
  }
  auto [it, isNew] = canonical.try_emplace({dim, forms.front()}, chains.size());
  if (isNew) {
    AxisChain &chain = chains.emplace_back();
    chain.dim = dim;
    chain.localSize = layout.localSize(dim, shape[dim]);
    for (AxisPart part : form.parts)
      chain.shards *= part.size;
    for (int64_t rank : sampleRanks)
      chain.held.push_back(heldElements(mesh, shape[dim], dim, layout, rank));
    chain.forms = std::move(forms);
  }
  written.emplace(std::move(key), it->second);
  return it->second;
}

ChainId AxisChains::findIn(const Layout &layout, int64_t dim) {
  unsigned chunking = 0;
  PartList parts;
  for (const auto &[part, placement] : layout.entries) {
    if (!placement.isShard() || placement.dim != dim || part.size == 1)
      continue;
    chunking = llvm::find(placements[dim], placement) - placements[dim].begin();
    parts.push_back(part);
  }
  return find(dim, chunking, std::move(parts));
}

const std::vector<RemovableAxis> &AxisChains::removableAxes(ChainId chain) {
  auto [it, isNew] = detached.try_emplace(chain);
  if (!isNew)
    return it->second;
  std::vector<RemovableAxis> result;
  int64_t dim = chains[chain].dim;
  for (const ChainForm &form : chains[chain].forms) {
    // Only the minor end of the last part, and only where that is a chunk of
    // its own.
    auto detachFrom = [&](AxisPart last, const PartList &before) {
      for (const SubAxisCut &cut : partsIn(last)) {
        AxisPart part = cut.part;
        if (part.major * part.size != last.major * last.size)
          continue;
        PartList kept = before;
        llvm::append_range(kept, cut.rest);
        PartList all = kept;
        all.push_back(part);
        if (find(dim, form.chunking, std::move(all)) == chain)
          result.push_back(
              {form.chunking, part, find(dim, form.chunking, std::move(kept))});
      }
    };
    if (form.firstInterchangeable < form.parts.size()) {
      for (size_t i = form.firstInterchangeable; i < form.parts.size(); ++i)
        for (const SubAxisCut &cut : partsIn(form.parts[i])) {
          PartList rest = form.parts;
          rest.erase(rest.begin() + i);
          rest.insert(rest.begin() + i, cut.rest.begin(), cut.rest.end());
          result.push_back({form.chunking, cut.part,
                            find(dim, form.chunking, std::move(rest))});
        }
      // The same written as one part of which the major end is empty.
      if (form.firstInterchangeable == 0 ||
          form.firstInterchangeable + 1 != form.parts.size())
        continue;
      AxisPart minor = form.parts[form.firstInterchangeable - 1],
               major = form.parts.back();
      if (major.axis == minor.axis && major.major * major.size == minor.major)
        detachFrom({major.axis, major.major, major.size * minor.size},
                   PartList(form.parts.begin(), form.parts.end() - 2));
      continue;
    }
    if (!form.parts.empty())
      detachFrom(form.parts.back(),
                 PartList(form.parts.begin(), form.parts.end() - 1));
  }
  // `find` may have added chains, but none that asks for this one.
  return detached[chain] = std::move(result);
}

unsigned AxisChains::chunksOf(ChainId number) {
  if (auto it = chunkNumbers.find(number); it != chunkNumbers.end())
    return it->second;
  const AxisChain &chain = chains[number];
  const ChainForm &form = chain.forms.front();
  Chunks chunks{0, {}};
  if (placements[chain.dim][form.chunking].segments.empty() &&
      chain.localSize * chain.shards == shape[chain.dim]) {
    // Neighbouring chunks of one size.
    chunks.first = chain.shards;
  } else {
    Layout layout = layoutOf(chain.dim, form);
    std::map<std::vector<int64_t>, int64_t> counts;
    for (int64_t position = 0; position < chain.shards; ++position) {
      std::vector<int64_t> held;
      for (const Interval &interval :
           heldElements(mesh, shape[chain.dim], chain.dim, layout,
                        mesh.rankAlong(form.parts, position)))
        held.insert(held.end(), {interval.globalOffset, interval.localOffset,
                                 interval.size});
      ++counts[std::move(held)];
    }
    int64_t common = 0;
    for (const auto &[held, count] : counts)
      common = std::gcd(common, count);
    for (const auto &[held, count] : counts)
      chunks.second.push_back({held, count / common});
  }
  unsigned result =
      knownChunks.try_emplace(std::move(chunks), knownChunks.size())
          .first->second;
  chunkNumbers[number] = result;
  return result;
}
