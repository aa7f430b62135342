//===- StyleDefaults.h - layouts that no option states ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_STYLEDEFAULTS_H
#define TP_LIB_PIPELINES_STYLEDEFAULTS_H

#include "PlanTrials.h"

namespace tp {

/// Marks the pins in the causes of `report` whose layouts are the defaults of
/// their entries' styles: `default` is the style, and the option that states
/// another layout at the module's outer side.
void markDefaults(llvm::json::Object &report, const PlanTrials &trials);

} // namespace tp

#endif // TP_LIB_PIPELINES_STYLEDEFAULTS_H
