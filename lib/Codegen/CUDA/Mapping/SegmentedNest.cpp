//===- SegmentedNest.cpp - loop nests in boxes of packets -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentedNest.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// More boxes than this are told apart element by element.
static constexpr size_t mostSegments = 16;

int64_t tp::cuda::product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int64_t NestBox::packets() const { return product(extents) / vector; }

int64_t SegmentedNest::packets() const {
  int64_t sum = 0;
  for (const NestBox &box : boxes)
    sum += box.packets();
  return sum;
}

int64_t SegmentedNest::elements() const { return product(extents); }

int64_t SegmentedNest::elementsPerThread(int64_t threads) const {
  int64_t sum = 0;
  for (const NestBox &box : boxes)
    sum += llvm::divideCeil(box.packets(), threads) * box.vector;
  return sum;
}

/// Cuts `extents` at `splits`, per loop, and packets of `vector` elements.
SegmentedNest tp::cuda::cut(ArrayRef<int64_t> extents,
                            ArrayRef<SmallVector<int64_t>> splits,
                            int64_t vector) {
  SegmentedNest nest;
  nest.extents.assign(extents.begin(), extents.end());
  if (product(extents) == 0)
    return nest;
  std::vector<NestBox> boxes(1);
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    SmallVector<int64_t> bounds = {0};
    if (boxes.size() * (splits[dim].size() + 1) <= mostSegments)
      llvm::append_range(bounds, splits[dim]);
    bounds.push_back(extent);
    std::vector<NestBox> next;
    for (const NestBox &box : boxes)
      for (size_t i = 0; i + 1 < bounds.size(); ++i) {
        next.push_back(box);
        next.back().lo.push_back(bounds[i]);
        next.back().extents.push_back(bounds[i + 1] - bounds[i]);
      }
    boxes = std::move(next);
  }
  for (NestBox &box : boxes) {
    if (extents.empty() || vector == 1) {
      nest.boxes.push_back(box);
      continue;
    }
    int64_t fit = vector;
    while (box.lo.back() % fit)
      fit /= 2;
    int64_t length = box.extents.back(), rest = length % fit;
    if (length > rest) {
      box.extents.back() = length - rest;
      box.vector = fit;
      nest.boxes.push_back(box);
    }
    if (rest) {
      box.lo.back() += length - rest;
      box.extents.back() = rest;
      box.vector = 1;
      nest.boxes.push_back(box);
    }
  }
  return nest;
}

void tp::cuda::sortUnique(SmallVectorImpl<int64_t> &values) {
  llvm::sort(values);
  values.erase(llvm::unique(values), values.end());
}

/// Where the compute loops of the loop nest cut the rows (`rows`) and its
/// loops.
std::vector<SmallVector<int64_t>>
tp::cuda::splitsOf(const FusedKernel &fusedKernel, const LoopNest &loopNest,
                   bool rows) {
  unsigned numRows = rows ? fusedKernel.rowExtents.size() : 0;
  std::vector<SmallVector<int64_t>> splits(numRows + loopNest.extents.size());
  for (ComputeLoop *computeLoop : loopNest.computeLoops) {
    for (unsigned slot = 0; slot < numRows; ++slot)
      llvm::append_range(splits[slot],
                         computeLoop->reads.splits[computeLoop->slots[slot]]);
    for (auto [dim, loop] : llvm::enumerate(computeLoop->loopOfDim))
      if (loop >= 0)
        llvm::append_range(splits[numRows + loop],
                           computeLoop->reads.splits[dim]);
  }
  for (SmallVector<int64_t> &dim : splits)
    sortUnique(dim);
  return splits;
}
