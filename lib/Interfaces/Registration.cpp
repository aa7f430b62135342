//===- Registration.cpp - all sharding rules ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/Registration.h"

void tp::registerAllShardingRules(mlir::DialectRegistry &registry) {
  registerArithShardingRules(registry);
  registerCustomShardingRules(registry);
  registerKeptShardingRule(registry);
  registerLinalgShardingRules(registry);
  registerTensorShardingRules(registry);
}
