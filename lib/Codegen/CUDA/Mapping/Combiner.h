//===- Combiner.h - how partial results combine -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MAPPING_COMBINER_H
#define TP_LIB_CODEGEN_CUDA_MAPPING_COMBINER_H

#include "Kernels/FusedKernel.h"
#include "mlir/IR/Builders.h"

namespace tp::cuda {

/// How a reduction's partial results combine.
struct Combiner {
  /// The op of the body that adds an element to the accumulator.
  mlir::Operation *op = nullptr;
};

/// The combiner of every result; none if some result cannot be taken apart, so
/// that its elements have to be visited in order.
std::optional<llvm::SmallVector<Combiner>>
combinersOf(const target::ComputeLoop &computeLoop);

/// The value that leaves the other operand of the combiner as it is.
mlir::Value identityOf(mlir::OpBuilder &builder, mlir::Location loc,
                       const Combiner &combiner);

/// The combiner's op on two partial results.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    const Combiner &combiner, mlir::Value a, mlir::Value b);

/// What stands for `value` in memory: index as i64, i1 as i8.
mlir::Value packed(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value);
mlir::Value unpacked(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value, mlir::Type type);
mlir::Type packedType(mlir::Type type);

/// Bytes that any packed value takes.
inline constexpr int64_t slotBytes = 8;

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MAPPING_COMBINER_H
