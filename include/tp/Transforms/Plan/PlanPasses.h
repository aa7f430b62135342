//===- PlanPasses.h - passes of Transforms/Plan -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PLAN_PLANPASSES_H
#define TP_TRANSFORMS_PLAN_PLANPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/IR/TP.h"

namespace tp {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Transforms/Plan/Passes.h.inc"
} // namespace tp

#endif // TP_TRANSFORMS_PLAN_PLANPASSES_H
