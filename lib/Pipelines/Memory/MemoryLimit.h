//===- MemoryLimit.h - what a rank may hold ---------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_MEMORY_MEMORYLIMIT_H
#define TP_LIB_PIPELINES_MEMORY_MEMORYLIMIT_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Codegen/CUDA/CompileForCUDA.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Sharding/Hardware.h"
#include <optional>

namespace tp {

/// Bytes: `1000`, `80GB`, `16GiB`, `1.5TiB`. An error at `loc`, which says
/// `what` is expected, where the text is no positive number of them.
mlir::FailureOr<int64_t> parseBytes(mlir::Location loc, llvm::StringRef text,
                                    llvm::StringRef what);

/// What the loops of all entries carry, which has memory of its own.
int64_t carriedBytes(const runtime::Manifest &manifest);

/// Warns where `hardware` has less memory than a rank needs.
void warnOfMemory(mlir::Location loc, const runtime::Manifest &manifest,
                  const Hardware &hardware);

/// An error at `loc` if a rank holds more than `limit`, with the largest
/// holders by name. `partitioned` is the program before code is made for it:
/// one that is too large for its ranks is large for the compiler too. `cuda`
/// for devices, null for processors.
mlir::LogicalResult checkMemoryLimit(mlir::Location loc,
                                     mlir::ModuleOp partitioned, int64_t limit,
                                     const CUDAOptions *cuda);

} // namespace tp

#endif // TP_LIB_PIPELINES_MEMORY_MEMORYLIMIT_H
