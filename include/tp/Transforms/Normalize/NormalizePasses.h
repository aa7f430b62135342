//===- NormalizePasses.h - passes of Transforms/Normalize -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_NORMALIZE_NORMALIZEPASSES_H
#define TP_TRANSFORMS_NORMALIZE_NORMALIZEPASSES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
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
#include "tp/Transforms/Normalize/Passes.h.inc"
} // namespace tp

#endif // TP_TRANSFORMS_NORMALIZE_NORMALIZEPASSES_H
