//===- Assembler.h - machine code of a GPU ----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_BINARY_ASSEMBLER_H
#define TP_LIB_CODEGEN_CUDA_BINARY_ASSEMBLER_H

#include "mlir/IR/Location.h"

namespace tp::cuda {

/// Starts NVIDIA's ptxas on `assembly`, which is for `chip`, and returns the
/// cubin; empty, with a remark, where there is no ptxas. `assembler`: its path,
/// which must exist; empty: `ptxas` from the search path.
mlir::FailureOr<std::string> assemble(mlir::Location location,
                                      llvm::StringRef assembly,
                                      llvm::StringRef chip,
                                      llvm::StringRef assembler);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_BINARY_ASSEMBLER_H
