//===- Distribute.h - a global value and its parts --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_DISTRIBUTE_H
#define TP_INTERPRETER_DISTRIBUTE_H

#include "tp/IR/TP.h"
#include "tp/Interpreter/TensorData.h"

namespace tp::simulator {

/// What `rank` holds of `whole` under `layout`; padding is poison. Of a partial
/// value the first rank of a group has the numbers and the others the
/// identity; of an average all have the numbers.
TensorData distribute(const TensorData &whole, LayoutAttr layout, int64_t rank);

/// The same for all ranks, but partial values are made of numbers that differ
/// on every rank and are not the identity. `seed` chooses them.
std::vector<TensorData> distributeAtRandom(const TensorData &whole,
                                           LayoutAttr layout, uint64_t seed);

/// Calls `function(index, offset)` for every element that `rank` holds, with
/// its global index and its offset in the buffer.
void forEachHeld(
    LayoutAttr layout, llvm::ArrayRef<int64_t> shape, int64_t rank,
    llvm::function_ref<void(llvm::ArrayRef<int64_t>, int64_t)> function);

/// The parts of a mesh on which a layout is partial, in mesh order. Where kinds
/// differ, the later parts combine first.
struct PartialParts {
  /// Neighbouring parts of one kind.
  struct Level {
    ReductionKind kind = ReductionKind::Sum;
    int64_t size = 1;
  };
  std::vector<AxisPart> parts;
  std::vector<Level> levels;

  /// What the numbers of a group over `parts`, one per rank, combine to.
  Scalar combine(llvm::ArrayRef<Scalar> numbers, mlir::Type type) const;
  /// The kinds, the one that combines last first.
  std::string kindsText() const;
};
PartialParts partialParts(const Layout &layout);

/// A 64-bit hash that looks random.
uint64_t mix(uint64_t value);

} // namespace tp::simulator

#endif // TP_INTERPRETER_DISTRIBUTE_H
