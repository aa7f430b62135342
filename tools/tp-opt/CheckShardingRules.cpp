//===- CheckShardingRules.cpp - rules against the unsharded op ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckShardingRules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "tp/IR/LayoutEncoding.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/ShardingRule.h"
#include "tp/Simulate/Simulator.h"
#include "tp/Transforms/Partition/Passes.h"
#include "tp/Transforms/Redistribute/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

namespace {
/// One op alone in a function, under one strategy: its slots are arguments in
/// the layouts that the strategy asks for.
class OpUnderStrategy {
public:
  OpUnderStrategy(Operation *op, const ShardingRule &rule, MeshAttr mesh,
                  const Strategy &strategy)
      : op(op), rule(rule), mesh(mesh), strategy(strategy),
        builder(op->getContext()) {}

  FailureOr<OwningOpRef<ModuleOp>> build() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
    (*module)->setAttr(attr::mesh, mesh);
    builder.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> arguments, results;
    for (unsigned slot = 0; slot < rule.slots.size(); ++slot)
      arguments.push_back(withLayout(rule.slots[slot].getType(),
                                     rule.slotLayout(slot, strategy)));
    for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
      results.push_back(isa<RankedTensorType>(type)
                            ? withLayout(type, rule.resultLayout(i, strategy))
                            : type);
    auto func =
        func::FuncOp::create(builder, op->getLoc(), "check",
                             builder.getFunctionType(arguments, results));
    builder.setInsertionPointToStart(func.addEntryBlock());
    IRMapping mapping;
    if (failed(mapScalars(mapping)))
      return failure();
    for (auto [slot, argument] : llvm::zip(rule.slots, func.getArguments()))
      mapping.map(slot, argument);
    Operation *clone = builder.clone(*op, mapping);
    // The same value may be two operands, in two layouts.
    unsigned slot = 0;
    for (OpOperand &operand : clone->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType())) {
        operand.set(filledInit(slot, clone, func.getArgument(slot)));
        ++slot;
      }
    for (auto [result, type] : llvm::zip(clone->getResults(), results))
      if (LayoutAttr layout = LayoutAttr::of(type))
        setLayout(result, layout);
    clone->setAttr(attr::strategy,
                   StrategyAttr::get(op->getContext(), mesh, strategy));
    SmallVector<Attribute> ids;
    for (unsigned i = 0; i < results.size(); ++i)
      ids.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr("id", builder.getI64IntegerAttr(i))));
    clone->setAttr(attr::values, builder.getArrayAttr(ids));
    func::ReturnOp::create(builder, op->getLoc(), clone->getResults());
    return module;
  }

private:
  Type withLayout(Type type, const Layout &layout) {
    return LayoutAttr::get(op->getContext(), mesh, layout)
        .attachTo(cast<RankedTensorType>(type));
  }

  /// An init that is filled with a constant is filled here too, since the rule
  /// may depend on the number; otherwise `argument`.
  Value filledInit(unsigned slot, Operation *user, Value argument) {
    auto fill = rule.slots[slot].getDefiningOp<linalg::FillOp>();
    Attribute number;
    if (!rule.initOf[slot] || !fill ||
        !matchPattern(fill.value(), m_Constant(&number)))
      return argument;
    Layout layout = rule.slotLayout(slot, strategy);
    Strategy made;
    for (const AxisPlacement &entry : layout.entries) {
      const Placement &placement = entry.placement;
      if (placement.isPartial() &&
          !isIdentityConstant(number, placement.reduction))
        return argument;
      made.entries.push_back(
          {entry.part, placement.isShard() ? Choice::split(placement.dim)
                       : placement.isPartial()
                           ? Choice::pass(placement.reduction, {})
                           : Choice::replicate()});
    }
    OpBuilder before(user);
    IRMapping mapping;
    Operation *constant = before.clone(*fill.value().getDefiningOp());
    mapping.map(fill.value(), constant->getResult(0));
    Value empty = tensor::EmptyOp::create(before, op->getLoc(),
                                          argument.getType(), ValueRange());
    mapping.map(fill.getOutputs()[0], empty);
    Operation *filled = before.clone(*fill, mapping);
    filled->getResult(0).setType(argument.getType());
    auto attribute = StrategyAttr::get(op->getContext(), mesh, made);
    empty.getDefiningOp()->setAttr(attr::strategy, attribute);
    filled->setAttr(attr::strategy, attribute);
    return filled->getResult(0);
  }

  /// Constants that the op reads beside its slots are made anew; other scalars
  /// become 1, which is a place in most dimensions.
  LogicalResult mapScalars(IRMapping &mapping) {
    llvm::SetVector<Value> outside;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!isa<RankedTensorType>(operand.getType()) &&
            !op->isAncestor(operand.getParentBlock()->getParentOp()))
          outside.insert(operand);
    });
    for (Value scalar : outside) {
      Operation *def = scalar.getDefiningOp();
      if (def && def->hasTrait<OpTrait::ConstantLike>()) {
        mapping.map(scalar, builder.clone(*def)->getResult(0));
        continue;
      }
      TypedAttr one = builder.getOneAttr(scalar.getType());
      if (!one)
        return op->emitError("reads a scalar that is no number");
      mapping.map(scalar,
                  arith::ConstantOp::create(builder, op->getLoc(), one));
    }
    return success();
  }

  Operation *op;
  const ShardingRule &rule;
  MeshAttr mesh;
  const Strategy &strategy;
  OpBuilder builder;
};

LogicalResult checkModule(ModuleOp module) {
  if (failed(simulate(module)))
    return failure();
  OwningOpRef<ModuleOp> reference = module.clone();
  PassManager manager(module.getContext());
  manager.addPass(createVerifyCollectives());
  manager.addPass(createPartition());
  manager.addPass(createVerifyPartitioned());
  if (failed(manager.run(module)))
    return failure();
  return simulatePartitioned(module, *reference);
}

struct CheckShardingRules
    : PassWrapper<CheckShardingRules, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckShardingRules)
  CheckShardingRules() = default;
  CheckShardingRules(const CheckShardingRules &other) : PassWrapper(other) {}

  Option<int64_t> ranks{*this, "ranks", llvm::cl::desc("Size of the axis"),
                        llvm::cl::init(2)};

  StringRef getArgument() const final { return "tp-check-sharding-rules"; }
  StringRef getDescription() const final {
    return "Run every op under every legal strategy of its rule on all ranks, "
           "before and after tp-partition, against the unsharded op";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<TPDialect, arith::ArithDialect, func::FuncDialect>();
  }

  LogicalResult check(Operation *op, MeshAttr mesh) {
    auto splittable = dyn_cast<ShardingRuleOpInterface>(op);
    bool hasTensorResult = llvm::any_of(op->getResultTypes(), [](Type type) {
      return isa<RankedTensorType>(type);
    });
    // What tensor.empty holds is not defined.
    if (!splittable || !hasTensorResult || isa<tensor::EmptyOp>(op))
      return success();
    FailureOr<ShardingRule> rule = splittable.getShardingRule();
    if (failed(rule))
      return failure();
    AxisPart part = mesh.getValue().wholeAxis(0);
    SmallVector<Choice> choices = rule->legalChoices(part, mesh.getValue());
    for (const Choice &choice : choices) {
      Strategy strategy{{{part, choice}}};
      FailureOr<OwningOpRef<ModuleOp>> module =
          OpUnderStrategy(op, *rule, mesh, strategy).build();
      if (failed(module) || failed(checkModule(**module)))
        return op->emitError() << "fails under strategy " << toString(choice);
    }
    op->emitRemark() << choices.size() << " strategies hold";
    return success();
  }

  void runOnOperation() final {
    if (ranks < 1) {
      getOperation().emitError() << "ranks is at least 1, got " << ranks;
      return signalPassFailure();
    }
    Mesh mesh{{{"tp", ranks}}, {}};
    auto attr = MeshAttr::get(&getContext(), mesh);
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Operation &op : func.getOps())
        if (failed(check(&op, attr)))
          signalPassFailure();
  }
};
} // namespace

void tp::registerCheckShardingRulesPass() {
  PassRegistration<CheckShardingRules>();
}
