//===- OpRules.cpp - the sharding rules of a program's ops ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/CustomOps.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/ReplicatedRule.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

bool propagate::handlesTensors(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>) ||
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>) ||
         !slotsOf(op).empty();
}

static ShardingRule identityRule(ConstrainOp op) {
  ShardingRule rule = replicatedRule(op);
  for (auto [dim, size] : llvm::enumerate(op.getType().getShape())) {
    rule.factors.emplace_back().size = size;
    rule.slotFactors[0][dim] = rule.resultFactors[0][dim] = {unsigned(dim)};
  }
  for (ReductionKind kind : allReductionKinds)
    rule.passthroughs.push_back({kind, {0}, kind});
  return rule;
}

bool propagate::hasRule(Operation *op) {
  auto custom = dyn_cast<CustomOp>(op);
  return isa<ShardingRuleOpInterface>(op) && (!custom || custom.getRule());
}

FailureOr<ShardingRule> propagate::ruleOf(Operation *op,
                                          bool replicateUnknown) {
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                llvm::to_vector(op->getResultTypes()))) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (isa<TensorType>(type) &&
        (!tensor || !tensor.hasStaticShape() || tensor.getEncoding()))
      return op->emitOpError("expected plain tensors of static shape, got ")
             << type;
  }
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    return identityRule(constrain);
  if (hasRule(op))
    return cast<ShardingRuleOpInterface>(op).getShardingRule();
  // The dialect loads tensor.empty, which has a rule wherever rules are loaded.
  auto empty = RegisteredOperationName::lookup(TypeID::get<tensor::EmptyOp>(),
                                               op->getContext());
  if (!empty || !empty->hasInterface<ShardingRuleOpInterface>())
    return op->emitOpError("has no sharding rule, because tp's sharding rules "
                           "are not loaded; mlir-opt loads them with "
                           "--load-dialect-plugin=tp-plugin.so, a tool with "
                           "tp::registerCompileDialects");
  if (replicateUnknown)
    return replicatedRule(op);
  return op->emitOpError("has no sharding rule, so it is not known how to "
                         "split it; 'replicate-unknown' makes every rank do "
                         "all of it, and a rule beside the plan splits it: ")
         << ruleTemplate(op);
}
