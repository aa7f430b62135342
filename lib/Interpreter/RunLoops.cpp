//===- RunLoops.cpp - a loop nest over a box ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

std::optional<unsigned> simulator::laneLoop(const LoopNest &nest,
                                            const LoopBox &box) {
  std::optional<unsigned> best;
  for (unsigned loop = 0; loop < nest.sizes.size(); ++loop) {
    bool inAllWrites = llvm::all_of(nest.writes, [&](const Access &write) {
      return llvm::any_of(write.indices, [&](const LoopIndex &index) {
        for (auto [other, coefficient] : llvm::enumerate(index.coefficients))
          if (coefficient != (other == loop ? 1 : 0))
            return false;
        return true;
      });
    });
    int64_t size = box.end[loop] - box.begin[loop];
    // Of equal loops the last: it is the contiguous one.
    if (inAllWrites && (!best || size >= box.end[*best] - box.begin[*best]))
      best = loop;
  }
  return best;
}

template <typename Function>
static void withStorage(ElementStorage storage, Function function) {
  switch (storage) {
  case ElementStorage::Float:
    return function(static_cast<float *>(nullptr));
  case ElementStorage::Double:
    return function(static_cast<double *>(nullptr));
  case ElementStorage::Int:
    return function(static_cast<int64_t *>(nullptr));
  }
}

template <typename T> static T *numbersOf(const TensorData &array) {
  return reinterpret_cast<T *>(array.integers());
}

static void load(Lanes &to, const LinearAccess &from, int64_t offset,
                 int64_t stride, int lanes) {
  withStorage(from.array.storage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T *source = numbersOf<T>(from.array) + offset;
    T *target = reinterpret_cast<T *>(&to);
    for (int i = 0; i < lanes; ++i)
      target[i] = source[i * stride];
  });
}

static void store(const Lanes &from, LinearAccess &to, int64_t offset,
                  int64_t stride, int lanes, const bool *skipped) {
  withStorage(to.array.storage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T *source = reinterpret_cast<const T *>(&from);
    T *target = numbersOf<T>(to.array) + offset;
    for (int i = 0; i < lanes; ++i)
      if (!skipped || !skipped[i])
        target[i * stride] = source[i];
  });
}

namespace {
/// Walks the box but for one loop, whose lanes the caller runs.
struct LoopWalk {
  const LoopBox &box;
  std::optional<unsigned> lane;
  SmallVector<int64_t, 6> at;

  LoopWalk(const LoopBox &box, std::optional<unsigned> lane)
      : box(box), lane(lane), at(box.begin) {}
  bool isEmpty() const {
    for (auto [begin, end] : llvm::zip(box.begin, box.end))
      if (begin >= end)
        return true;
    return false;
  }
  bool next() {
    for (size_t loop = at.size(); loop-- > 0;) {
      if (lane && *lane == loop)
        continue;
      if (++at[loop] < box.end[loop])
        return true;
      at[loop] = box.begin[loop];
    }
    return false;
  }
  int64_t offset(const LinearAccess &access) const {
    int64_t offset = access.base;
    for (auto [stride, position] : llvm::zip(access.strides, at))
      offset += stride * position;
    return offset;
  }
};
} // namespace

bool simulator::runLoops(const LoopNest &nest, const LoopBox &box,
                         ArrayRef<LinearAccess> reads,
                         MutableArrayRef<LinearAccess> writes,
                         ArrayRef<Scalar> identities, BodyState &state) {
  std::optional<unsigned> lane = laneLoop(nest, box);
  LoopWalk walk(box, lane);
  if (walk.isEmpty())
    return true;
  int64_t length = lane ? box.end[*lane] - box.begin[*lane] : 1;
  auto laneStride = [&](const LinearAccess &access) {
    return lane ? access.strides[*lane] : 0;
  };
  do {
    for (int64_t start = 0; start < length; start += laneCount) {
      int lanes = std::min<int64_t>(laneCount, length - start);
      for (auto [access, read] : llvm::zip(nest.reads, reads))
        if (access.reg) {
          int64_t stride = laneStride(read);
          load(state.registers[*access.reg], read,
               walk.offset(read) + start * stride, stride, lanes);
        }
      for (auto [access, write] : llvm::zip(nest.writes, writes))
        if (access.reg) {
          int64_t stride = laneStride(write);
          load(state.registers[*access.reg], write,
               walk.offset(write) + start * stride, stride, lanes);
        }
      for (auto [reg, loop] : nest.body.loopIndices) {
        int64_t *index = state.registers[reg].integers;
        bool isLane = lane && *lane == loop;
        int64_t first = walk.at[loop] + (isLane ? start : 0);
        for (int i = 0; i < lanes; ++i)
          index[i] = isLane ? first + i : first;
      }
      state.run(lanes);
      if (state.failedOp)
        return false;
      for (auto [i, write] : llvm::enumerate(writes)) {
        int64_t stride = laneStride(write);
        int64_t offset = walk.offset(write) + start * stride;
        const Lanes &values = state.registers[nest.yields[i]];
        if (!state.anySkipped) {
          store(values, write, offset, stride, lanes, nullptr);
          continue;
        }
        store(values, write, offset, stride, lanes, state.skipped);
        for (int j = 0; j < lanes; ++j)
          if (state.skipped[j] && !nest.writes[i].reg)
            write.array.set(offset + j * stride, identities[i]);
      }
    }
  } while (walk.next());
  return true;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// The two registers whose product the body adds to its output.
static bool isSumOfProducts(const LoopNest &nest) {
  if (nest.writes.size() != 1 || nest.reads.size() != 2 ||
      !nest.writes[0].reg || !nest.reads[0].reg || !nest.reads[1].reg ||
      !nest.body.captures.empty())
    return false;
  const std::vector<Instr> &instrs = nest.body.instrs;
  if (instrs.size() != 2 || !isa<arith::MulFOp>(instrs[0].op) ||
      !isa<arith::AddFOp>(instrs[1].op) || instrs[1].to != nest.yields[0])
    return false;
  unsigned a = *nest.reads[0].reg, b = *nest.reads[1].reg;
  auto uses = [](const Instr &instr, unsigned x, unsigned y) {
    return (instr.from[0] == x && instr.from[1] == y) ||
           (instr.from[0] == y && instr.from[1] == x);
  };
  return uses(instrs[0], a, b) &&
         uses(instrs[1], instrs[0].to, *nest.writes[0].reg);
}

template <typename T, bool aVaries, bool bVaries>
static void multiplyAdd(T *__restrict sums, const T *a, const T *b,
                        int64_t aStride, int64_t bStride, int64_t count,
                        int lanes) {
  for (int64_t k = 0; k < count; ++k, a += aStride, b += bStride)
    for (int i = 0; i < lanes; ++i)
      sums[i] += a[aVaries ? i : 0] * b[bVaries ? i : 0];
}

/// A copy of what `access` reads in the box, with the lanes contiguous.
static LinearAccess packed(const LinearAccess &access, const LoopBox &box,
                           unsigned lane) {
  SmallVector<unsigned> order;
  for (unsigned loop = 0; loop < access.strides.size(); ++loop)
    if (loop != lane && access.strides[loop] != 0)
      order.push_back(loop);
  order.push_back(lane);
  SmallVector<int64_t> shape;
  for (unsigned loop : order)
    shape.push_back(box.end[loop] - box.begin[loop]);
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  LinearAccess result{TensorData(access.array.elementType(), shape), 0,
                      SmallVector<int64_t, 6>(access.strides.size(), 0)};
  for (auto [loop, stride] : llvm::zip(order, strides)) {
    result.strides[loop] = stride;
    result.base -= stride * box.begin[loop];
  }
  SmallVector<int64_t> index(shape.size(), 0);
  int64_t target = 0;
  do {
    int64_t source = access.base;
    for (auto [loop, position] : llvm::zip(order, index))
      source += access.strides[loop] * (box.begin[loop] + position);
    result.array.copy(target++, access.array, source);
  } while (nextIndex(index, shape));
  return result;
}

template <typename T>
static void contract(const LoopNest &nest, const LoopBox &box, unsigned lane,
                     const LinearAccess &a, const LinearAccess &b,
                     const LinearAccess &out) {
  // The last loop that the output does not have is the inner one; the others
  // are walked in order, so every sum is added up in the order of the loops.
  std::optional<unsigned> inner;
  for (unsigned loop = 0; loop < nest.sizes.size(); ++loop)
    if (out.strides[loop] == 0 && loop != lane)
      inner = loop;
  LoopBox outer = box;
  int64_t count = 1;
  if (inner) {
    count = box.end[*inner] - box.begin[*inner];
    outer.end[*inner] = outer.begin[*inner] + 1;
  }
  int64_t aStep = inner ? a.strides[*inner] : 0;
  int64_t bStep = inner ? b.strides[*inner] : 0;
  int64_t outStride = out.strides[lane];
  bool aVaries = a.strides[lane] != 0, bVaries = b.strides[lane] != 0;
  int64_t length = box.end[lane] - box.begin[lane];
  LoopWalk walk(outer, lane);
  T sums[laneCount];
  do {
    for (int64_t start = 0; start < length; start += laneCount) {
      int lanes = std::min<int64_t>(laneCount, length - start);
      const T *pa =
          numbersOf<T>(a.array) + walk.offset(a) + (aVaries ? start : 0);
      const T *pb =
          numbersOf<T>(b.array) + walk.offset(b) + (bVaries ? start : 0);
      T *po = numbersOf<T>(out.array) + walk.offset(out) + start * outStride;
      for (int i = 0; i < lanes; ++i)
        sums[i] = po[i * outStride];
      auto *run = aVaries ? (bVaries ? multiplyAdd<T, true, true>
                                     : multiplyAdd<T, true, false>)
                          : (bVaries ? multiplyAdd<T, false, true>
                                     : multiplyAdd<T, false, false>);
      run(sums, pa, pb, aStep, bStep, count, lanes);
      for (int i = 0; i < lanes; ++i)
        po[i * outStride] = sums[i];
    }
  } while (walk.next());
}

bool simulator::runContraction(const LoopNest &nest, const LoopBox &box,
                               ArrayRef<LinearAccess> reads,
                               ArrayRef<LinearAccess> writes) {
  std::optional<unsigned> lane = laneLoop(nest, box);
  if (!lane || !isSumOfProducts(nest))
    return false;
  Type type = writes[0].array.elementType();
  if (!(type.isF32() || type.isF64()) || reads[0].array.elementType() != type ||
      reads[1].array.elementType() != type)
    return false;
  if (LoopWalk(box, lane).isEmpty())
    return true;
  LinearAccess a = reads[0], b = reads[1];
  for (LinearAccess *access : {&a, &b})
    if (access->strides[*lane] != 0 && access->strides[*lane] != 1)
      *access = packed(*access, box, *lane);
  if (type.isF32())
    contract<float>(nest, box, *lane, a, b, writes[0]);
  else
    contract<double>(nest, box, *lane, a, b, writes[0]);
  return true;
}
