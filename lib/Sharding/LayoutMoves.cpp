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

LayoutMoves::LayoutMoves(AxisChains &chains, int64_t elementBytes,
                         const Layout &target, size_t partsLimit)
    : chains(chains), mesh(chains.mesh), elementBytes(elementBytes),
      targetPartials(partialsOf(target)), partsLimit(partsLimit) {}

CanonicalLayout LayoutMoves::canonicalLayoutOf(const Layout &layout) {
  CanonicalLayout result;
  for (size_t dim = 0; dim < chains.shape.size(); ++dim)
    result.chains.push_back(chains.findIn(layout, dim));
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

PartList LayoutMoves::notPartial(const CanonicalLayout &canonical) const {
  PartList partial;
  for (const PartialPart &entry : canonical.partials)
    partial.push_back(entry.part);
  return without({std::move(partial)});
}

PartList LayoutMoves::replicated(const CanonicalLayout &from) const {
  std::vector<PartList> used;
  for (ChainId chain : from.chains)
    used.push_back(chains[chain].forms.front().parts);
  for (const PartialPart &entry : from.partials)
    used.push_back({entry.part});
  return without(std::move(used));
}

std::vector<int64_t> LayoutMoves::localShape(const CanonicalLayout &at) const {
  std::vector<int64_t> shape;
  for (ChainId chain : at.chains)
    shape.push_back(chains[chain].localSize);
  return shape;
}

Layout LayoutMoves::write(const CanonicalLayout &canonical,
                          const std::map<int64_t, ChainForm> &forms) const {
  Layout layout;
  for (auto [dim, chain] : llvm::enumerate(canonical.chains)) {
    auto given = forms.find(dim);
    const ChainForm &form =
        given == forms.end() ? chains[chain].forms.front() : given->second;
    for (AxisPart part : form.parts)
      layout.entries.push_back({part, chains.placement(dim, form.chunking)});
  }
  for (const PartialPart &entry : canonical.partials)
    layout.entries.push_back({entry.part, Placement::partial(entry.kind)});
  for (AxisPart part : replicated(canonical))
    layout.entries.push_back({part, Placement::replicate()});
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
    if (mesh.axes[axis].size == 1)
      layout.entries.push_back({mesh.wholeAxis(axis), Placement::replicate()});
  layout.canonicalize();
  return layout;
}

void LayoutMoves::price(Move &move, const CanonicalLayout &from) const {
  int64_t ranks = groupSize(move.parts);
  int64_t elements =
      elementsMoved(move.kind, move.reduction, move.dim, localShape(from),
                    localShape(move.next), ranks);
  move.cost = stepCost(move.kind, elements, elementBytes, ranks);
}

//===----------------------------------------------------------------------===//
// Choosing parts
//===----------------------------------------------------------------------===//

/// `ranges` without the one at `at`, of which `left` stays.
static PartList replaced(const PartList &ranges, size_t at,
                         const PartList &left) {
  PartList result = ranges;
  result.erase(result.begin() + at);
  result.insert(result.begin() + at, left.begin(), left.end());
  return result;
}

/// Every chain that `chain` becomes when parts of `ranges` are appended.
void LayoutMoves::append(ChainId chain, const PartList &ranges,
                         Appended visit) {
  std::set<std::pair<unsigned, ChainId>> seen;
  PartList chosen;
  auto extend = [&](auto &&self, const ChainForm &form,
                    const PartList &rest) -> void {
    for (size_t i = 0; i < rest.size(); ++i)
      for (const auto &[part, left] : chains.partsIn(rest[i])) {
        ++tried;
        if (isExhausted())
          return;
        ChainForm longer = form;
        longer.parts.push_back(part);
        ChainId next =
            chains.find(chains[chain].dim, longer.chunking, longer.parts);
        // An empty dimension stays as it is.
        if (next == chain || !seen.insert({longer.chunking, next}).second)
          continue;
        PartList others = replaced(rest, i, left);
        chosen.push_back(part);
        if (visit(next, chosen, others, longer.chunking))
          self(self, longer, others);
        chosen.pop_back();
      }
  };
  for (const ChainForm &form : chains[chain].forms)
    extend(extend, form, ranges);
}

/// Everything that can be taken from the minor end of `chain`.
void LayoutMoves::detach(ChainId chain, Detached visit) {
  PartList chosen;
  auto extend = [&](auto &&self, ChainId at,
                    std::optional<unsigned> chunking) -> void {
    for (const RemovableAxis &removable : chains.removableAxes(at)) {
      if (isExhausted() || (chunking && *chunking != removable.chunking))
        continue;
      ++tried;
      chosen.insert(chosen.begin(), removable.part);
      if (visit(removable.rest, chosen, removable.chunking))
        self(self, removable.rest, removable.chunking);
      chosen.erase(chosen.begin());
    }
  };
  extend(extend, chain, std::nullopt);
}

/// Every choice of parts in `ranges`, in mesh order.
void LayoutMoves::choose(const PartList &ranges, Chosen visit) {
  std::set<PartList> seen;
  PartList chosen;
  auto extend = [&](auto &&self, const PartList &rest) -> void {
    for (size_t i = 0; i < rest.size(); ++i)
      for (const auto &[part, left] : chains.partsIn(rest[i])) {
        ++tried;
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
  extend(extend, ranges);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void LayoutMoves::forEach(const CanonicalLayout &from, Visitor visit) {
  slices(from, visit);
  reductions(from, visit, /*scatters=*/true);
  allToAlls(from, visit);
  gathers(from, visit);
  reductions(from, visit, /*scatters=*/false);
  localPartials(from, visit);
}

bool LayoutMoves::offer(Move move, const CanonicalLayout &from, int64_t dim,
                        ChainId next, Visitor visit) const {
  move.dim = dim;
  move.next.chains[dim] = next;
  price(move, from);
  return visit(move);
}

void LayoutMoves::slices(const CanonicalLayout &from, Visitor visit) {
  PartList ranges = replicated(from);
  for (auto [dim, chain] : llvm::enumerate(from.chains))
    append(chain, ranges,
           [&](ChainId next, const PartList &chosen, const PartList &,
               unsigned chunking) {
             Move move(StepKind::LocalSlice);
             move.parts = chosen;
             move.chunking = chunking;
             move.next = from;
             return offer(std::move(move), from, dim, next, visit);
           });
}

void LayoutMoves::reductions(const CanonicalLayout &from, Visitor visit,
                             bool scatters) {
  // Only what no other kind has to combine before can be reduced: the last
  // entries, and those of their kind.
  PartialParts kept;
  PartList ranges;
  ReductionKind kind = ReductionKind::Sum;
  for (const PartialPart &entry : llvm::reverse(from.partials)) {
    if (kept.empty() && (ranges.empty() || entry.kind == kind)) {
      kind = entry.kind;
      ranges.push_back(entry.part);
      continue;
    }
    kept.push_back(entry);
  }
  llvm::sort(ranges);
  auto left = [&](const PartList &rest) {
    PartialParts partials = kept;
    for (AxisPart part : rest)
      partials.push_back({part, kind});
    return inMeshOrder(std::move(partials));
  };
  if (!scatters) {
    choose(ranges, [&](const PartList &chosen, const PartList &rest) {
      Move move(StepKind::AllReduce, kind);
      move.parts = chosen;
      move.next = {from.chains, left(rest)};
      price(move, from);
      visit(move);
    });
    return;
  }
  for (auto [dim, chain] : llvm::enumerate(from.chains))
    append(chain, ranges,
           [&](ChainId next, const PartList &chosen, const PartList &rest,
               unsigned chunking) {
             Move move(StepKind::ReduceScatter, kind);
             move.parts = chosen;
             move.chunking = chunking;
             move.next = {from.chains, left(rest)};
             return offer(std::move(move), from, dim, next, visit);
           });
}

void LayoutMoves::allToAlls(const CanonicalLayout &from, Visitor visit) {
  for (auto [source, chain] : llvm::enumerate(from.chains)) {
    std::set<std::pair<ChainId, ChainId>> seen;
    detach(chain, [&](ChainId rest, const PartList &chosen, unsigned chunking) {
      for (auto [dim, other] : llvm::enumerate(from.chains)) {
        if (dim == source || chains.shape[dim] == 0)
          continue;
        for (const ChainForm &form : chains[other].forms) {
          PartList parts = form.parts;
          llvm::append_range(parts, chosen);
          ChainId next = chains.find(dim, form.chunking, std::move(parts));
          if (!seen.insert({rest, next}).second)
            continue;
          Move move(StepKind::AllToAll);
          move.dim = dim;
          move.sourceDim = source;
          move.parts = chosen;
          move.sourceChunking = chunking;
          move.chunking = form.chunking;
          move.next = from;
          move.next.chains[source] = rest;
          move.next.chains[dim] = next;
          price(move, from);
          visit(move);
        }
      }
      return true;
    });
  }
}

void LayoutMoves::gathers(const CanonicalLayout &from, Visitor visit) {
  for (auto [dim, chain] : llvm::enumerate(from.chains)) {
    std::set<std::pair<unsigned, ChainId>> seen;
    detach(chain, [&](ChainId rest, const PartList &chosen, unsigned chunking) {
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

/// The intersection of two ranges of an axis, if it is a sub-axis.
static std::optional<AxisPart> common(AxisPart a, AxisPart b) {
  int64_t start = std::max(a.major, b.major);
  int64_t end = std::min(a.major * a.size, b.major * b.size);
  if (a.axis != b.axis || end <= start || end % start || start % a.major ||
      (a.major * a.size) % end)
    return std::nullopt;
  return AxisPart{a.axis, start, end / start};
}

void LayoutMoves::localPartials(const CanonicalLayout &from, Visitor visit) {
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
    PartList wanted, ranges;
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
        ranges.push_back(part);
    choose(ranges, [&](const PartList &chosen, const PartList &) {
      Move move(StepKind::LocalPartial, kind);
      move.parts = chosen;
      PartialParts partials = from.partials;
      for (AxisPart part : chosen)
        partials.push_back({part, kind});
      move.next = {from.chains, inMeshOrder(std::move(partials))};
      price(move, from);
      visit(move);
    });
  }
}
