//===- Calls.h - ops that work on memory ------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_STORAGE_CALLS_H
#define TP_LIB_CODEGEN_STORAGE_CALLS_H

#include "TargetTraits.h"
#include "tp/IR/Collective.h"
#include "tp/IR/CustomOps.h"

namespace tp::target {

/// Whether `op` reads and writes whole tensors in memory, row-major, by
/// something else than generated code: a collective, attention over a chunk of
/// keys or its backward pass, or an op that a user computes.
inline bool worksOnMemory(mlir::Operation *op) {
  return tp::isCollective(op) ||
         mlir::isa_and_present<tp::CustomOp, tp::AttendOp,
                               tp::AttendBackwardOp>(op);
}

/// Whether the target runs attention over a chunk of keys, and its backward
/// pass: processors do.
inline bool hasChunks(const TargetTraits &traits) {
  return traits.hasAttention && !traits.scoreBytes;
}

} // namespace tp::target

#endif // TP_LIB_CODEGEN_STORAGE_CALLS_H
