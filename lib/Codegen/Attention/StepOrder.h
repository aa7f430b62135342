//===- StepOrder.h - an attention's steps in a row --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_STEPORDER_H
#define TP_LIB_CODEGEN_ATTENTION_STEPORDER_H

#include "Program/CommandList.h"

namespace tp::target {

/// The commands from `first` to `last` are the steps of an attention, all of
/// them.
struct StepRange {
  int64_t id;
  size_t first, last;
};

/// Puts the steps of each attention one behind the other, where what they
/// compute allows it, and returns those of which it does.
llvm::SmallVector<StepRange> putStepsTogether(Schedule &list);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_STEPORDER_H
