//===- AxisChains.h - what shards one dimension -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A nest is what splits one dimension of a tensor: axis parts, major first, and
// the chunking they follow. Nests get numbers, and two nests have one number
// exactly if all ranks hold the same, however they are written: parts that are
// one part of an axis where chunks divide evenly, units that change nothing,
// orders that make no difference because a single chunk is left to split.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_AXISCHAINS_H
#define TP_LIB_SHARDING_AXISCHAINS_H

#include "tp/Sharding/LayoutChange.h"
#include "llvm/ADT/SmallVector.h"
#include <deque>
#include <map>
#include <set>

namespace tp {

using ChainId = unsigned;
using PartList = std::vector<AxisPart>;

/// One way to write a nest: a chunking, by its number, and parts.
struct ChainForm {
  unsigned chunking = 0;
  PartList parts;
  /// The first of the parts at the end whose order makes no difference: only
  /// the rank at 0 along them holds anything.
  size_t firstInterchangeable = 0;
  auto operator<=>(const ChainForm &) const = default;
};

/// A part that may be taken from the minor end, and the nest that is left.
struct RemovableAxis {
  unsigned chunking = 0;
  AxisPart part;
  ChainId rest = 0;
};

struct AxisChain {
  int64_t dim = 0;
  /// All chunkings under which the ranks hold this, lowest number first.
  std::vector<ChainForm> forms;
  int64_t localSize = 0, shards = 1;
  /// What each sample rank holds.
  std::vector<std::vector<Interval>> held;
};

/// The nests of one tensor's dimensions, made on demand.
class AxisChains {
public:
  /// Dimensions have the chunking without unit and segments, those that they
  /// have in `layouts`, and where these are uneven that of whole chunks.
  /// Axes are cut where `layouts` cut them, and if `anywhere` at all divisors
  /// of their sizes.
  AxisChains(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<const Layout *> layouts, bool anywhere);

  const Mesh &mesh;
  const llvm::ArrayRef<int64_t> shape;
  /// Ranks whose elements are looked at as an example of all.
  std::vector<int64_t> sampleRanks;

  const AxisChain &operator[](ChainId chain) const { return chains[chain]; }
  /// The number of the nest over `parts`, none of which is in it twice.
  ChainId find(int64_t dim, unsigned chunking, PartList parts);
  ChainId findIn(const Layout &layout, int64_t dim);
  /// A part of a stretch of an axis, and what it leaves.
  struct SubAxisCut {
    AxisPart part;
    PartList rest;
  };
  /// The parts of `range`, larger ones first.
  const std::vector<SubAxisCut> &partsIn(AxisPart range);
  size_t chunkings(int64_t dim) const { return placements[dim].size(); }
  const Placement &placement(int64_t dim, unsigned chunking) const {
    return placements[dim][chunking];
  }
  /// What can be taken from the minor end of `chain`.
  const std::vector<RemovableAxis> &removableAxes(ChainId chain);
  /// Nests of a dimension with equal numbers hold the same chunks, each as
  /// often as the other, on ranks that differ.
  unsigned chunksOf(ChainId chain);

private:
  ChainForm coarsest(int64_t dim, unsigned chunking,
                     llvm::ArrayRef<AxisPart> parts) const;
  Layout layoutOf(int64_t dim, const ChainForm &form) const;

  /// Where axes are cut: products of the sizes of the parts before.
  std::vector<std::set<int64_t>> places;
  std::map<AxisPart, std::vector<SubAxisCut>> subAxisCuts;
  std::vector<std::vector<Placement>> placements;
  std::deque<AxisChain> chains;
  std::map<std::pair<int64_t, ChainForm>, ChainId> written, canonical;
  std::map<ChainId, std::vector<RemovableAxis>> detached;
  std::map<ChainId, unsigned> chunkNumbers;
  using Chunks =
      std::pair<int64_t, std::vector<std::pair<std::vector<int64_t>, int64_t>>>;
  std::map<Chunks, unsigned> knownChunks;
};

} // namespace tp

#endif // TP_LIB_SHARDING_AXISCHAINS_H
