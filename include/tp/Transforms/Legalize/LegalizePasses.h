//===- LegalizePasses.h - passes of Transforms/Legalize ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_LEGALIZE_LEGALIZEPASSES_H
#define TP_TRANSFORMS_LEGALIZE_LEGALIZEPASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/IR/TP.h"

namespace tp {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Transforms/Legalize/Passes.h.inc"
} // namespace tp

#endif // TP_TRANSFORMS_LEGALIZE_LEGALIZEPASSES_H
