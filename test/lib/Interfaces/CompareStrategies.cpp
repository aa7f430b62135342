//===- CompareStrategies.cpp - rules against what holds -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompareStrategies.h"
#include "LocalOp.h"
#include "LocalParts.h"
#include "SimulatedStrategies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Interfaces/ShardingRule.h"
#include "tp/Sharding/LayoutChange.h"

using namespace mlir;
using namespace tp;

static bool isAmong(ArrayRef<SimulatedStrategy> all,
                    const SimulatedStrategy &one) {
  return llvm::any_of(all, [&](const SimulatedStrategy &other) {
    return other.slots == one.slots && other.result == one.result;
  });
}

static bool isOfCopies(const Placement &placement) {
  return placement.isPartial() && combinesCopies(placement.reduction);
}

namespace {
/// The strategies of one op, as found and as its rule has them.
class Comparison {
public:
  Comparison(Operation *op, ArrayRef<SimulatedStrategy> found)
      : op(op), found(found) {}

  LogicalResult readRule(AxisPart part, const Mesh &mesh);
  /// An error where the rule offers what does not hold; a remark for each
  /// strategy that it lacks.
  LogicalResult report();

private:
  /// The placements of `slot` that make no difference to `strategy`: all but
  /// shards, where the op does not read the operand.
  bool isUnread(const SimulatedStrategy &strategy, unsigned slot) const;
  bool follows(const SimulatedStrategy &strategy,
               const SimulatedStrategy &from) const;
  /// Packed shards, other units and averages of integers are not.
  bool isSimulated(const SimulatedStrategy &strategy) const;
  std::string text(const SimulatedStrategy &strategy) const;

  Operation *op;
  ArrayRef<SimulatedStrategy> found;
  std::vector<SimulatedStrategy> offered;
  std::vector<Choice> choices;
};

struct CompareStrategies
    : PassWrapper<CompareStrategies, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CompareStrategies)
  CompareStrategies() = default;
  CompareStrategies(const CompareStrategies &other) : PassWrapper(other) {}

  Option<int64_t> ranks{*this, "ranks", llvm::cl::desc("Size of the axis"),
                        llvm::cl::init(2)};

  StringRef getArgument() const final { return "tp-compare-strategies"; }
  StringRef getDescription() const final {
    return "Find the strategies of every op by running it on all ranks and "
           "compare them with its sharding rule";
  }

  void runOnOperation() final {
    if (ranks < 2) {
      getOperation().emitError() << "expected at least 2 ranks, got " << ranks;
      return signalPassFailure();
    }
    Mesh mesh{{{"tp", ranks}}, {}};
    StrategySimulator simulator(ranks);
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Operation &op : func.getOps())
        if (op.getNumResults() && isa<RankedTensorType>(op.getResultTypes()[0]))
          if (failed(compare(&op, simulator, mesh)))
            signalPassFailure();
  }

  LogicalResult compare(Operation *op, StrategySimulator &simulator,
                        const Mesh &mesh) {
    if (std::string why = whyNotLocal(op); !why.empty())
      return op->emitError() << why;
    FailureOr<ArrayRef<SimulatedStrategy>> found = simulator.strategiesOf(op);
    if (failed(found))
      return failure();
    Comparison comparison(op, *found);
    if (failed(comparison.readRule(mesh.wholeAxis(0), mesh)))
      return failure();
    return comparison.report();
  }
};
} // namespace

LogicalResult Comparison::readRule(AxisPart part, const Mesh &mesh) {
  auto model = dyn_cast<ShardingRuleOpInterface>(op);
  if (!model)
    return op->emitError("has no sharding rule");
  FailureOr<ShardingRule> rule = model.getShardingRule();
  if (failed(rule))
    return failure();
  for (const Choice &choice : rule->legalChoices(part, mesh)) {
    Strategy strategy{{{part, choice}}};
    SimulatedStrategy &offer = offered.emplace_back();
    for (unsigned slot = 0; slot < rule->slots.size(); ++slot)
      offer.slots.push_back(*rule->slotPlacement(slot, strategy, part));
    offer.result = *rule->resultPlacement(0, strategy, part);
    choices.push_back(choice);
  }
  return success();
}

bool Comparison::isUnread(const SimulatedStrategy &strategy,
                          unsigned slot) const {
  if (strategy.slots[slot].isShard())
    return false;
  SimulatedStrategy other = strategy;
  auto type = cast<RankedTensorType>(tensorOperands(op)[slot].getType());
  return llvm::all_of(placementsOf(type), [&](const Placement &placement) {
    other.slots[slot] = placement;
    return placement.isShard() || isAmong(found, other);
  });
}

bool Comparison::follows(const SimulatedStrategy &strategy,
                         const SimulatedStrategy &from) const {
  for (unsigned slot = 0; slot < strategy.slots.size(); ++slot) {
    const Placement &here = strategy.slots[slot], &there = from.slots[slot];
    if (here != there && !(here.isReplicate() && isOfCopies(there)) &&
        !isUnread(strategy, slot))
      return false;
  }
  return strategy.result == from.result ||
         (from.result.isReplicate() && isOfCopies(strategy.result));
}

bool Comparison::isSimulated(const SimulatedStrategy &strategy) const {
  auto knows = [](Value value, const Placement &placement) {
    return llvm::is_contained(
        placementsOf(cast<RankedTensorType>(value.getType())), placement);
  };
  return knows(op->getResult(0), strategy.result) &&
         llvm::all_of(llvm::zip(tensorOperands(op), strategy.slots),
                      [&](auto pair) {
                        return knows(std::get<0>(pair), std::get<1>(pair));
                      });
}

std::string Comparison::text(const SimulatedStrategy &strategy) const {
  std::string text = "(";
  for (unsigned slot = 0; slot < strategy.slots.size(); ++slot)
    text += (slot ? ", " : "") +
            (isUnread(strategy, slot) ? "any" : toString(strategy.slots[slot]));
  return text + ") to " + toString(strategy.result);
}

LogicalResult Comparison::report() {
  bool holds = true;
  for (auto [offer, choice] : llvm::zip(offered, choices)) {
    if (!isSimulated(offer))
      continue;
    if (isAmong(found, offer))
      continue;
    op->emitError() << "does not hold under " << toString(choice) << ": "
                    << text(offer);
    holds = false;
  }
  std::vector<std::string> lacks;
  for (const SimulatedStrategy &strategy : found) {
    if (llvm::any_of(offered, [&](const SimulatedStrategy &offer) {
          return follows(strategy, offer);
        }))
      continue;
    std::string line = text(strategy);
    if (!llvm::is_contained(lacks, line))
      lacks.push_back(std::move(line));
  }
  for (const std::string &line : lacks)
    op->emitRemark() << "is not offered " << line;
  op->emitRemark() << llvm::count_if(offered,
                                     [&](const SimulatedStrategy &offer) {
                                       return isSimulated(offer);
                                     })
                   << " strategies offered, " << lacks.size() << " lacking";
  return success(holds);
}

void tp::registerCompareStrategiesPass() {
  PassRegistration<CompareStrategies>();
}
