//===- Partition.cpp - the program that every rank runs -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/TP.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/ReplicatedRule.h"
#include "tp/Transforms/Partition/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

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
    for (unsigned i = 0; i < numArguments; ++i) {
      BlockArgument argument = block.getArgument(i);
      Value local =
          block.addArgument(localType(argument.getType()), argument.getLoc());
      locals.map(argument, local);
      keepPort(argument.getType(), [&](StringRef name, Attribute value) {
        func.setArgAttr(i, name, value);
      });
    }
    for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
      keepPort(type, [&, i = i](StringRef name, Attribute value) {
        func.setResultAttr(i, name, value);
      });

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

  template <typename SetAttr> void keepPort(Type type, SetAttr set) {
    LayoutAttr layout = LayoutAttr::of(type);
    if (!layout)
      return;
    auto tensor = cast<RankedTensorType>(type);
    set(attr::layout, layout);
    set(attr::globalType, TypeAttr::get(RankedTensorType::get(
                              tensor.getShape(), tensor.getElementType())));
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
    if (isa<TPDialect>(op->getDialect()))
      return createLocalLayoutChange(op);
    auto strategy = op->getAttrOfType<StrategyAttr>(attr::strategy);
    if (!strategy)
      return op->emitOpError("has no strategy; run tp-propagate before");
    FailureOr<ShardingRule> rule = ruleUnder(op, strategy.getValue());
    if (failed(rule))
      return failure();
    SmallVector<Value> slots;
    for (Value slot : rule->slots)
      slots.push_back(locals.lookup(slot));
    // Scalars and whatever else the op reads beside its slots.
    LocalOpBuilder local(builder, op, mesh, *rule, strategy.getValue(), slots);
    local.setScalars(locals);
    if (auto splittable = dyn_cast<ShardingRuleOpInterface>(op))
      return splittable.createLocal(local);
    return createReplicated(local);
  }

  FailureOr<SmallVector<Value>> createLocalLayoutChange(Operation *op) {
    Location loc = op->getLoc();
    return TypeSwitch<Operation *, FailureOr<SmallVector<Value>>>(op)
        .Case<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, PermuteOp>(
            [&](auto) {
              Operation *clone = builder.clone(*op, locals);
              clone->getResult(0).setType(
                  localType(op->getResult(0).getType()));
              return SmallVector<Value>{clone->getResult(0)};
            })
        .Case([&](LocalSliceOp slice) -> FailureOr<SmallVector<Value>> {
          Value source = locals.lookup(slice.getSource());
          auto from = cast<RankedTensorType>(source.getType());
          auto to = cast<RankedTensorType>(localType(slice.getType()));
          int64_t dim = slice.getDim(), size = to.getDimSize(dim);
          if (size * slice.getAxes().groupSize() != from.getDimSize(dim))
            return op->emitOpError()
                   << "cuts " << from.getDimSize(dim) << " elements into "
                   << slice.getAxes().groupSize()
                   << " shards, expected a multiple";
          Value index = AxisIndexOp::create(builder, loc, slice.getAxes());
          Value start = arith::MulIOp::create(
              builder, loc, index,
              arith::ConstantIndexOp::create(builder, loc, size));
          SmallVector<OpFoldResult> offsets(from.getRank(),
                                            builder.getIndexAttr(0));
          SmallVector<OpFoldResult> strides(from.getRank(),
                                            builder.getIndexAttr(1));
          offsets[dim] = start;
          return SmallVector<Value>{tensor::ExtractSliceOp::create(
              builder, loc, to, source, offsets,
              getAsIndexOpFoldResult(builder.getContext(), to.getShape()),
              strides)};
        })
        .Case(
            [&](LocalPartialOp partial) { return createLocalPartial(partial); })
        .Default([](Operation *op) {
          return op->emitOpError(
              "is left, expected none after tp-insert-collectives");
        });
  }

  FailureOr<SmallVector<Value>> createLocalPartial(LocalPartialOp op) {
    Location loc = op.getLoc();
    Value source = locals.lookup(op.getSource());
    ReductionKind kind = op.getReduction().getValue();
    if (kind == ReductionKind::Avg)
      return SmallVector<Value>{source};
    auto type = cast<RankedTensorType>(source.getType());
    TypedAttr identity = identityOf(kind, type.getElementType());
    if (!identity)
      return op.emitOpError() << "has no identity of " << toString(kind)
                              << " for " << type.getElementType();
    Value index = AxisIndexOp::create(builder, loc, op.getAxes());
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value isFirst = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, index, zero);
    Value neutral = arith::ConstantOp::create(builder, loc, identity);
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(
        builder, loc, type, source, empty, ArrayRef<AffineMap>{map, map},
        iterators, [&](OpBuilder &b, Location l, ValueRange args) {
          Value kept = arith::SelectOp::create(b, l, isFirst, args[0], neutral);
          linalg::YieldOp::create(b, l, kept);
        });
    return SmallVector<Value>{generic.getResult(0)};
  }

  /// Leaves on the ops that make `results` what values they are, and takes the
  /// strategy off.
  void describe(Operation *global, ArrayRef<Value> results) {
    auto ids = global->getAttrOfType<ArrayAttr>(attr::values);
    SmallVector<Attribute> values;
    for (auto [i, result] : llvm::enumerate(results)) {
      auto type = dyn_cast<RankedTensorType>(global->getResult(i).getType());
      auto id = ids ? dyn_cast<DictionaryAttr>(ids[i]) : DictionaryAttr();
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
    // A local partial value of an average is the value itself.
    if (!local || local->getNumResults() != results.size() || local == global ||
        isDescribed.contains(local))
      return;
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
    ModuleOp module = getOperation();
    MeshAttr mesh = meshOf(module);
    if (!mesh) {
      module.emitError("the module has no tp.mesh; run tp-apply-plan before");
      return signalPassFailure();
    }
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isDeclaration() &&
          failed(FunctionPartitioner(func, mesh).run()))
        return signalPassFailure();
  }
};
} // namespace
