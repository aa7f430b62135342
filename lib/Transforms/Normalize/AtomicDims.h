//===- AtomicDims.h - the finest dimensions of a function -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds which dimensions of a function correspond, and how finely the reshapes
// of the program cut each of them. Unsupported ops keep their shapes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_NORMALIZE_ATOMICDIMS_H
#define TP_LIB_TRANSFORMS_NORMALIZE_ATOMICDIMS_H

#include "DimClasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Transforms/Normalize/NormalizePasses.h"

namespace tp {

using Shape = llvm::SmallVector<int64_t>;

/// The refined shapes of one op's tensors. An overlap can force shapes that are
/// coarser than the refined ones, so they are given per operand.
struct OverlapShapes {
  llvm::SmallVector<Shape> operands;
  Shape result;
  /// The cut the op works at: its offsets and sizes count in it.
  llvm::SmallVector<int64_t> unit;
};

class AtomicDims {
public:
  explicit AtomicDims(mlir::func::FuncOp function);

  /// True for tensors of the function itself.
  bool knows(mlir::Value value) const { return dims.contains(value); }
  /// The shape of the value with all its dimensions cut into factors.
  Shape refinedShape(mlir::Value value) const;
  Shape factors(mlir::Value value, unsigned dim) const;
  /// The factors of loop `loop` of a supported generic.
  Shape loopFactors(mlir::linalg::GenericOp op, unsigned loop) const;

  /// True for generics whose maps are permutations of loops (with constant 0
  /// at dimensions of size 1) and whose captured tensors are only read by
  /// tensor.extract.
  static bool isSupported(mlir::linalg::GenericOp op);
  /// Slices that are taken or written, of static size and stride; a dimension
  /// whose offset is computed stays whole. `shapesOf` gives the shape of the
  /// whole as the operand and that of the slice as the result.
  static bool isSupported(mlir::tensor::ExtractSliceOp op);
  static bool isSupported(mlir::tensor::InsertSliceOp op);
  OverlapShapes shapesOf(mlir::tensor::ExtractSliceOp op) const;
  OverlapShapes shapesOf(mlir::tensor::InsertSliceOp op) const;
  /// Concatenations.
  OverlapShapes shapesOf(mlir::tensor::ConcatOp op) const;

private:
  void addValue(mlir::Value value);
  void addOp(mlir::Operation *op);
  void addGeneric(mlir::linalg::GenericOp op);
  template <typename OpTy>
  void addSlice(OpTy op, mlir::Value whole, mlir::Value part);
  template <typename OpTy>
  OverlapShapes shapesOfSlice(OpTy op, mlir::Value whole,
                              mlir::Value part) const;
  void addConcat(mlir::tensor::ConcatOp op);
  void uniteAll(mlir::Value left, mlir::Value right);
  /// Cuts common to all `dims` that divide `divisor`, ascending.
  llvm::SmallVector<int64_t> commonCuts(llvm::ArrayRef<DimId> dims,
                                        int64_t divisor) const;

  DimClasses classes;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<DimId>> dims;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<DimId>> loops;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_NORMALIZE_ATOMICDIMS_H
