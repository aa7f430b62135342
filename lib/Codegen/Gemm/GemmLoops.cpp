//===- GemmLoops.cpp - a GEMM from the loops of a contraction -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops whose strides continue each other in all operands join. What is left of
// kind m and n beside the largest becomes batch.
//
//===----------------------------------------------------------------------===//

#include "GemmLoops.h"

using namespace mlir;
using namespace tp::target;

/// Joins loops whose strides continue each other in all operands of `which`.
static void joinLoops(SmallVector<GemmLoop> &loops, ArrayRef<int> which) {
  auto major = [&](const GemmLoop &a, const GemmLoop &b) {
    for (int operand : llvm::reverse(which))
      if (a.stride[operand] != b.stride[operand])
        return a.stride[operand] > b.stride[operand];
    return a.extent < b.extent;
  };
  llvm::stable_sort(loops, major);
  for (size_t i = 0; i + 1 < loops.size();) {
    GemmLoop &outer = loops[i], &inner = loops[i + 1];
    if (llvm::all_of(which, [&](int operand) {
          return outer.stride[operand] == inner.stride[operand] * inner.extent;
        })) {
      inner.extent *= outer.extent;
      loops.erase(loops.begin() + i);
      i = 0;
    } else {
      ++i;
    }
  }
}

/// Picks the largest of `loops` that `fits` and moves the others to `batch`.
static std::optional<GemmLoop>
pickLoop(SmallVector<GemmLoop> &loops, SmallVector<GemmLoop> &batch,
         llvm::function_ref<bool(const GemmLoop &)> fits) {
  GemmLoop picked{1, {}};
  std::optional<size_t> position;
  for (auto [i, loop] : llvm::enumerate(loops))
    if (fits(loop) && (!position || loop.extent > loops[*position].extent))
      position = i;
  if (position)
    picked = loops[*position];
  for (auto [i, loop] : llvm::enumerate(loops))
    if (!position || i != *position)
      batch.push_back(loop);
  return picked;
}

/// A matrix of `rows` x `columns` with these strides as a BLAS operand.
static bool setOperand(GemmOperand &operand, int64_t rows, int64_t rowStride,
                       int64_t columns, int64_t columnStride,
                       bool mayTranspose) {
  if ((columnStride == 1 || columns == 1) &&
      (rows == 1 || rowStride >= columns)) {
    operand.transpose = false;
    operand.ld = rows == 1 ? std::max<int64_t>(columns, 1) : rowStride;
    return true;
  }
  if (mayTranspose && (rowStride == 1 || rows == 1) &&
      (columns == 1 || columnStride >= rows)) {
    operand.transpose = true;
    operand.ld = columns == 1 ? std::max<int64_t>(rows, 1) : columnStride;
    return true;
  }
  return false;
}

/// Makes what is added at `root` the vector or the matrix of the epilogue.
/// `term` is its place among the strides.
static bool setTerm(Gemm &gemm, const GemmLoop &m, const GemmLoop &n,
                    ArrayRef<GemmLoop> batch, int term, GemmOperand operand) {
  int64_t rows = m.stride[term], columns = n.stride[term];
  bool sameInBatch = llvm::all_of(
      batch, [&](const GemmLoop &loop) { return loop.stride[term] == 0; });
  // There is no vector of f64.
  if (!gemm.bias && !gemm.elementType.isF64() && sameInBatch &&
      (gemm.m == 1 || rows == 0) && (gemm.n == 1 || columns == 1)) {
    gemm.bias = std::move(operand);
    return true;
  }
  // A broadcast matrix is read as often by whoever reads C next.
  if (gemm.residual || (gemm.m > 1 && rows == 0))
    return false;
  for (const GemmLoop &loop : batch) {
    if (loop.stride[term] == 0)
      return false;
    operand.batchStrides.push_back(loop.stride[term]);
  }
  gemm.residual = std::move(operand);
  return setOperand(*gemm.residual, gemm.m, rows, gemm.n, columns, false);
}

/// The mask `chooser` along `loop`; none if an element of it moves with one of
/// the `others`, or counts down.
static std::optional<GemmOperand> maskAlong(const GemmLoop &loop,
                                            ArrayRef<GemmLoop> others,
                                            ArrayRef<GemmLoop> batch,
                                            Chooser chooser) {
  GemmOperand &mask = chooser.operand;
  mask.ld = loop.stride[chooser.term];
  for (const GemmLoop &outer : batch)
    mask.batchStrides.push_back(outer.stride[chooser.term]);
  auto isNegative = [](int64_t stride) { return stride < 0; };
  auto moves = [&](const GemmLoop &other) {
    return other.extent > 1 && other.stride[chooser.term] != 0;
  };
  if (mask.ld < 0 || llvm::any_of(mask.batchStrides, isNegative) ||
      llvm::any_of(others, moves))
    return std::nullopt;
  return std::move(mask);
}

/// Sets the places of the matrices of B in a table. The table's matrices move
/// with them alone.
static bool setPlaces(Gemm &gemm, ArrayRef<GemmLoop> batch, Chooser places) {
  for (const GemmLoop &loop : batch) {
    if (loop.stride[places.term] < 0 || loop.stride[1] != 0)
      return false;
    places.operand.batchStrides.push_back(loop.stride[places.term]);
  }
  gemm.places = std::move(places.operand);
  return true;
}

bool tp::target::assembleGemm(Gemm &gemm, LoopsByKind loops,
                              const GemmExtras &extras) {
  auto &[m, n, k, batch] = loops;
  // A place is that of a whole matrix: rows of a table are copied.
  if (extras.places)
    for (const SmallVector<GemmLoop> *kind : {&m, &n, &k})
      for (const GemmLoop &loop : *kind)
        if (loop.stride[extras.places->term] != 0)
          return false;
  joinLoops(m, {0, 2, 3, 4});
  joinLoops(n, {1, 2, 3, 4});
  if (extras.chosenTerms)
    joinLoops(k, {0, 1, extras.chosenTerms->term});
  else
    joinLoops(k, {0, 1});
  if (k.size() > 1)
    return false;
  GemmLoop kLoop = k.empty() ? GemmLoop{1, {}} : k.front();
  auto notBroadcast = [](int first, int second) {
    return [=](const GemmLoop &loop) {
      return loop.stride[first] > 0 && loop.stride[second] > 0;
    };
  };
  // C wants n with unit stride; another n loop cannot be the one.
  auto fitsN = [&](const GemmLoop &loop) {
    return loop.stride[2] == 1 && loop.stride[1] > 0;
  };
  GemmLoop nLoop = *pickLoop(n, batch, fitsN);
  GemmLoop mLoop = *pickLoop(m, batch, notBroadcast(0, 2));
  if (kLoop.extent > 1 && (kLoop.stride[0] <= 0 || kLoop.stride[1] <= 0))
    return false;
  joinLoops(batch, {0, 1, 2, 3, 4});
  for (const GemmLoop &loop : batch) {
    // A map that counts down has a negative stride, which no library takes.
    if (loop.stride[0] < 0 || loop.stride[1] < 0 || loop.stride[2] <= 0)
      return false;
    gemm.batch.push_back(loop.extent);
    gemm.a.batchStrides.push_back(loop.stride[0]);
    gemm.b.batchStrides.push_back(loop.stride[1]);
    gemm.c.batchStrides.push_back(loop.stride[2]);
  }
  gemm.m = mLoop.extent;
  gemm.n = nLoop.extent;
  gemm.k = kLoop.extent;
  for (auto [i, term] : llvm::enumerate(extras.terms))
    if (!setTerm(gemm, mLoop, nLoop, batch, 3 + i, term))
      return false;
  if (extras.rows &&
      !(gemm.rows = maskAlong(mLoop, nLoop, batch, *extras.rows)))
    return false;
  if (extras.chosenTerms &&
      !(gemm.terms =
            maskAlong(kLoop, {mLoop, nLoop}, batch, *extras.chosenTerms)))
    return false;
  if (extras.places && !setPlaces(gemm, batch, *extras.places))
    return false;
  return setOperand(gemm.a, gemm.m, mLoop.stride[0], gemm.k, kLoop.stride[0],
                    true) &&
         setOperand(gemm.b, gemm.k, kLoop.stride[1], gemm.n, nLoop.stride[1],
                    true) &&
         setOperand(gemm.c, gemm.m, mLoop.stride[2], gemm.n, nLoop.stride[2],
                    false);
}
