//===- PrintShardingRules.cpp - rules as remarks --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrintShardingRules.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Pass/Pass.h"
#include "tp/Interfaces/ShardingRule.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

static std::string toText(const TensorFactors &dims) {
  std::string text = "(";
  for (auto [i, factors] : llvm::enumerate(dims)) {
    text += i ? ", " : "";
    text += factors.empty() ? "-" : "";
    for (auto [j, factor] : llvm::enumerate(factors))
      text += (j ? "*f" : "f") + std::to_string(factor);
    if (factors.window)
      text += "[" + std::to_string(factors.window->offset) + ":" +
              std::to_string(factors.window->offset + factors.window->size) +
              "]";
  }
  return text + ")";
}

static std::string toText(const ShardingRule &rule) {
  std::string text;
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    text += (i ? ", f" : "f") + std::to_string(i) + "=" +
            std::to_string(factor.size);
    if (factor.kind == FactorKind::Indexed)
      text += " indexed";
    if (factor.kind == FactorKind::Reduction && factor.unsplittable.empty()) {
      for (ReductionKind kind : factor.combiners)
        text += " " + toString(kind).str();
    }
    if (!factor.unsplittable.empty())
      text += " whole (" + factor.unsplittable + ")";
  }
  text += ":";
  for (const TensorFactors &dims : rule.slotFactors)
    text += " " + toText(dims);
  text += " ->";
  for (const TensorFactors &dims : rule.resultFactors)
    text += " " + toText(dims);
  for (const PartialPassthrough &pass : rule.passthroughs) {
    text += "; " + toString(pass.kind).str() + " [";
    for (auto [i, slot] : llvm::enumerate(pass.slots))
      text += (i ? ", " : "") + std::to_string(slot);
    text += "]";
    if (pass.resultKind != pass.kind)
      text += " -> " + toString(pass.resultKind).str();
  }
  for (ReductionKind kind : rule.freePartials)
    text += "; free " + toString(kind).str();
  return text;
}

namespace {
struct PrintShardingRules : PassWrapper<PrintShardingRules, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintShardingRules)
  StringRef getArgument() const final { return "tp-print-sharding-rules"; }
  StringRef getDescription() const final {
    return "Emit the sharding rule of every op as a remark";
  }
  void runOnOperation() final {
    getOperation()->walk([](ShardingRuleOpInterface op) {
      if (llvm::none_of(op->getResultTypes(),
                        [](Type type) { return isa<RankedTensorType>(type); }))
        return;
      FailureOr<ShardingRule> rule = op.getShardingRule();
      if (succeeded(rule))
        op->emitRemark() << toText(*rule);
    });
  }
};
} // namespace

void tp::registerPrintShardingRulesPass() {
  PassRegistration<PrintShardingRules>();
}
