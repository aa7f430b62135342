//===- Refine.h - rewrites a function on atomic dimensions ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_NORMALIZE_REFINE_H
#define TP_LIB_TRANSFORMS_NORMALIZE_REFINE_H

#include "AtomicDims.h"
#include "mlir/IR/Builders.h"
#include <map>

namespace tp {

/// Recreates every op of a function on refined shapes, in one walk.
class Refiner {
public:
  explicit Refiner(mlir::func::FuncOp function)
      : function(function), atoms(function), builder(function.getContext()) {}

  mlir::LogicalResult run();

private:
  mlir::LogicalResult refine(mlir::Operation *op);
  void refineGeneric(mlir::linalg::GenericOp op);
  mlir::LogicalResult refineConstrain(ConstrainOp op);
  void refineSlice(mlir::tensor::ExtractSliceOp op);
  void refineSlice(mlir::tensor::InsertSliceOp op);
  /// The offsets of the op, in the new function.
  llvm::SmallVector<mlir::OpFoldResult>
  offsetsOf(mlir::OffsetSizeAndStrideOpInterface op);
  void refineConcat(mlir::tensor::ConcatOp op);
  bool refineConstant(mlir::arith::ConstantOp op);
  /// An unsupported op keeps its shapes.
  void keep(mlir::Operation *op);

  /// The value that replaces an old one, in its refined shape or in another.
  mlir::Value get(mlir::Value old);
  mlir::Value get(mlir::Value old, llvm::ArrayRef<int64_t> shape);
  void set(mlir::Value old, mlir::Value refined);
  /// `value` in another shape; created once per shape.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::RankedTensorType refinedType(mlir::Value old);

  mlir::func::FuncOp function;
  AtomicDims atoms;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  std::map<std::pair<void *, std::vector<int64_t>>, mlir::Value> reshaped;
  mlir::Operation *lastArgumentView = nullptr;
  /// The old op that is being recreated.
  mlir::Operation *current = nullptr;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_NORMALIZE_REFINE_H
