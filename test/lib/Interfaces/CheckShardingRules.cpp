//===- CheckShardingRules.cpp - rules against the unsharded op ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckShardingRules.h"
#include "RuleCells.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "tp/Files/OutputText.h"
#include "tp/IR/LayoutEncoding.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/ShardingRule.h"
#include "tp/Simulate/Simulator.h"
#include "tp/Transforms/Partition/PartitionPasses.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"

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
                            : withLayout(RankedTensorType::get({}, type),
                                         Layout::replicated(mesh.getValue())));
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
    SmallVector<Value> returned;
    for (auto [result, type] : llvm::zip(clone->getResults(), results)) {
      if (isa<RankedTensorType>(result.getType()))
        setLayout(result, LayoutAttr::of(type));
      returned.push_back(isa<RankedTensorType>(result.getType())
                             ? result
                             : asTensor(result, type));
    }
    clone->setAttr(attr::strategy,
                   StrategyAttr::get(op->getContext(), mesh, strategy));
    if (isa<tensor::EmptyOp>(op)) {
      FailureOr<Value> filled = fill(returned.front());
      if (failed(filled))
        return failure();
      returned = {*filled};
    }
    for (auto [i, value] : llvm::enumerate(returned))
      value.getDefiningOp()->setAttr(
          attr::values,
          builder.getArrayAttr(builder.getDictionaryAttr(
              builder.getNamedAttr("id", builder.getI64IntegerAttr(i)))));
    if (clone->getNumResults() > 1) {
      SmallVector<Attribute> ids;
      for (unsigned i = 0; i < results.size(); ++i)
        ids.push_back(builder.getDictionaryAttr(
            builder.getNamedAttr("id", builder.getI64IntegerAttr(i))));
      clone->setAttr(attr::values, builder.getArrayAttr(ids));
    }
    func::ReturnOp::create(builder, op->getLoc(), returned);
    return module;
  }

private:
  Type withLayout(Type type, const Layout &layout) {
    return LayoutAttr::get(op->getContext(), mesh, layout)
        .attachTo(cast<RankedTensorType>(type));
  }

  /// A scalar that the op makes, so that it can be compared.
  Value asTensor(Value scalar, Type type) {
    auto tensor = tensor::FromElementsOp::create(builder, op->getLoc(), type,
                                                 ValueRange{scalar});
    tensor->setAttr(attr::strategy,
                    StrategyAttr::get(op->getContext(), mesh,
                                      Strategy::replicated(mesh.getValue())));
    return tensor;
  }

  /// What a tensor.empty holds is not defined: it is filled with a number that
  /// is partial of the kinds that the strategy asks for.
  FailureOr<Value> fill(Value empty) {
    auto type = cast<RankedTensorType>(empty.getType());
    Attribute number = builder.getZeroAttr(type.getElementType());
    for (const AxisChoice &entry : strategy.entries)
      if (entry.choice.kind == ChoiceKind::Passthrough &&
          entry.choice.reduction != ReductionKind::Avg)
        number = identityOf(entry.choice.reduction, type.getElementType());
    if (!number)
      return op->emitError("has elements that no number can fill");
    Value scalar = arith::ConstantOp::create(builder, op->getLoc(),
                                             cast<TypedAttr>(number));
    auto filled = linalg::FillOp::create(builder, op->getLoc(), scalar, empty);
    filled->setAttr(attr::strategy,
                    StrategyAttr::get(op->getContext(), mesh, strategy));
    return filled->getResult(0);
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
          {entry.part, placement.isShard()
                           ? Choice::split(placement.dim, placement.segments)
                       : placement.isPartial()
                           ? Choice::passthrough(placement.reduction, {})
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

  ListOption<int64_t> ranks{
      *this, "ranks",
      llvm::cl::desc(
          "Sizes of the axes (2), two of them for pairs of choices")};
  Option<bool> subAxes{*this, "sub-axes",
                       llvm::cl::desc("The sizes are parts of one axis"),
                       llvm::cl::init(false)};
  Option<bool> segments{
      *this, "segments",
      llvm::cl::desc("Split packed factors only: every factor is seen as two "
                     "segments, of 2 indices and of the others"),
      llvm::cl::init(false)};
  Option<bool> newCells{
      *this, "new-cells",
      llvm::cl::desc("Run only what fills a cell that no check of an op of the "
                     "same name has filled"),
      llvm::cl::init(false)};
  Option<std::string> cells{
      *this, "cells",
      llvm::cl::desc("Write what rules there are, what they allow and what of "
                     "it was checked to this file")};

  StringRef getArgument() const final { return "tp-check-sharding-rules"; }
  StringRef getDescription() const final {
    return "Run every op under every legal strategy of its rule on all ranks, "
           "before and after tp-partition, against the unsharded op";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<TPDialect, arith::ArithDialect, func::FuncDialect,
                    linalg::LinalgDialect, tensor::TensorDialect>();
  }

  /// On one axis every legal choice; on two every pair of choices that are both
  /// something, since one alone is checked on one axis.
  std::vector<Strategy> strategiesOf(const ShardingRule &rule,
                                     const Mesh &mesh) {
    std::vector<Strategy> strategies;
    if (parts.size() == 1) {
      for (Choice &choice : rule.legalChoices(parts[0], mesh))
        if (!segments || !choice.segments.empty())
          strategies.push_back({{{parts[0], choice}}});
      return strategies;
    }
    for (const Choice &first : rule.legalChoices(parts[0], mesh))
      for (const Choice &second : rule.legalChoices(parts[1], mesh)) {
        Strategy strategy{{{parts[0], first}, {parts[1], second}}};
        if (first.kind != ChoiceKind::Replicate &&
            second.kind != ChoiceKind::Replicate &&
            isSensible(rule, strategy, mesh))
          strategies.push_back(std::move(strategy));
      }
    return strategies;
  }

  LogicalResult check(Operation *op, MeshAttr mesh) {
    auto splittable = dyn_cast<ShardingRuleOpInterface>(op);
    auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
    bool readsOrMakesTensors =
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) ||
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
    if (!splittable || !readsOrMakesTensors || op->getNumResults() == 0 ||
        !llvm::all_of(op->getResultTypes(), [&](Type type) {
          return isa<RankedTensorType>(type) || isScalar(type);
        }))
      return success();
    // Of integers no number is an average, so that a fill cannot make one.
    bool isEmpty = isa<tensor::EmptyOp>(op);
    if (isEmpty && !isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
      return success();
    FailureOr<ShardingRule> rule = splittable.getShardingRule();
    if (failed(rule))
      return failure();
    constexpr int64_t firstSegment = 2;
    if (segments)
      for (Factor &factor : rule->factors)
        if (factor.size > firstSegment)
          factor.segmentations = {{firstSegment, factor.size - firstSegment}};
    std::string name = op->getName().getStringRef().str();
    for (const std::string &cell : cellsOf(op, *rule))
      lines.insert("has " + name + " " + cell + "\n");
    std::vector<Strategy> strategies = strategiesOf(*rule, mesh.getValue());
    for (const Strategy &strategy : strategies) {
      std::set<std::string> fills;
      for (const std::string &cell : cellsOf(op, *rule, strategy))
        fills.insert("ran " + name + " " + cell + "\n");
      if (newCells && llvm::all_of(fills, [&](const std::string &line) {
            return lines.contains(line);
          }))
        continue;
      FailureOr<OwningOpRef<ModuleOp>> module =
          OpUnderStrategy(op, *rule, mesh, strategy).build();
      if (failed(module) || failed(checkModule(**module)))
        return op->emitError()
               << "fails under strategy "
               << (parts.size() == 1 ? toString(strategy.entries[0].choice)
                                     : strategy.toString(mesh.getValue()));
      lines.insert(fills.begin(), fills.end());
    }
    if (!isEmpty)
      op->emitRemark() << strategies.size() << " strategies hold";
    return success();
  }

  /// All ops of the tool's dialects that have a rule, whether the module has
  /// them or not.
  void reportRules() {
    MLIRContext context(getContext().getDialectRegistry(),
                        MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    for (RegisteredOperationName name : context.getRegisteredOperations())
      if (name.hasInterface<ShardingRuleOpInterface>())
        lines.insert("rule " + name.getStringRef().str() + "\n");
  }

  LogicalResult writeReport() {
    if (cells.empty())
      return success();
    reportRules();
    std::string text;
    for (const std::string &line : lines)
      text += line;
    if (runtime::Status status = writeOutputText(cells, text); !status.ok())
      return getOperation().emitError() << status.message();
    return success();
  }

  void runOnOperation() final {
    SmallVector<int64_t> sizes(ranks.begin(), ranks.end());
    if (sizes.empty())
      sizes = {2};
    if (sizes.size() > 2 ||
        llvm::any_of(sizes, [](int64_t size) { return size < 1; })) {
      getOperation().emitError() << "expected one or two sizes of at least 1";
      return signalPassFailure();
    }
    Mesh mesh;
    parts.clear();
    lines.clear();
    for (auto [axis, size] : llvm::enumerate(sizes)) {
      if (subAxes && axis > 0) {
        parts.push_back({0, mesh.axes[0].size, size});
        mesh.axes[0].size *= size;
        continue;
      }
      parts.push_back({static_cast<unsigned>(axis), 1, size});
      mesh.axes.push_back({axis ? "other" : "tp", size});
    }
    auto attr = MeshAttr::get(&getContext(), mesh);
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Operation &op : func.getOps())
        if (failed(check(&op, attr)))
          signalPassFailure();
    if (failed(writeReport()))
      signalPassFailure();
  }

  /// The parts of axes that an op's choices are for.
  SmallVector<AxisPart> parts;
  std::set<std::string> lines;
};
} // namespace

void tp::registerCheckShardingRulesPass() {
  PassRegistration<CheckShardingRules>();
}
