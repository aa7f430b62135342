//===- LoopNest.h - an op as loops around a scalar body ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_INTERPRETER_LOOPNEST_H
#define TP_LIB_INTERPRETER_LOOPNEST_H

#include "BodyBytecode.h"
#include "mlir/IR/AffineMap.h"

namespace tp::simulator {

/// One index expression of an indexing map: constant + sum of coefficients
/// times loop positions, or `division`, which is not linear in the loops.
struct LoopIndex {
  int64_t constant = 0;
  llvm::SmallVector<int64_t, 6> coefficients;
  mlir::AffineExpr division;

  bool usesLoop(unsigned loop) const {
    return division ? division.isFunctionOfDim(loop) : coefficients[loop] != 0;
  }
  /// The index at a point of the loops; none where it divides by zero.
  std::optional<int64_t> at(llvm::ArrayRef<int64_t> point) const;
};

/// A tensor the loops read or write.
struct Access {
  mlir::Value value;
  /// The operand's number, as messages show it.
  unsigned operand = 0;
  /// One per dimension of the tensor.
  llvm::SmallVector<LoopIndex, 4> indices;
  /// The register of the element; none where the body does not use it.
  std::optional<unsigned> reg;

  bool isLinear() const {
    return llvm::none_of(indices,
                         [](const LoopIndex &index) { return index.division; });
  }
};

/// linalg ops, and elementwise ops of arith and math (loop i = dimension i).
struct LoopNest {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<int64_t> sizes;
  std::vector<Access> reads;
  /// One per result: where it is written, with the init it starts from (a null
  /// value where there is none) and the register that the body yields.
  std::vector<Access> writes;
  llvm::SmallVector<unsigned> yields;
  BodyBytecode body;

  /// Emits an error at the op where it is not understood.
  static mlir::FailureOr<LoopNest> build(mlir::Operation *op);
};

/// True for the ops `LoopNest::build` is meant for.
bool isLoopNest(mlir::Operation *op);

/// The indices of `size` that a rank has of every loop, by the op's strategy;
/// all of them where the frame is not sharded or the op is not split.
llvm::SmallVector<std::vector<Interval>> loopsOfRank(const LoopNest &nest,
                                                     const Frame &frame);

/// The axis parts on which `op` splits the rows of captured tables.
llvm::SmallVector<AxisPart> partsOfLookups(const LoopNest &nest);

mlir::LogicalResult evaluateLoopNest(mlir::Operation *op, Frame &frame);

/// Where the elements of one access stand in a buffer: offset = base + sum of
/// strides times loop positions.
struct LinearAccess {
  TensorData array;
  int64_t base = 0;
  llvm::SmallVector<int64_t, 6> strides;
};

/// A box of the iteration space.
struct LoopBox {
  llvm::SmallVector<int64_t, 6> begin, end;
};

/// Runs the body for every point of `box`. Loops that no write runs along are
/// walked in order, so that every element is accumulated in one order whatever
/// the box. `identities` holds what a lane that contributes nothing writes
/// where the body does not accumulate. False: `state` says what went wrong.
bool runLoops(const LoopNest &nest, const LoopBox &box,
              llvm::ArrayRef<LinearAccess> reads,
              llvm::MutableArrayRef<LinearAccess> writes,
              llvm::ArrayRef<Scalar> identities, BodyState &state);

/// Sums of products in float or double, without the body: the same results.
/// False where the op is something else.
bool runContraction(const LoopNest &nest, const LoopBox &box,
                    llvm::ArrayRef<LinearAccess> reads,
                    llvm::ArrayRef<LinearAccess> writes);

/// The loop that lanes run along: the longest that every write has as one of
/// its dimensions, so that no two lanes write one element.
std::optional<unsigned> laneLoop(const LoopNest &nest, const LoopBox &box);

} // namespace tp::simulator

#endif // TP_LIB_INTERPRETER_LOOPNEST_H
