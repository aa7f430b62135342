//===- LayoutPermutations.cpp - steps that exchange ranks' blocks ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutMoves.h"

using namespace tp;

Cost LayoutMoves::costOfPermute(const CanonicalLayout &from) {
  Move move(StepKind::Permute);
  move.next = from;
  price(move, from);
  return move.cost;
}

/// Gives `dim` and the dimensions after it chains over parts of `rest` with the
/// chunks of `from`.
void LayoutMoves::permuteFrom(const CanonicalLayout &from, int64_t dim,
                              const PartList &rest, CanonicalLayout &next,
                              std::vector<CanonicalLayout> &found) {
  if (dim == static_cast<int64_t>(from.chains.size())) {
    found.push_back(next);
    return;
  }
  int64_t size = chains[from.chains[dim]].localSize;
  unsigned chunks = chains.chunksOf(from.chains[dim]);
  std::set<ChainId> seen;
  auto take = [&](ChainId chain, const PartList &others) {
    if (chains[chain].localSize != size || chains.chunksOf(chain) != chunks ||
        !seen.insert(chain).second)
      return;
    next.chains[dim] = chain;
    permuteFrom(from, dim + 1, others, next, found);
  };
  ChainId whole = chains.find(dim, 0, {});
  take(whole, rest);
  append(
      whole, rest,
      [&](ChainId chain, const PartList &, const PartList &others, unsigned) {
        take(chain, others);
        return chains[chain].localSize >= size;
      });
}

void LayoutMoves::forEachPermutation(const CanonicalLayout &from,
                                     Visitor visit) {
  std::vector<int64_t> held;
  for (ChainId chain : from.chains) {
    held.push_back(chains[chain].localSize);
    held.push_back(chains.chunksOf(chain));
  }
  auto [it, isNew] = permutations.try_emplace({held, from.partials});
  if (isNew) {
    CanonicalLayout next = from;
    permuteFrom(from, 0, notPartial(from), next, it->second);
  }
  Move move(StepKind::Permute);
  move.cost = costOfPermute(from);
  for (const CanonicalLayout &next : it->second) {
    ++tried;
    if (next == from)
      continue;
    move.next = next;
    visit(move);
  }
}
