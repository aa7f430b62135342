//===- LayoutMoves.cpp - all steps from one layout ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutMoves.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;

static PartialParts inMeshOrder(PartialParts parts) {
  llvm::sort(parts);
  PartialParts result;
  for (const PartialPart &next : parts) {
    if (next.part.size == 1)
      continue;
    if (!result.empty()) {
      PartialPart &last = result.back();
      if (last.kind == next.kind && last.part.axis == next.part.axis &&
          last.part.major * last.part.size == next.part.major) {
        last.part.size *= next.part.size;
        continue;
      }
    }
    result.push_back(next);
  }
  return result;
}

static PartialParts partialsOf(const Layout &layout) {
  PartialParts partials;
  for (const auto &[part, placement] : layout.entries)
    if (placement.isPartial())
      partials.push_back({part, placement.reduction});
  return inMeshOrder(std::move(partials));
}

static int64_t groupSize(const PartList &parts) {
  int64_t size = 1;
  for (AxisPart part : parts)
    size *= part.size;
  return size;
}

LayoutMoves::LayoutMoves(ShardNests &nests, int64_t elementBytes,
                         const Layout &target, size_t mostLooks)
    : nests(nests), mesh(nests.mesh), elementBytes(elementBytes),
      targetPartials(partialsOf(target)), mostLooks(mostLooks) {}

Arrangement LayoutMoves::arrangementOf(const Layout &layout) {
  Arrangement result;
  for (size_t dim = 0; dim < nests.shape.size(); ++dim)
    result.nests.push_back(nests.findIn(layout, dim));
  result.partials = partialsOf(layout);
  return result;
}

//===----------------------------------------------------------------------===//
// What an arrangement is made of
//===----------------------------------------------------------------------===//

/// What `used` leaves of the axes.
PartList LayoutMoves::without(std::vector<PartList> used) const {
  PartList rest;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    PartList taken;
    for (const PartList &parts : used)
      for (AxisPart part : parts)
        if (part.axis == axis)
          taken.push_back(part);
    llvm::sort(taken);
    taken.push_back({axis, mesh.axes[axis].size, 1});
    int64_t start = 1;
    for (AxisPart part : taken) {
      if (part.major > start)
        rest.push_back({axis, start, part.major / start});
      start = part.major * part.size;
    }
  }
  return rest;
}

PartList LayoutMoves::notPartial(const Arrangement &arrangement) const {
  PartList partial;
  for (const PartialPart &entry : arrangement.partials)
    partial.push_back(entry.part);
  return without({std::move(partial)});
}

PartList LayoutMoves::replicated(const Arrangement &from) const {
  std::vector<PartList> used;
  for (NestId nest : from.nests)
    used.push_back(nests[nest].forms.front().parts);
  for (const PartialPart &entry : from.partials)
    used.push_back({entry.part});
  return without(std::move(used));
}

std::vector<int64_t> LayoutMoves::localShape(const Arrangement &at) const {
  std::vector<int64_t> shape;
  for (NestId nest : at.nests)
    shape.push_back(nests[nest].localSize);
  return shape;
}

Layout LayoutMoves::write(const Arrangement &arrangement,
                          const std::map<int64_t, NestForm> &forms) const {
  Layout layout;
  for (auto [dim, nest] : llvm::enumerate(arrangement.nests)) {
    auto given = forms.find(dim);
    const NestForm &form =
        given == forms.end() ? nests[nest].forms.front() : given->second;
    for (AxisPart part : form.parts)
      layout.entries.push_back({part, nests.placement(dim, form.chunking)});
  }
  for (const PartialPart &entry : arrangement.partials)
    layout.entries.push_back({entry.part, Placement::partial(entry.kind)});
  for (AxisPart part : replicated(arrangement))
    layout.entries.push_back({part, Placement::replicate()});
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
    if (mesh.axes[axis].size == 1)
      layout.entries.push_back({mesh.wholeAxis(axis), Placement::replicate()});
  layout.canonicalize();
  return layout;
}

void LayoutMoves::price(Move &move, const Arrangement &from) const {
  int64_t ranks = groupSize(move.parts);
  int64_t elements =
      elementsMoved(move.kind, move.reduction, move.dim, localShape(from),
                    localShape(move.next), ranks);
  move.cost = stepCost(move.kind, elements, elementBytes, ranks);
}

//===----------------------------------------------------------------------===//
// Choosing parts
//===----------------------------------------------------------------------===//

/// `stretches` without the one at `at`, of which `left` stays.
static PartList replaced(const PartList &stretches, size_t at,
                         const PartList &left) {
  PartList result = stretches;
  result.erase(result.begin() + at);
  result.insert(result.begin() + at, left.begin(), left.end());
  return result;
}

/// Every nest that `nest` becomes when parts of `stretches` are added.
void LayoutMoves::append(NestId nest, const PartList &stretches,
                         Appended visit) {
  std::set<std::pair<unsigned, NestId>> seen;
  PartList chosen;
  auto extend = [&](auto &&self, const NestForm &form,
                    const PartList &rest) -> void {
    for (size_t i = 0; i < rest.size(); ++i)
      for (const auto &[part, left] : nests.partsIn(rest[i])) {
        ++looked;
        if (isExhausted())
          return;
        NestForm longer = form;
        longer.parts.push_back(part);
        NestId next =
            nests.find(nests[nest].dim, longer.chunking, longer.parts);
        // An empty dimension stays as it is.
        if (next == nest || !seen.insert({longer.chunking, next}).second)
          continue;
        PartList others = replaced(rest, i, left);
        chosen.push_back(part);
        if (visit(next, chosen, others, longer.chunking))
          self(self, longer, others);
        chosen.pop_back();
      }
  };
  for (const NestForm &form : nests[nest].forms)
    extend(extend, form, stretches);
}

/// Everything that can be taken from the minor end of `nest`.
void LayoutMoves::detach(NestId nest, Detached visit) {
  PartList chosen;
  auto extend = [&](auto &&self, NestId at,
                    std::optional<unsigned> chunking) -> void {
    for (const Detachment &detachment : nests.detachments(at)) {
      if (isExhausted() || (chunking && *chunking != detachment.chunking))
        continue;
      ++looked;
      chosen.insert(chosen.begin(), detachment.part);
      if (visit(detachment.rest, chosen, detachment.chunking))
        self(self, detachment.rest, detachment.chunking);
      chosen.erase(chosen.begin());
    }
  };
  extend(extend, nest, std::nullopt);
}

/// Every choice of parts in `stretches`, in mesh order.
void LayoutMoves::choose(const PartList &stretches, Chosen visit) {
  std::set<PartList> seen;
  PartList chosen;
  auto extend = [&](auto &&self, const PartList &rest) -> void {
    for (size_t i = 0; i < rest.size(); ++i)
      for (const auto &[part, left] : nests.partsIn(rest[i])) {
        ++looked;
        PartList others = replaced(rest, i, left);
        if (isExhausted() || !seen.insert(others).second)
          continue;
        chosen.push_back(part);
        PartList ordered = chosen;
        llvm::sort(ordered);
        visit(joined(ordered), others);
        self(self, others);
        chosen.pop_back();
      }
  };
  extend(extend, stretches);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void LayoutMoves::forEach(const Arrangement &from, Visitor visit) {
  slices(from, visit);
  reductions(from, visit, /*scatters=*/true);
  allToAlls(from, visit);
  gathers(from, visit);
  reductions(from, visit, /*scatters=*/false);
  localPartials(from, visit);
}

bool LayoutMoves::offer(Move move, const Arrangement &from, int64_t dim,
                        NestId next, Visitor visit) const {
  move.dim = dim;
  move.next.nests[dim] = next;
  price(move, from);
  return visit(move);
}

void LayoutMoves::slices(const Arrangement &from, Visitor visit) {
  PartList stretches = replicated(from);
  for (auto [dim, nest] : llvm::enumerate(from.nests))
    append(nest, stretches,
           [&](NestId next, const PartList &chosen, const PartList &,
               unsigned chunking) {
             Move move(StepKind::LocalSlice);
             move.parts = chosen;
             move.chunking = chunking;
             move.next = from;
             return offer(std::move(move), from, dim, next, visit);
           });
}

void LayoutMoves::reductions(const Arrangement &from, Visitor visit,
                             bool scatters) {
  // Only what no other kind has to combine before can be reduced: the last
  // entries, and those of their kind.
  PartialParts kept;
  PartList stretches;
  ReductionKind kind = ReductionKind::Sum;
  for (const PartialPart &entry : llvm::reverse(from.partials)) {
    if (kept.empty() && (stretches.empty() || entry.kind == kind)) {
      kind = entry.kind;
      stretches.push_back(entry.part);
      continue;
    }
    kept.push_back(entry);
  }
  llvm::sort(stretches);
  auto left = [&](const PartList &rest) {
    PartialParts partials = kept;
    for (AxisPart part : rest)
      partials.push_back({part, kind});
    return inMeshOrder(std::move(partials));
  };
  if (!scatters) {
    choose(stretches, [&](const PartList &chosen, const PartList &rest) {
      Move move(StepKind::AllReduce, kind);
      move.parts = chosen;
      move.next = {from.nests, left(rest)};
      price(move, from);
      visit(move);
    });
    return;
  }
  for (auto [dim, nest] : llvm::enumerate(from.nests))
    append(nest, stretches,
           [&](NestId next, const PartList &chosen, const PartList &rest,
               unsigned chunking) {
             Move move(StepKind::ReduceScatter, kind);
             move.parts = chosen;
             move.chunking = chunking;
             move.next = {from.nests, left(rest)};
             return offer(std::move(move), from, dim, next, visit);
           });
}

void LayoutMoves::allToAlls(const Arrangement &from, Visitor visit) {
  for (auto [source, nest] : llvm::enumerate(from.nests)) {
    std::set<std::pair<NestId, NestId>> seen;
    detach(nest, [&](NestId rest, const PartList &chosen, unsigned chunking) {
      for (auto [dim, other] : llvm::enumerate(from.nests)) {
        if (dim == source || nests.shape[dim] == 0)
          continue;
        for (const NestForm &form : nests[other].forms) {
          PartList parts = form.parts;
          llvm::append_range(parts, chosen);
          NestId next = nests.find(dim, form.chunking, std::move(parts));
          if (!seen.insert({rest, next}).second)
            continue;
          Move move(StepKind::AllToAll);
          move.dim = dim;
          move.sourceDim = source;
          move.parts = chosen;
          move.sourceChunking = chunking;
          move.chunking = form.chunking;
          move.next = from;
          move.next.nests[source] = rest;
          move.next.nests[dim] = next;
          price(move, from);
          visit(move);
        }
      }
      return true;
    });
  }
}

void LayoutMoves::gathers(const Arrangement &from, Visitor visit) {
  for (auto [dim, nest] : llvm::enumerate(from.nests)) {
    std::set<std::pair<unsigned, NestId>> seen;
    detach(nest, [&](NestId rest, const PartList &chosen, unsigned chunking) {
      if (!seen.insert({chunking, rest}).second)
        return false;
      Move move(StepKind::AllGather);
      move.parts = chosen;
      move.sourceChunking = chunking;
      move.next = from;
      return offer(std::move(move), from, dim, rest, visit);
    });
  }
}

/// What two stretches of an axis have in common, if that is a part.
static std::optional<AxisPart> common(AxisPart a, AxisPart b) {
  int64_t start = std::max(a.major, b.major);
  int64_t end = std::min(a.major * a.size, b.major * b.size);
  if (a.axis != b.axis || end <= start || end % start || start % a.major ||
      (a.major * a.size) % end)
    return std::nullopt;
  return AxisPart{a.axis, start, end / start};
}

void LayoutMoves::localPartials(const Arrangement &from, Visitor visit) {
  std::vector<ReductionKind> kinds;
  for (const PartialPart &entry :
       llvm::concat<const PartialPart>(from.partials, targetPartials))
    if (!llvm::is_contained(kinds, entry.kind))
      kinds.push_back(entry.kind);
  PartList free = replicated(from);
  for (ReductionKind kind : kinds) {
    // Anything may become partial as other parts are, to be scattered with
    // them.
    bool isThere = llvm::any_of(from.partials, [&](const PartialPart &entry) {
      return entry.kind == kind;
    });
    PartList wanted, stretches;
    for (AxisPart part : free) {
      if (isThere)
        wanted.push_back(part);
      else
        for (const PartialPart &entry : targetPartials)
          if (std::optional<AxisPart> both = common(part, entry.part);
              both && entry.kind == kind)
            wanted.push_back(*both);
    }
    // Another kind that combines later would have to combine first.
    for (AxisPart part : wanted)
      if (llvm::none_of(from.partials, [&](const PartialPart &entry) {
            return entry.kind != kind && entry.part > part;
          }))
        stretches.push_back(part);
    choose(stretches, [&](const PartList &chosen, const PartList &) {
      Move move(StepKind::LocalPartial, kind);
      move.parts = chosen;
      PartialParts partials = from.partials;
      for (AxisPart part : chosen)
        partials.push_back({part, kind});
      move.next = {from.nests, inMeshOrder(std::move(partials))};
      price(move, from);
      visit(move);
    });
  }
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

Cost LayoutMoves::costOfPermute(const Arrangement &from) {
  Move move(StepKind::Permute);
  move.next = from;
  price(move, from);
  return move.cost;
}

/// Gives `dim` and those after it nests over parts of `rest` whose chunks are
/// those of `from`.
void LayoutMoves::permuteFrom(const Arrangement &from, int64_t dim,
                              const PartList &rest, Arrangement &next,
                              std::vector<Arrangement> &found) {
  if (dim == static_cast<int64_t>(from.nests.size())) {
    found.push_back(next);
    return;
  }
  int64_t size = nests[from.nests[dim]].localSize;
  unsigned chunks = nests.chunksOf(from.nests[dim]);
  std::set<NestId> seen;
  auto take = [&](NestId nest, const PartList &others) {
    if (nests[nest].localSize != size || nests.chunksOf(nest) != chunks ||
        !seen.insert(nest).second)
      return;
    next.nests[dim] = nest;
    permuteFrom(from, dim + 1, others, next, found);
  };
  NestId whole = nests.find(dim, 0, {});
  take(whole, rest);
  append(whole, rest,
         [&](NestId nest, const PartList &, const PartList &others, unsigned) {
           take(nest, others);
           return nests[nest].localSize >= size;
         });
}

void LayoutMoves::forEachPermutation(const Arrangement &from, Visitor visit) {
  std::vector<int64_t> held;
  for (NestId nest : from.nests) {
    held.push_back(nests[nest].localSize);
    held.push_back(nests.chunksOf(nest));
  }
  auto [it, isNew] = permutations.try_emplace({held, from.partials});
  if (isNew) {
    Arrangement next = from;
    permuteFrom(from, 0, notPartial(from), next, it->second);
  }
  Move move(StepKind::Permute);
  move.cost = costOfPermute(from);
  for (const Arrangement &next : it->second) {
    ++looked;
    if (next == from)
      continue;
    move.next = next;
    visit(move);
  }
}
