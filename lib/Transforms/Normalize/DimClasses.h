//===- DimClasses.h - dimensions that are one thing -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions of tensors and loops fall into classes; a class is cut where some
// reshape cuts one of its dimensions. A cut is the size of the minor side:
// a dimension of 64 seen as 2 x 32 has the cut 32. Cuts of a class divide each
// other, so that together they make one list of factors.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_NORMALIZE_DIMCLASSES_H
#define TP_LIB_TRANSFORMS_NORMALIZE_DIMCLASSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tp {

using DimId = unsigned;

class DimClasses {
public:
  DimId add(int64_t size);
  /// Makes one class of two of the same size.
  void unite(DimId left, DimId right);
  /// The shapes hold the same elements in the same order, the products of
  /// their sizes being equal.
  void reshape(llvm::ArrayRef<DimId> left, llvm::ArrayRef<DimId> right);
  /// `part` is a slice of `whole` that begins, ends and repeats at multiples of
  /// `divisor` (slices, concatenation). Cuts that divide `divisor` can be
  /// common.
  void overlap(DimId whole, DimId part, int64_t divisor);
  /// A reshape of the dimensions to sizes that no tensor has.
  void view(llvm::ArrayRef<DimId> dims, llvm::ArrayRef<int64_t> sizes);

  /// Cuts classes as finely as the reshapes require. Of cuts that do not divide
  /// each other the first in program order wins. A whole gets the cuts that all
  /// its parts have, and gives its own to them: grouped query heads next to
  /// plain key heads make a whole in heads.
  void solve();

  int64_t size(DimId dim) const { return sizes[dim]; }
  /// Ascending.
  llvm::ArrayRef<int64_t> cuts(DimId dim) const;
  /// Major first, each more than 1; none for a dimension of size 1.
  llvm::SmallVector<int64_t> factors(DimId dim) const;

private:
  struct Reshape {
    llvm::SmallVector<DimId> left, right;
  };
  struct Overlap {
    DimId whole, part;
    int64_t divisor;
  };
  DimId find(DimId dim) const;
  bool partsToWholes();
  /// True if this cut is new and fits the others.
  bool cut(DimId dim, int64_t at);
  bool transfer(llvm::ArrayRef<DimId> from, llvm::ArrayRef<DimId> to);

  llvm::SmallVector<int64_t> sizes;
  mutable llvm::SmallVector<DimId> parents;
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> classCuts;
  llvm::SmallVector<Reshape> reshapes;
  llvm::SmallVector<Overlap> overlaps;
  /// By class of the whole, in program order; made by solve.
  llvm::MapVector<DimId, llvm::SmallVector<Overlap>> overlapsOfWhole;
};

/// The factors of a dimension of `size` with these ascending cuts, major
/// first; factors of 1 are kept only where `keepUnit`.
llvm::SmallVector<int64_t> factorsOf(int64_t size, llvm::ArrayRef<int64_t> cuts,
                                     bool keepUnit = false);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_NORMALIZE_DIMCLASSES_H
