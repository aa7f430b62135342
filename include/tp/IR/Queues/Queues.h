//===- Queues.h - queues of a device ----------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_QUEUES_QUEUES_H
#define TP_IR_QUEUES_QUEUES_H

#include "tp/IR/TP.h"

#include "tp/IR/QueueEnums.h.inc"

#define GET_OP_CLASSES
#include "tp/IR/QueueOps.h.inc"

namespace tp {
inline constexpr unsigned numQueues = getMaxEnumValForQueue() + 1;
} // namespace tp

#endif // TP_IR_QUEUES_QUEUES_H
