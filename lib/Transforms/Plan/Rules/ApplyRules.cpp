//===- ApplyRules.cpp - sharding rules of a plan file ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyRules.h"
#include "tp/Interfaces/ShardingRule.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

static LogicalResult apply(RuleOp rule, Operation *op) {
  auto reduction = rule.getOptions().getAs<ArrayAttr>("reduction");
  auto combine = rule.getOptions().getAs<StringAttr>("combine");
  std::string problem;
  std::optional<CustomRule> stated =
      CustomRule::read(rule.getRule(), reduction, combine, problem);
  if (!stated)
    return rule.emitError() << problem;
  FailureOr<CustomOp> custom = makeCustom(op);
  if (failed(custom))
    return failure();
  problem =
      stated->whyNot(custom->getInputs().getTypes(), custom->getResultTypes());
  if (!problem.empty()) {
    InFlightDiagnostic error = custom->emitError()
                               << "the rule of '" << rule.getOpName()
                               << "' does not fit: " << problem;
    error.attachNote(rule.getLoc()) << "the rule is here";
    return error;
  }
  custom->setRule(rule.getRule());
  if (reduction)
    custom->setReductionAttr(reduction);
  if (combine)
    custom->setCombineAttr(combine);
  return success();
}

/// Why the op that `rule` names needs none.
static LogicalResult refuseKnown(RuleOp rule) {
  auto known =
      RegisteredOperationName::lookup(rule.getOpName(), rule.getContext());
  if (!known || !known->hasInterface<ShardingRuleOpInterface>())
    return success();
  return rule.emitError() << "'" << rule.getOpName()
                          << "' has a sharding rule already, expected an op "
                             "without one";
}

/// Names the ops that a rule may be meant for.
static LogicalResult refuseUnused(RuleOp rule,
                                  ArrayRef<func::FuncOp> functions) {
  InFlightDiagnostic error = rule.emitError() << "the program has no op '"
                                              << rule.getOpName() << "'";
  llvm::SetVector<StringRef> others;
  for (func::FuncOp function : functions)
    function.walk([&](CustomOp custom) { others.insert(custom.getOpName()); });
  Diagnostic &note = error.attachNote();
  if (others.empty())
    note << "all of its ops are of dialects that tp knows";
  else
    note << "ops of dialects that tp does not know are ";
  llvm::interleaveComma(others, note,
                        [&](StringRef name) { note << "'" << name << "'"; });
  return error;
}

LogicalResult tp::applyRules(ArrayRef<RuleOp> rules,
                             ArrayRef<func::FuncOp> functions) {
  llvm::StringMap<RuleOp> byName;
  for (RuleOp rule : rules) {
    auto [known, isNew] = byName.try_emplace(rule.getOpName(), rule);
    if (!isNew) {
      InFlightDiagnostic error = rule.emitError() << "'" << rule.getOpName()
                                                  << "' has a tp.rule already";
      error.attachNote(known->second.getLoc()) << "it is here";
      return error;
    }
    if (failed(refuseKnown(rule)))
      return failure();
  }
  if (byName.empty())
    return success();
  llvm::StringSet<> used;
  for (func::FuncOp function : functions) {
    SmallVector<std::pair<RuleOp, Operation *>> named;
    for (Operation &op : function.front())
      if (auto at = byName.find(customNameOf(&op)); at != byName.end()) {
        named.push_back({at->second, &op});
        used.insert(at->first());
      }
    for (auto [rule, op] : named)
      if (failed(apply(rule, op)))
        return failure();
  }
  for (RuleOp rule : rules)
    if (!used.contains(rule.getOpName()))
      return refuseUnused(rule, functions);
  return success();
}
