//===- Frame.h - the values of one run --------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_FRAME_H
#define TP_INTERPRETER_FRAME_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeUtilities.h"
#include "tp/IR/TP.h"
#include "tp/Interpreter/TensorData.h"

namespace tp::simulator {

/// A buffer addressed by the coordinates of the tensor it is a part of.
struct ShardView {
  TensorData array;
  /// Per dimension the indices that the buffer holds, ascending.
  llvm::SmallVector<std::vector<Interval>, 4> held;

  /// Where global index `index` of dimension `dim` stands in the buffer, or -1.
  int64_t localIndex(unsigned dim, int64_t index) const {
    for (const Interval &piece : held[dim])
      if (index >= piece.globalOffset &&
          index < piece.globalOffset + piece.size)
        return index - piece.globalOffset + piece.localOffset;
    return -1;
  }
  /// The offset of an element in the buffer, or -1 where it is not held.
  int64_t offset(llvm::ArrayRef<int64_t> index,
                 llvm::ArrayRef<int64_t> strides) const {
    int64_t result = 0;
    for (auto [dim, position] : llvm::enumerate(index)) {
      int64_t local = localIndex(dim, position);
      if (local < 0)
        return -1;
      result += local * strides[dim];
    }
    return result;
  }
};

/// All values of one run of a function: of the whole program, of one rank under
/// the layouts in the types, or of one rank of a partitioned program.
struct Frame {
  enum class Kind {
    /// Global values; what nothing has written is tracked.
    Global,
    /// One rank of a program with layouts in its types.
    Sharded,
    /// One rank of a partitioned program: plain values, poisoned padding.
    Local,
  };
  Kind kind = Kind::Global;
  int64_t rank = 0;
  llvm::DenseMap<mlir::Value, TensorData> values;

  bool isSharded() const { return kind == Kind::Sharded; }

  /// The buffer of `value` (which must have one) as its type describes it.
  ShardView view(mlir::Value value) const {
    return view(value, values.at(value));
  }
  ShardView view(mlir::Value value, TensorData array) const;
  /// The shape of the buffer this run keeps for a value of this type.
  llvm::SmallVector<int64_t> bufferShape(mlir::Type type) const;
  /// A fresh buffer full of poison; the caller may write it.
  TensorData allocate(mlir::Type type) const;

  /// Starts an error at `op`, naming the rank if the run is one rank's.
  mlir::InFlightDiagnostic error(mlir::Operation *op) const;
  /// The same where random numbers of the whole program do not suit the op,
  /// which says nothing about what tp made of it: see `unrunnable`.
  mlir::InFlightDiagnostic dataError(mlir::Operation *op) const;
};

/// Starts an error at an op that the interpreter cannot run, which says nothing
/// about what tp made of the program. Such an error is marked, so that who asks
/// for a simulation as far as it goes can tell it from the others.
mlir::InFlightDiagnostic unrunnable(mlir::Operation *op);
bool isUnrunnable(mlir::Diagnostic &diagnostic);

/// Checks that every value `op` touches is of a kind that can be kept: a number
/// or a tensor of numbers with static shape and not too many elements.
mlir::LogicalResult checkTypes(mlir::Operation *op);

/// Runs one op that is no collective: reads its operands from `frame`, writes
/// its results. Emits an error and fails if the op is unknown, or reads what
/// the rank does not hold or nothing has written.
mlir::LogicalResult evaluate(mlir::Operation *op, Frame &frame);

} // namespace tp::simulator

#endif // TP_INTERPRETER_FRAME_H
