//===- MachineCode.h - LLVM IR to code of a target --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CPU_MACHINECODE_H
#define TP_LIB_CODEGEN_CPU_MACHINECODE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/CodeGen.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tp::target {

/// LLVM's usual optimisations for the machine.
void optimise(llvm::Module &module, llvm::TargetMachine &machine);

/// Those of them that speed up loops over arrays on a processor: functions that
/// call each other gain nothing. They take half the time, as does the code that
/// they leave, which is half as long: vectorised loops are not unrolled
/// further.
void optimiseLoops(llvm::Module &module, llvm::TargetMachine &machine);

/// Appends the module's code to `code`; fails where the machine cannot write
/// such a file.
mlir::LogicalResult writeCode(llvm::Module &module,
                              llvm::TargetMachine &machine,
                              llvm::CodeGenFileType type,
                              llvm::SmallVectorImpl<char> &code);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_CPU_MACHINECODE_H
