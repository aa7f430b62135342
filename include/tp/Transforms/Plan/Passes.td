//===- Passes.td - passes of Transforms/Plan -----------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PLAN_PASSES_TD
#define TP_TRANSFORMS_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // TP_TRANSFORMS_PLAN_PASSES_TD
