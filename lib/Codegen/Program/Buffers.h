//===- Buffers.h - where the buffers of a program lie -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_PROGRAM_BUFFERS_H
#define TP_LIB_CODEGEN_PROGRAM_BUFFERS_H

#include "Storage/StoredValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/Program.h"

namespace tp::target {

/// The argument, `tp.alloc` or `tp.constant` that `buffer` is a view of.
mlir::Value rootBuffer(mlir::Value buffer);

/// Whether a program's argument is memory that parts of an entry leave for each
/// other (tp-outline-loops).
bool isCarried(mlir::BlockArgument argument);

/// Whether a command uses `buffer`, or a view of it.
bool isUsed(mlir::Value buffer);

/// The bytes of all elements of a memref.
int64_t bytesOf(mlir::MemRefType type);

/// Whether commands stand in for an attention where no library does it.
bool hasSteps(tp::AttentionOp attention);

/// The commands of a program in order, the steps of an attention in its place
/// if it has any.
llvm::SmallVector<mlir::Operation *> commandsOf(mlir::func::FuncOp program);

/// A piece of memory.
struct BufferPlace {
  Space space = Space::Arena;
  /// Which argument, result or carried value.
  unsigned index = 0;
  /// Bytes from the start of the arena or the constants.
  int64_t offset = 0;

  auto operator<=>(const BufferPlace &other) const = default;
};

/// The places of a program's buffers, once `tp-plan-memory` has set offsets.
class Buffers {
public:
  /// `constantsAt`: where the program's constants begin.
  explicit Buffers(mlir::func::FuncOp program, int64_t constantsAt = 0);

  /// The space of the root of `buffer`.
  Space spaceOf(mlir::Value buffer) const;
  /// The place of the root of `buffer`. The offset of a view is in its type.
  BufferPlace placeOf(mlir::Value buffer) const;

private:
  llvm::DenseMap<mlir::Value, unsigned> results;
  int64_t constantsAt;
  /// Arguments that parts of an entry carry are behind its ports.
  unsigned firstCarried = 0;
};

/// Whether `function` is on memory: a program, not a function on tensors.
bool isProgram(mlir::func::FuncOp function);

/// Whether `program` is one that the stages behind tp-form-program take: one
/// block of views, allocations, constants and commands; every result another
/// allocation. Fails with a located error.
mlir::LogicalResult verifyProgram(mlir::func::FuncOp program,
                                  const TargetTraits &traits);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_PROGRAM_BUFFERS_H
