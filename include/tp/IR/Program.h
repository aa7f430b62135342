//===- Program.h - the ops of a rank's program ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_PROGRAM_H
#define TP_IR_PROGRAM_H

#include "tp/IR/TP.h"

#define GET_OP_CLASSES
#include "tp/IR/ProgramOps.h.inc"

#endif // TP_IR_PROGRAM_H
