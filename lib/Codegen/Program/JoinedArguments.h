//===- JoinedArguments.h - weights that lie in one memory -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tp-merge-gemms lets several weights be read as one matrix. Each stays an
// argument of its own name, type and layout, which nothing reads. Behind the
// ports the function gets one argument more: the memory in which they lie.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_PROGRAM_JOINEDARGUMENTS_H
#define TP_LIB_CODEGEN_PROGRAM_JOINEDARGUMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"

namespace tp::target {

struct JoinedArguments {
  mlir::BlockArgument memory;
  /// In the order in which they lie.
  llvm::SmallVector<mlir::BlockArgument> parts;
};

/// The numbers of the arguments whose memory `argument` is; none of a port.
llvm::ArrayRef<int64_t> partsOf(mlir::BlockArgument argument);

/// All joined arguments of a function on tensors or on memory. Fails with a
/// located error where the parts are not exactly the memory: where two have a
/// part in common, one is read by itself, or types differ.
mlir::FailureOr<llvm::SmallVector<JoinedArguments>>
joinedArguments(mlir::func::FuncOp function);

/// The places of the elements of `shape` that lie without gaps, dimension
/// order[0] major.
mlir::AffineMap placesInOrder(llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<int64_t> order,
                              mlir::MLIRContext *context);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_PROGRAM_JOINEDARGUMENTS_H
