//===- CommandList.h - the commands of tensors with storage -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value in memory is written by a GEMM, by a collective, or by a compute
// loop. In the order of the function they are the program before kernels are
// formed.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_PROGRAM_COMMANDLIST_H
#define TP_LIB_CODEGEN_PROGRAM_COMMANDLIST_H

#include "Kernels/FusedKernel.h"

namespace tp::target {

/// The commands of `function` in the order of its ops.
Schedule listCommands(const StoragePlan &plan, mlir::func::FuncOp function);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_PROGRAM_COMMANDLIST_H
