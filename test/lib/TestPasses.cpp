//===- TestPasses.cpp - passes that only tests run ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "IR/PrintCollectiveBytes.h"
#include "Interfaces/CheckShardingRules.h"
#include "Interfaces/CompareStrategies.h"
#include "Interfaces/PrintShardingRules.h"
#include "Legalize/CheckOpTable.h"
#include "Propagate/CheapestAssignment.h"

void tp::registerTestPasses() {
  registerCheapestAssignmentPass();
  registerCheckOpTablePass();
  registerCheckShardingRulesPass();
  registerCompareStrategiesPass();
  registerPrintCollectiveBytesPass();
  registerPrintShardingRulesPass();
}
