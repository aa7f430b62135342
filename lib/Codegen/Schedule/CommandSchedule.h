//===- CommandSchedule.h - when commands run --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_SCHEDULE_COMMANDSCHEDULE_H
#define TP_LIB_CODEGEN_SCHEDULE_COMMANDSCHEDULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp::target {

/// Puts the commands of `program` into the order in which they run: that of the
/// text, but for commands that write an argument in place, which come behind
/// those that read it. Fails with an error at a command that would have to come
/// before and behind another one.
mlir::LogicalResult scheduleCommands(mlir::func::FuncOp program);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_SCHEDULE_COMMANDSCHEDULE_H
