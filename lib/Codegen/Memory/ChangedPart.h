//===- ChangedPart.h - where a value differs from a state -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_MEMORY_CHANGEDPART_H
#define TP_LIB_CODEGEN_MEMORY_CHANGEDPART_H

#include "tp/IR/Program.h"

namespace tp::target {

/// A box of a value: along dimension along[i] `sizes[i]` indices from starts[i]
/// on. Starts are of type index, and may be outside of the value.
struct ChangedPart {
  llvm::SmallVector<mlir::Value> starts;
  llvm::SmallVector<int64_t> sizes, along;
};

/// A box outside of which `value`, in memory as `target`, has the elements of
/// `state`, a buffer of the kernel, in the same places; none if none is known
/// that is smaller than the value. `value` is computed in the kernel without
/// other compute loops. Starts are computed where `builder` stands.
std::optional<ChangedPart> changedPart(mlir::OpBuilder &builder,
                                       mlir::Value value,
                                       mlir::BlockArgument state,
                                       mlir::MemRefType target);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_MEMORY_CHANGEDPART_H
