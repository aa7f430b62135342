//===- ReplicatedRule.cpp - ops that every rank does whole ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/ReplicatedRule.h"

using namespace mlir;
using namespace tp;

ShardingRule tp::replicatedRule(Operation *op) {
  ShardingRule rule;
  rule.slots = slotsOf(op);
  rule.initOf.assign(rule.slots.size(), std::nullopt);
  for (Value slot : rule.slots)
    rule.slotFactors.emplace_back(
        cast<RankedTensorType>(slot.getType()).getRank());
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    rule.resultFactors.emplace_back(tensor ? tensor.getRank() : 0);
  }
  rule.work = 1;
  return rule;
}

FailureOr<ShardingRule> tp::ruleUnder(Operation *op, const Strategy &strategy) {
  if (auto splittable = dyn_cast<ShardingRuleOpInterface>(op))
    return splittable.getShardingRule();
  for (const AxisChoice &entry : strategy.entries)
    if (entry.choice.kind != ChoiceKind::Replicate)
      return op->emitOpError("has no sharding rule, expected the strategy to "
                             "be replicate on all axes");
  return replicatedRule(op);
}

SmallVector<Value> tp::createReplicated(LocalOpBuilder &local) {
  IRMapping mapping = local.mapping();
  Operation *clone = local.builder.clone(*local.op, mapping);
  for (auto [i, type] : llvm::enumerate(local.op->getResultTypes()))
    if (isa<RankedTensorType>(type))
      clone->getResult(i).setType(local.resultType(i));
  return SmallVector<Value>(clone->getResults());
}
