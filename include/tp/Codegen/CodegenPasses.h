//===- CodegenPasses.h - passes of Codegen ----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_CODEGENPASSES_H
#define TP_CODEGEN_CODEGENPASSES_H

#include "mlir/Pass/Pass.h"

namespace tp {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

#endif // TP_CODEGEN_CODEGENPASSES_H
