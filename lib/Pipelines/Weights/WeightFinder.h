//===- WeightFinder.h - weights that plans forget ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_WEIGHTS_WEIGHTFINDER_H
#define TP_LIB_PIPELINES_WEIGHTS_WEIGHTFINDER_H

#include "BoundArguments.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tp {

/// A weight that no entry names and every rank holds whole, in a product that
/// the ranks split.
struct ForgottenWeight {
  /// What the ranks split in its product.
  enum class Split {
    /// The input, along the dimension that the product sums over: it is
    /// collected for the weight.
    Input,
    /// The weight, along the dimension that the product sums over: each rank
    /// reads its part.
    Sum,
    /// The weight, along a dimension of the product's result: each rank reads
    /// its part.
    Result
  };
  Split split;
  /// The dimension of the weight that is split, or would be.
  unsigned dim;
  /// How many dimensions the weight has.
  unsigned rank;
};

/// Finds forgotten weights of a partitioned function, in its forward pass.
class WeightFinder {
public:
  WeightFinder(mlir::func::FuncOp function, const BoundArguments &bound)
      : function(function), bound(bound) {}

  void find();
  /// By name, in the order in which they are met.
  llvm::MapVector<llvm::StringRef, ForgottenWeight> found;

private:
  /// Called with an operand of an op and the loop that a dimension of it
  /// belongs to. Returns whether to go on with the op's result.
  using OnLoop = llvm::function_ref<bool(mlir::OpOperand &, unsigned)>;
  void follow(mlir::Value value, int64_t dim, unsigned steps, OnLoop onLoop);
  void followInto(mlir::OpOperand &use, int64_t dim, unsigned steps,
                  OnLoop onLoop);
  void followCollected(mlir::Operation *op, int64_t dim);
  void followParts(mlir::Value value, unsigned steps);
  void add(mlir::Value value, int64_t dim, ForgottenWeight::Split split);

  mlir::func::FuncOp function;
  const BoundArguments &bound;
};

} // namespace tp

#endif // TP_LIB_PIPELINES_WEIGHTS_WEIGHTFINDER_H
