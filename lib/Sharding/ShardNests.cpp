//===- ShardNests.cpp - the ways to split one dimension -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardNests.h"
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

ShardNests::ShardNests(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
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
/// over more ranks: keeps the minor part that has a rank for each. Nothing is
/// held away from 0 along the major rest, which becomes loose.
static void loosenEmptyHalves(AxisPart &part, PartList &loose, int64_t units) {
  AxisPart whole = part;
  for (const AxisPart &other : loose)
    if (other.axis == part.axis && other.major * other.size == part.major) {
      whole.major = other.major;
      whole.size *= other.size;
      llvm::erase(loose, AxisPart(other));
      break;
    }
  int64_t size = units;
  while (size < whole.size && whole.size % size)
    ++size;
  part = {whole.axis, whole.major * (whole.size / size), size};
  if (size < whole.size)
    loose.push_back({whole.axis, whole.major, whole.size / size});
  llvm::sort(loose);
  loose = joined(loose);
}

NestForm ShardNests::coarsest(int64_t dim, unsigned chunking,
                              llvm::ArrayRef<AxisPart> parts) const {
  NestForm form{chunking, {}, 0};
  // Nothing of an empty dimension can be split.
  if (shape[dim] == 0)
    return form;
  const Placement &shard = placements[dim][chunking];
  std::vector<int64_t> chunks = shard.segments, beforeLast;
  if (chunks.empty())
    chunks = {shape[dim]};
  PartList loose;
  for (AxisPart part : parts) {
    if (part.size == 1)
      continue;
    if (!loose.empty() || llvm::all_of(chunks, [&](int64_t chunk) {
          return chunk <= shard.unit;
        })) {
      loose.push_back(part);
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
  llvm::sort(loose);
  loose = joined(loose);
  if (!form.parts.empty() &&
      llvm::all_of(chunks, [&](int64_t chunk) { return chunk <= shard.unit; }))
    loosenEmptyHalves(
        form.parts.back(), loose,
        llvm::divideCeil(*llvm::max_element(beforeLast), shard.unit));
  form.loose = form.parts.size();
  llvm::append_range(form.parts, loose);
  return form;
}

Layout ShardNests::layoutOf(int64_t dim, const NestForm &form) const {
  Layout layout;
  for (AxisPart part : form.parts)
    layout.entries.push_back({part, placements[dim][form.chunking]});
  return layout;
}

const std::vector<ShardNests::Cutting> &ShardNests::partsIn(AxisPart stretch) {
  auto [it, isNew] = cuttings.try_emplace(stretch);
  if (!isNew)
    return it->second;
  int64_t start = stretch.major, stop = stretch.major * stretch.size;
  std::set<int64_t> ends = {start, stop};
  for (int64_t place : places[stretch.axis])
    if (place % start == 0 && stop % place == 0)
      ends.insert(place);
  for (int64_t begin : ends)
    for (int64_t end : ends) {
      if (end <= begin || end % begin)
        continue;
      Cutting cutting{{stretch.axis, begin, end / begin}, {}};
      if (begin > start)
        cutting.rest.push_back({stretch.axis, start, begin / start});
      if (stop > end)
        cutting.rest.push_back({stretch.axis, end, stop / end});
      it->second.push_back(std::move(cutting));
    }
  llvm::sort(it->second, [](const Cutting &a, const Cutting &b) {
    return std::tie(b.part.size, a.part.major) <
           std::tie(a.part.size, b.part.major);
  });
  return it->second;
}

NestId ShardNests::find(int64_t dim, unsigned chunking, PartList parts) {
  std::pair<int64_t, NestForm> key{dim, {chunking, std::move(parts), 0}};
  if (auto it = written.find(key); it != written.end())
    return it->second;
  NestForm form = coarsest(dim, chunking, key.second.parts);
  Layout layout = layoutOf(dim, form);
  std::vector<NestForm> forms;
  for (unsigned other = 0; other < placements[dim].size(); ++other) {
    if (other == chunking) {
      forms.push_back(form);
      continue;
    }
    NestForm same = coarsest(dim, other, form.parts);
    if (form.parts.empty() ||
        sameShards(mesh, shape[dim], dim, layout, layoutOf(dim, same)))
      forms.push_back(std::move(same));
  }
  auto [it, isNew] = canonical.try_emplace({dim, forms.front()}, nests.size());
  if (isNew) {
    ShardNest &nest = nests.emplace_back();
    nest.dim = dim;
    nest.localSize = layout.localSize(dim, shape[dim]);
    for (AxisPart part : form.parts)
      nest.shards *= part.size;
    for (int64_t rank : sampleRanks)
      nest.held.push_back(heldElements(mesh, shape[dim], dim, layout, rank));
    nest.forms = std::move(forms);
  }
  written.emplace(std::move(key), it->second);
  return it->second;
}

NestId ShardNests::findIn(const Layout &layout, int64_t dim) {
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

const std::vector<Detachment> &ShardNests::detachments(NestId nest) {
  auto [it, isNew] = detached.try_emplace(nest);
  if (!isNew)
    return it->second;
  std::vector<Detachment> result;
  int64_t dim = nests[nest].dim;
  for (const NestForm &form : nests[nest].forms) {
    // Only the minor end of the last part, and only where that is a chunk of
    // its own.
    auto detachFrom = [&](AxisPart last, const PartList &before) {
      for (const Cutting &cutting : partsIn(last)) {
        AxisPart part = cutting.part;
        if (part.major * part.size != last.major * last.size)
          continue;
        PartList kept = before;
        llvm::append_range(kept, cutting.rest);
        PartList all = kept;
        all.push_back(part);
        if (find(dim, form.chunking, std::move(all)) == nest)
          result.push_back(
              {form.chunking, part, find(dim, form.chunking, std::move(kept))});
      }
    };
    if (form.loose < form.parts.size()) {
      for (size_t i = form.loose; i < form.parts.size(); ++i)
        for (const Cutting &cutting : partsIn(form.parts[i])) {
          PartList rest = form.parts;
          rest.erase(rest.begin() + i);
          rest.insert(rest.begin() + i, cutting.rest.begin(),
                      cutting.rest.end());
          result.push_back({form.chunking, cutting.part,
                            find(dim, form.chunking, std::move(rest))});
        }
      // The same written as one part of which the major end is empty.
      if (form.loose == 0 || form.loose + 1 != form.parts.size())
        continue;
      AxisPart minor = form.parts[form.loose - 1], major = form.parts.back();
      if (major.axis == minor.axis && major.major * major.size == minor.major)
        detachFrom({major.axis, major.major, major.size * minor.size},
                   PartList(form.parts.begin(), form.parts.end() - 2));
      continue;
    }
    if (!form.parts.empty())
      detachFrom(form.parts.back(),
                 PartList(form.parts.begin(), form.parts.end() - 1));
  }
  // `find` may have added nests, but none that asks for this one.
  return detached[nest] = std::move(result);
}

unsigned ShardNests::chunksOf(NestId number) {
  if (auto it = chunkNumbers.find(number); it != chunkNumbers.end())
    return it->second;
  const ShardNest &nest = nests[number];
  const NestForm &form = nest.forms.front();
  Chunks chunks{0, {}};
  if (placements[nest.dim][form.chunking].segments.empty() &&
      nest.localSize * nest.shards == shape[nest.dim]) {
    // Neighbouring chunks of one size.
    chunks.first = nest.shards;
  } else {
    Layout layout = layoutOf(nest.dim, form);
    std::map<std::vector<int64_t>, int64_t> counts;
    for (int64_t position = 0; position < nest.shards; ++position) {
      std::vector<int64_t> held;
      for (const Interval &interval :
           heldElements(mesh, shape[nest.dim], nest.dim, layout,
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
