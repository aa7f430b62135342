//===- Legalize.h - steps of tp-legalize ------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every step works on plain types, keeps locations, and ignores ops that it
// does not handle; tp-verify-legal reports the ones that remain.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LEGALIZE_LEGALIZE_H
#define TP_LIB_TRANSFORMS_LEGALIZE_LEGALIZE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/TMTensor.h"
#include "tp/Transforms/Legalize/LegalizePasses.h"

namespace tp::legalize {

/// The functions that are compiled (Entries.h). Emits an error if there is none.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
findEntries(mlir::ModuleOp module);

/// Replaces loads of constant globals by their numbers, and drops globals that
/// nothing reads.
mlir::LogicalResult loadConstantGlobals(mlir::ModuleOp module);

/// Constants that name a resource of the file hold its elements.
mlir::LogicalResult readResources(mlir::func::FuncOp function);

/// Ops of affine on numbers become arith: apply, min, max, and splitting and
/// joining of indices.
mlir::LogicalResult writeAffineAsArith(mlir::func::FuncOp function);

/// Inlines every call in `entries` and in their callees; drops all other
/// functions of the module.
mlir::LogicalResult inlineCalls(mlir::ModuleOp module,
                                llvm::ArrayRef<mlir::func::FuncOp> entries);

/// Emits an error at an op of `function` whose name, attributes or enum values
/// the table of OpAttributes.h does not know.
mlir::LogicalResult checkAttributes(mlir::func::FuncOp function);

/// Removes the flags that permit less exact or undefined results.
void dropPermissions(mlir::func::FuncOp function);

/// arith.truncf rounds to nearest, ties to even; other modes are computed.
void writeRoundingModes(mlir::func::FuncOp function);

/// Unsigned and signed integer types become signless ones; an unsigned port
/// gets `tp.unsigned`.
mlir::LogicalResult dropSignedness(mlir::func::FuncOp function);

/// Scalar arguments and results become tensors of rank 0.
void makePortsTensors(mlir::func::FuncOp function);

/// An argument that is cast to one static type wherever it is read has it.
void resolveArguments(mlir::func::FuncOp function);
/// Gives the results of `op` the static types that follow from its operands.
/// Returns the op that replaces it, or null if none is needed.
mlir::FailureOr<mlir::Operation *> resolveShapes(mlir::Operation *op,
                                                 mlir::OpBuilder &builder);

/// Folds scalar ops of constants, resolves shapes, unrolls loops of constant
/// bounds, and makes selections of conditionals.
mlir::LogicalResult flattenControl(mlir::func::FuncOp function);

/// The least and the largest number that an integer or index can be.
struct IndexRange {
  int64_t least, most;
};
/// From the extents of the enclosing loops, and from what clamps it; nothing if
/// neither bounds it.
std::optional<IndexRange> indexRange(mlir::Value value);
/// The value of `condition` if it is the same in every iteration of the
/// enclosing loops.
std::optional<bool> knownCondition(mlir::Value condition);

/// Makes `inner` harmless where `isActive` is false. It is an op of one branch
/// of `conditional`, and may be erased.
mlir::LogicalResult guardOp(mlir::Operation *conditional,
                            mlir::Operation *inner, mlir::Value isActive,
                            mlir::OpBuilder &builder);

/// True if the op computed an integer from constants and was erased.
bool foldScalar(mlir::Operation *op, mlir::OpBuilder &builder);

/// Rewrites shapes as values (dim, rank, reshape), elementwise ops on tensors,
/// and tensor ops that are loops over elements as linalg ops.
mlir::LogicalResult writeAsLinalg(mlir::func::FuncOp function);

/// arith and math ops on tensors as a linalg.generic. `op` is elementwise.
void writeElementwise(mlir::Operation *op, mlir::OpBuilder &builder);

/// tensor.gather and tensor.scatter as a linalg.generic that reads a table.
mlir::LogicalResult writeGather(mlir::tensor::GatherOp op,
                                mlir::OpBuilder &builder);
mlir::LogicalResult writeScatter(mlir::tensor::ScatterOp op,
                                 mlir::OpBuilder &builder);

void writeTMTensorScatter(tm_tensor::ScatterOp op, mlir::OpBuilder &builder);

/// A linalg.generic whose body gets the index of every element of `type`, and
/// the elements of `inputs`, which have its shape.
using ElementBuilder = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange index,
    mlir::ValueRange elements)>;
mlir::Value perElement(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::RankedTensorType type, mlir::ValueRange inputs,
                       ElementBuilder element);

/// Products of operands that are both widened from f16, or from bf16, read the
/// narrow operands; their sums stay f32.
void narrowProducts(mlir::func::FuncOp function);

/// Splits scalar ops of two results (extended sums and products, sincos) into
/// ops of one result.
void splitScalarResults(mlir::func::FuncOp function);

/// Complex values become their real and imaginary parts; at the function's
/// ports both are in one tensor with a last dimension of 2.
mlir::LogicalResult splitComplex(mlir::func::FuncOp function);

/// True for a tensor with a dimension of size 0.
bool hasNoElements(mlir::Type type);
/// Removes the ops on tensors without elements.
void dropEmptyTensors(mlir::func::FuncOp function);
void dropUnusedEmptyTensors(mlir::func::FuncOp function);

/// Emits an error where an index of an operand divides by less than 1 or leaves
/// its dimension, or where the place of an output is more than its loops.
mlir::LogicalResult verifyIndexingMaps(mlir::linalg::LinalgOp op);

/// Emits an error at an op, type or form that no stage handles.
mlir::LogicalResult verifyLegal(mlir::ModuleOp module);

} // namespace tp::legalize

#endif // TP_LIB_TRANSFORMS_LEGALIZE_LEGALIZE_H
