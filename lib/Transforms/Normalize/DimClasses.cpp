//===- DimClasses.cpp - dimensions that are one thing ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DimClasses.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>

using namespace tp;

DimId DimClasses::add(int64_t size) {
  DimId dim = sizes.size();
  sizes.push_back(size);
  parents.push_back(dim);
  classCuts.emplace_back();
  return dim;
}

DimId DimClasses::find(DimId dim) const {
  while (parents[dim] != dim)
    dim = parents[dim] = parents[parents[dim]];
  return dim;
}

void DimClasses::unite(DimId left, DimId right) {
  assert(sizes[left] == sizes[right] && "a class has one size");
  left = find(left);
  right = find(right);
  parents[std::max(left, right)] = std::min(left, right);
}

void DimClasses::reshape(llvm::ArrayRef<DimId> left,
                         llvm::ArrayRef<DimId> right) {
  reshapes.push_back({llvm::to_vector(left), llvm::to_vector(right)});
}

void DimClasses::overlap(DimId whole, DimId part, int64_t divisor) {
  overlaps.push_back({whole, part, divisor});
}

void DimClasses::view(llvm::ArrayRef<DimId> dims,
                      llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<DimId> viewDims;
  for (int64_t size : shape)
    viewDims.push_back(add(size));
  reshape(dims, viewDims);
}

llvm::ArrayRef<int64_t> DimClasses::cuts(DimId dim) const {
  return classCuts[find(dim)];
}

bool DimClasses::cut(DimId dim, int64_t at) {
  llvm::SmallVector<int64_t, 2> &cuts = classCuts[find(dim)];
  int64_t size = sizes[dim];
  if (at <= 1 || at >= size || size % at != 0 || llvm::is_contained(cuts, at))
    return false;
  for (int64_t other : cuts)
    if (other % at != 0 && at % other != 0)
      return false;
  cuts.insert(llvm::lower_bound(cuts, at), at);
  return true;
}

/// Every boundary of `from`, counted in elements from the back, cuts `to`.
bool DimClasses::transfer(llvm::ArrayRef<DimId> from,
                          llvm::ArrayRef<DimId> to) {
  bool changed = false;
  auto cutAt = [&](int64_t boundary) {
    int64_t minor = 1;
    for (DimId dim : llvm::reverse(to)) {
      if (boundary > minor && boundary < minor * sizes[dim]) {
        if (boundary % minor == 0)
          changed |= cut(dim, boundary / minor);
        return;
      }
      minor *= sizes[dim];
    }
  };
  int64_t minor = 1;
  for (DimId dim : llvm::reverse(from)) {
    llvm::SmallVector<int64_t> inner(cuts(dim));
    for (int64_t at : inner)
      cutAt(minor * at);
    minor *= sizes[dim];
    cutAt(minor);
  }
  return changed;
}

bool DimClasses::partsToWholes() {
  bool changed = false;
  for (auto &[whole, parts] : overlapsOfWhole) {
    for (const Overlap &from : parts) {
      llvm::SmallVector<int64_t> inner(cuts(from.part));
      for (int64_t at : inner)
        if (from.divisor % at == 0 &&
            llvm::all_of(parts, [&](const Overlap &other) {
              return other.divisor % at != 0 ||
                     llvm::is_contained(cuts(other.part), at);
            }))
          changed |= cut(whole, at);
    }
  }
  return changed;
}

void DimClasses::solve() {
  overlapsOfWhole.clear();
  for (const Overlap &overlap : overlaps)
    overlapsOfWhole[find(overlap.whole)].push_back(overlap);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Reshape &reshape : reshapes) {
      changed |= transfer(reshape.left, reshape.right);
      changed |= transfer(reshape.right, reshape.left);
    }
    for (const Overlap &overlap : overlaps) {
      llvm::SmallVector<int64_t> inner(cuts(overlap.whole));
      for (int64_t at : inner)
        if (overlap.divisor % at == 0)
          changed |= cut(overlap.part, at);
    }
    changed |= partsToWholes();
  }
}

llvm::SmallVector<int64_t> DimClasses::factors(DimId dim) const {
  return factorsOf(sizes[dim], cuts(dim));
}

llvm::SmallVector<int64_t>
tp::factorsOf(int64_t size, llvm::ArrayRef<int64_t> cuts, bool keepUnit) {
  llvm::SmallVector<int64_t> factors;
  for (int64_t at : llvm::reverse(cuts)) {
    factors.push_back(size / at);
    size = at;
  }
  factors.push_back(size);
  if (!keepUnit)
    llvm::erase(factors, 1);
  return factors;
}
