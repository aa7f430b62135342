//===- Passes.h - passes of Target/CUDA -----------------------*- C++
//-*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_CUDA_PASSES_H
#define TP_TARGET_CUDA_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tp {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Target/CUDA/Passes.h.inc"
} // namespace tp

#endif // TP_TARGET_CUDA_PASSES_H
