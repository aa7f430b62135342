//===- Partition.cpp - the program that every rank runs -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalCollectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/IR/CustomOps.h"
#include "tp/Interfaces/ReplicatedRule.h"
#include "tp/Transforms/Partition/PartitionPasses.h"
#include "tp/Transforms/Redistribute/VerifyMaterialized.h"

namespace tp {
#define GEN_PASS_DEF_PARTITION
#include "tp/Transforms/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
bool isTensor(Type type) { return isa<RankedTensorType>(type); }

/// Rewrites one function in place: local ops are made before the global ones,
/// which are erased at the end.
class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp func, MeshAttr mesh)
      : func(func), mesh(mesh), builder(func.getContext()) {}

  LogicalResult run() {
    Block &block = func.getBody().front();
    SmallVector<Operation *> globalOps;
    for (Operation &op : block)
      globalOps.push_back(&op);

    // Local arguments stand behind the global ones until those go.
    unsigned numArguments = block.getNumArguments();
    SmallVector<Attribute> ofArguments, ofResults;
    for (unsigned i = 0; i < numArguments; ++i) {
      BlockArgument argument = block.getArgument(i);
      Value local =
          block.addArgument(localType(argument.getType()), argument.getLoc());
      locals.map(argument, local);
      ofArguments.push_back(
          portAttributes(func.getArgAttrDict(i), argument.getType()));
    }
    for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
      ofResults.push_back(portAttributes(func.getResultAttrDict(i), type));
    // All at once: the attributes of all ports are one list.
    func.setAllArgAttrs(ofArguments);
    func.setAllResultAttrs(ofResults);

    for (Operation *op : globalOps) {
      builder.setInsertionPoint(op);
      if (failed(partitionOp(op)))
        return failure();
    }
    for (Operation *op : llvm::reverse(globalOps))
      op->erase();
    block.eraseArguments(0, numArguments);

    SmallVector<Type> results;
    for (Type type : func.getResultTypes())
      results.push_back(localType(type));
    func.setFunctionType(FunctionType::get(func.getContext(),
                                           block.getArgumentTypes(), results));
    return success();
  }

private:
  Type localType(Type type) {
    if (LayoutAttr layout = LayoutAttr::of(type))
      return layout.localType(cast<RankedTensorType>(type));
    return type;
  }

  /// `given`, and what a port of the global type `type` was.
  DictionaryAttr portAttributes(DictionaryAttr given, Type type) {
    NamedAttrList attributes(given);
    if (LayoutAttr layout = LayoutAttr::of(type)) {
      auto tensor = cast<RankedTensorType>(type);
      attributes.set(attr::layout, layout);
      attributes.set(attr::globalType,
                     TypeAttr::get(RankedTensorType::get(
                         tensor.getShape(), tensor.getElementType())));
    }
    return attributes.getDictionary(func.getContext());
  }

  LogicalResult partitionOp(Operation *op) {
    if (isa<func::ReturnOp>(op) ||
        (slotsOf(op).empty() &&
         llvm::none_of(op->getResultTypes(), isTensor))) {
      builder.clone(*op, locals);
      return success();
    }
    FailureOr<SmallVector<Value>> results = createLocal(op);
    if (failed(results))
      return failure();
    locals.map(op->getResults(), *results);
    describe(op, *results);
    return success();
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op) {
    if (isa<TPDialect>(op->getDialect()) && !isa<CustomOp, KeptOp>(op)) {
      FailureOr<Value> result =
          createLocalStep(builder, op, locals.lookup(op->getOperand(0)));
      if (failed(result))
        return failure();
      return SmallVector<Value>{*result};
    }
    auto strategy = op->getAttrOfType<StrategyAttr>(attr::strategy);
    if (!strategy)
      return op->emitOpError("has no strategy; run tp-propagate before, or set "
                             "it in the later pass that created the op");
    FailureOr<ShardingRule> rule = ruleUnder(op, strategy.getValue());
    if (failed(rule))
      return failure();
    SmallVector<Value> slots;
    for (Value slot : rule->slots)
      slots.push_back(locals.lookup(slot));
    LocalOpBuilder local(builder, op, mesh, *rule, strategy.getValue(), slots);
    // Scalars and whatever else the op reads beside its slots.
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    IRMapping scalars;
    for (Value value : read)
      if (Value made = locals.lookupOrNull(value))
        scalars.map(value, made);
    local.setScalars(scalars);
    if (auto splittable = dyn_cast<ShardingRuleOpInterface>(op))
      return splittable.createLocal(local);
    return createReplicated(local);
  }

  /// Leaves on the ops that make `results` what values they are, and takes the
  /// strategy off.
  void describe(Operation *global, ArrayRef<Value> results) {
    auto ids = global->getAttrOfType<ArrayAttr>(attr::values);
    SmallVector<Attribute> values;
    for (auto [i, result] : llvm::enumerate(results)) {
      auto type = dyn_cast<RankedTensorType>(global->getResult(i).getType());
      auto id = ids && i < ids.size() ? dyn_cast<DictionaryAttr>(ids[i])
                                      : DictionaryAttr();
      LayoutAttr layout = LayoutAttr::of(global->getResult(i).getType());
      if (!type || !id || !layout) {
        values.push_back(builder.getUnitAttr());
        continue;
      }
      NamedAttrList entry(id);
      entry.set("layout", layout);
      entry.set("type", TypeAttr::get(RankedTensorType::get(
                            type.getShape(), type.getElementType())));
      values.push_back(entry.getDictionary(builder.getContext()));
    }
    Operation *local = results.front().getDefiningOp();
    // A step that changes no buffer leaves the op that made its operand, whose
    // value may be described already.
    if (!local || local->getNumResults() != results.size() || local == global ||
        isDescribed.contains(local))
      return;
    if (ids)
      isDescribed.insert(local);
    local->removeAttr(attr::strategy);
    local->removeAttr(attr::resultLayouts);
    local->removeAttr(attr::values);
    if (llvm::any_of(values,
                     [](Attribute v) { return isa<DictionaryAttr>(v); }))
      local->setAttr(attr::values, builder.getArrayAttr(values));
  }

  func::FuncOp func;
  MeshAttr mesh;
  OpBuilder builder;
  IRMapping locals;
  llvm::DenseSet<Operation *> isDescribed;
};

struct PartitionPass : tp::impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    auto partition = [](func::FuncOp func, MeshAttr mesh) {
      return failure(failed(verifyLayoutsInTypes(func)) ||
                     failed(FunctionPartitioner(func, mesh).run()));
    };
    if (failed(forEachBody(getOperation(), partition)))
      signalPassFailure();
  }
};
} // namespace
