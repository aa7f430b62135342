//===- SimulatePasses.h - passes of Simulate --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_SIMULATEPASSES_H
#define TP_SIMULATE_SIMULATEPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Simulate/Passes.h.inc"
} // namespace tp

#endif // TP_SIMULATE_SIMULATEPASSES_H
