//===- TouchedMemory.h - the memory that a command touches ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_SCHEDULE_TOUCHEDMEMORY_H
#define TP_LIB_CODEGEN_SCHEDULE_TOUCHEDMEMORY_H

#include "Program/Buffers.h"

namespace tp::target {

/// Bytes of a space that a command reads, or writes too, from `place` up to
/// `end`.
struct TouchedBytes {
  BufferPlace place;
  int64_t end = 0;
  bool writes = false;
};

/// What a command touches; an attention with its steps. A kernel may touch all
/// of the memory of its buffers, others touch what their operands have.
using TouchedMemory = llvm::SmallVector<TouchedBytes, 4>;
TouchedMemory memoryTouchedBy(mlir::Operation *command, const Buffers &buffers);

/// Whether one of two commands writes what the other one touches.
bool haveConflict(const TouchedMemory &some, const TouchedMemory &others);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_SCHEDULE_TOUCHEDMEMORY_H
