//===- KeptShardingRule.cpp - the sharding rule of tp.kept ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/Registration.h"
#include "tp/Interfaces/ReplicatedRule.h"

using namespace mlir;
using namespace tp;

namespace {
struct KeptModel : ShardingRuleOpInterface::ExternalModel<KeptModel, KeptOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    ShardingRule rule = replicatedRule(op);
    // Nothing is computed.
    rule.work = 0;
    for (auto [dim, size] :
         llvm::enumerate(cast<KeptOp>(op).getType().getShape())) {
      rule.factors.emplace_back().size = size;
      rule.slotFactors[0][dim] = rule.resultFactors[0][dim] = {unsigned(dim)};
    }
    for (ReductionKind kind : allReductionKinds)
      rule.passthroughs.push_back({kind, {0}, kind});
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    return createReplicated(local);
  }
};
} // namespace

void tp::registerKeptShardingRule(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TPDialect *) {
    KeptOp::attachInterface<KeptModel>(*context);
  });
}
