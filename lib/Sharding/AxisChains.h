//===- AxisChains.h - what shards one dimension -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An axis chain shards one dimension of a tensor: axis parts, major first, and
// the chunking they follow. Chains are numbered. Two chains have the same
// number exactly if all ranks hold the same elements, whatever their spelling:
// adjacent parts of an axis may be merged where chunks divide evenly, a unit
// may change nothing, and the order of parts may not matter because a single
// chunk is left to split.
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

/// One spelling of a chain: a chunking, by its number, and axis parts.
struct ChainForm {
  unsigned chunking = 0;
  PartList parts;
  /// From this part on the order of parts makes no difference: only the rank at
  /// position 0 along them holds elements.
  size_t firstInterchangeable = 0;
  auto operator<=>(const ChainForm &) const = default;
};

/// An axis part that can be removed from the minor end of a chain, and the
/// chain that is left.
struct RemovableAxis {
  unsigned chunking = 0;
  AxisPart part;
  ChainId rest = 0;
};

struct AxisChain {
  int64_t dim = 0;
  /// All spellings of the chain, lowest chunking first.
  std::vector<ChainForm> forms;
  int64_t localSize = 0, shards = 1;
  /// What each sample rank holds.
  std::vector<std::vector<Interval>> held;
};

/// The chains of one tensor's dimensions, created on demand.
class AxisChains {
public:
  /// The chunkings of a dimension are the plain one, those in `layouts`, and,
  /// if these are uneven, the one in units of whole chunks. Sub-axes are those
  /// of `layouts`, or with `anywhere` those of all divisors.
  AxisChains(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<const Layout *> layouts, bool anywhere);

  const Mesh &mesh;
  const llvm::ArrayRef<int64_t> shape;
  /// Sample ranks: bounds are computed from their elements.
  std::vector<int64_t> sampleRanks;

  const AxisChain &operator[](ChainId chain) const { return chains[chain]; }
  /// The number of the chain over `parts`, which are distinct.
  ChainId find(int64_t dim, unsigned chunking, PartList parts);
  ChainId findIn(const Layout &layout, int64_t dim);
  /// A sub-axis of a range of an axis, and the rest of the range.
  struct SubAxisCut {
    AxisPart part;
    PartList rest;
  };
  /// The sub-axes of `range`, larger ones first.
  const std::vector<SubAxisCut> &partsIn(AxisPart range);
  size_t chunkings(int64_t dim) const { return placements[dim].size(); }
  const Placement &placement(int64_t dim, unsigned chunking) const {
    return placements[dim][chunking];
  }
  /// The parts that can be removed from the minor end of `chain`.
  const std::vector<RemovableAxis> &removableAxes(ChainId chain);
  /// Chains of a dimension with equal numbers have the same chunks, each
  /// equally often, on possibly different ranks.
  unsigned chunksOf(ChainId chain);

private:
  ChainForm coarsest(int64_t dim, unsigned chunking,
                     llvm::ArrayRef<AxisPart> parts) const;
  Layout layoutOf(int64_t dim, const ChainForm &form) const;

  /// The positions at which axes may be cut: products of the sizes of the major
  /// parts.
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
