//===- Materialize.cpp - put the chosen layouts into the types ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CauseTracker.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/LayoutEncoding.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"
#include "tp/Interfaces/ReplicatedRule.h"
#include "tp/Sharding/RedistributionPath.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"
#include "tp/Transforms/Redistribute/VerifyMaterialized.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tp {
#define GEN_PASS_DEF_MATERIALIZE
#include "tp/Transforms/Redistribute/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
/// A use of a value in a given layout. `operand` is null where the op's region
/// captures the value.
struct LayoutUse {
  Operation *user;
  OpOperand *operand;
  Value value;
  LayoutAttr layout;
};

bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

LogicalResult lacks(Operation *op, StringRef what) {
  return op->emitOpError() << "has no " << what
                           << "; run tp-propagate before, or set it in the "
                              "later pass that created the op";
}

class Materializer {
public:
  Materializer(func::FuncOp func, MeshAttr mesh)
      : func(func), mesh(mesh), causes(func) {}

  LogicalResult run() {
    if (!func.getBody().hasOneBlock())
      return func.emitOpError("has several blocks, expected one; tp splits "
                              "straight-line programs");
    if (failed(collectArguments()))
      return failure();
    for (Operation &op : func.getBody().front())
      if (failed(collectOp(&op)))
        return failure();
    retype();
    for (const LayoutUse &need : needs)
      satisfy(need);
    for (ConstrainOp pin : llvm::reverse(pins))
      pin.erase();
    joinChanges();
    causes.write();
    number();
    return success();
  }

private:
  LogicalResult collectArguments() {
    for (BlockArgument argument : func.getArguments()) {
      if (!isTensor(argument))
        continue;
      unsigned number = argument.getArgNumber();
      auto layout = func.getArgAttrOfType<LayoutAttr>(number, attr::layout);
      if (!layout)
        return func.emitOpError() << "argument #" << number
                                  << " has no layout; run tp-propagate before";
      produced[argument] = layout;
      causes.take(argument);
    }
    return success();
  }

  LogicalResult collectReturn(func::ReturnOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isTensor(operand.get()))
        continue;
      unsigned number = operand.getOperandNumber();
      auto layout = func.getResultAttrOfType<LayoutAttr>(number, attr::layout);
      if (!layout)
        return op->emitOpError() << "result #" << number
                                 << " has no layout; run tp-propagate before";
      needs.push_back({op, &operand, operand.get(), layout});
    }
    return success();
  }

  LogicalResult collectOp(Operation *op) {
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      return collectReturn(ret);
    SmallVector<Value> slots = slotsOf(op);
    bool hasTensorResult = llvm::any_of(op->getResults(), isTensor);
    if (slots.empty() && !hasTensorResult)
      return success();
    auto layouts = op->getAttrOfType<ArrayAttr>(attr::resultLayouts);
    if (hasTensorResult && !layouts)
      return lacks(op, "layout");
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      if (isTensor(result))
        produced[result] = cast<LayoutAttr>(layouts[i]);
    causes.take(op);
    if (auto pin = dyn_cast<ConstrainOp>(op)) {
      needs.push_back({op, &op->getOpOperand(0), pin.getSource(),
                       produced[pin.getResult()]});
      pins.push_back(pin);
      return success();
    }
    auto strategy = op->getAttrOfType<StrategyAttr>(attr::strategy);
    if (!strategy)
      return lacks(op, "strategy");
    FailureOr<ShardingRule> rule = ruleUnder(op, strategy.getValue());
    if (failed(rule))
      return failure();
    SmallVector<OpOperand *> operands;
    for (OpOperand &operand : op->getOpOperands())
      if (isTensor(operand.get()))
        operands.push_back(&operand);
    operands.resize(slots.size(), nullptr);
    for (auto [slot, value] : llvm::enumerate(slots)) {
      Layout layout = rule->slotLayout(slot, strategy.getValue());
      needs.push_back({op, operands[slot], value,
                       LayoutAttr::get(op->getContext(), mesh, layout)});
    }
    return success();
  }

  void retype() {
    for (auto &[value, layout] : produced)
      setLayout(value, layout);
    for (const LayoutUse &need : needs)
      wanted[need.value].insert(need.layout);
    SmallVector<Type> results;
    for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
      auto layout = func.getResultAttrOfType<LayoutAttr>(i, attr::layout);
      auto tensor = dyn_cast<RankedTensorType>(type);
      results.push_back(tensor ? Type(layout.attachTo(tensor)) : type);
    }
    func.setFunctionType(FunctionType::get(
        func.getContext(), func.getBody().getArgumentTypes(), results));
  }

  /// `value` in `layout`, made if it does not exist yet: just before `user`,
  /// but a reduction right behind the op that made the partial value, so that
  /// no rank holds all of it until it is used, and ops between the two can hide
  /// the messages. Uses are satisfied in program order, so what exists
  /// dominates `user`. What is not the whole value comes from it where
  /// `needsWhole` says that it will exist.
  Value inLayout(Value value, LayoutAttr layout, Operation *user,
                 bool needsWhole) {
    LayoutAttr current = LayoutAttr::of(value.getType());
    if (current == layout)
      return value;
    if (Value version = versions.lookup({value, layout}))
      return version;
    Value source = value;
    LayoutAttr whole = LayoutAttr::getReplicated(mesh);
    if (needsWhole && layout != whole)
      source = inLayout(value, whole, user, needsWhole);
    else if (current.hasPartial() && reduced.contains(value))
      source = reduced.lookup(value);
    OpBuilder builder(user);
    Operation *maker = source.getDefiningOp();
    if (maker && LayoutAttr::of(source.getType()).hasPartial() &&
        !layout.hasPartial())
      builder.setInsertionPointAfter(maker);
    auto type = cast<RankedTensorType>(value.getType());
    Value change = RedistributeOp::create(builder, locationOf(value, user),
                                          layout.attachTo(type), source);
    change.getDefiningOp()->setAttr(
        attr::reason, builder.getStringAttr(reasonFor(user, layout)));
    versions[{value, layout}] = change;
    if (current.hasPartial() && !layout.hasPartial())
      reduced.try_emplace(value, change);
    return change;
  }

  /// A reduction belongs to the module that made the partial value, a gather,
  /// or the reduction of an argument, to the one that wants the whole.
  Location locationOf(Value value, Operation *user) {
    bool makesPartial = LayoutAttr::of(value.getType()).hasPartial() &&
                        !isa<BlockArgument>(value);
    if (makesPartial || isa<func::ReturnOp>(user))
      return value.getLoc();
    auto pin = dyn_cast<ConstrainOp>(user);
    if (!pin)
      return user->getLoc();
    StringAttr module = pin.getModuleAttr();
    auto pass = pin->getAttrOfType<StringAttr>(attr::gather);
    if ((pass && pass == attr::backwardGather) ||
        pin->hasAttr(attr::recomputed))
      module = StringAttr::get(pin.getContext(), "bwd:" + module.getValue());
    return NameLoc::get(module, NameLoc::get(pin.getPortAttr()));
  }

  /// Who wants the value in `layout`.
  std::string reasonFor(Operation *user, LayoutAttr layout) {
    std::string text = layout.getValue().toString(mesh.getValue());
    if (auto pin = dyn_cast<ConstrainOp>(user)) {
      text +=
          " pinned as " + pin.getPort().str() + " of " + pin.getModule().str();
      if (std::string entry = shortEntryText(pin.getLoc()); !entry.empty())
        text += " by " + entry;
      return text;
    }
    if (isa<func::ReturnOp>(user))
      return text + " as a result of the function";
    text += " for " + user->getName().getStringRef().str();
    if (StringRef module = moduleOf(user->getLoc()); !module.empty())
      text += " in " + module.str();
    return text;
  }

  /// What a gather of a parameter makes, which no other use shares: it is there
  /// from this place on, and another gather brings it back.
  Value gathered(Value value, LayoutAttr layout, ConstrainOp pin) {
    if (LayoutAttr::of(value.getType()) == layout)
      return value;
    OpBuilder builder(pin);
    auto change = RedistributeOp::create(
        builder, locationOf(value, pin),
        layout.attachTo(cast<RankedTensorType>(value.getType())), value);
    change->setAttr(attr::reason,
                    builder.getStringAttr(reasonFor(pin, layout)));
    change->setAttr(attr::gather, pin->getAttr(attr::gather));
    return change;
  }

  void satisfy(const LayoutUse &need) {
    auto pinned = forwarded.find(need.value);
    Value value = pinned == forwarded.end() ? need.value : pinned->second;
    if (auto pin = dyn_cast<ConstrainOp>(need.user);
        pin && pin->hasAttr(attr::gather)) {
      Value whole = gathered(value, need.layout, pin);
      causes.serve(need.value, whole, need.user, need.operand);
      forwarded[pin.getResult()] = whole;
      return;
    }
    bool needsWhole =
        wanted[need.value].contains(LayoutAttr::getReplicated(mesh));
    Value version = inLayout(value, need.layout, need.user, needsWhole);
    causes.serve(need.value, version, need.user, need.operand);
    if (auto pin = dyn_cast<ConstrainOp>(need.user)) {
      forwarded[pin.getResult()] = version;
      if (Attribute travels = pin->getAttr(attr::ring);
          travels && version != value)
        version.getDefiningOp()->setAttr(attr::ring, travels);
    } else if (need.operand) {
      need.operand->set(version);
    } else {
      need.user->walk([&](Operation *inner) {
        if (inner != need.user)
          inner->replaceUsesOfWith(need.value, version);
      });
    }
  }

  /// Whether partial values of `from` are replicated in `to`.
  static bool replicatesPartial(LayoutAttr from, LayoutAttr to) {
    return llvm::any_of(
        from.getValue().entries, [&](const AxisPlacement &entry) {
          const AxisPlacement *there = to.getValue().find(entry.part);
          return entry.placement.isPartial() &&
                 (!there || there->placement.isReplicate());
        });
  }

  /// A layout that a pin asks for, and that the value is only brought out of
  /// again, is left out: the two changes are one, or none. What a pin wants
  /// reduced and replicated stays so: plans are promised that all_reduce. Paths
  /// over several axes may be cheaper through the layout of a pin.
  void joinChanges() {
    RedistributionPaths paths(mesh.getValue());
    auto cost = [&](Value from, Value to) {
      auto type = cast<RankedTensorType>(to.getType());
      Layout start = LayoutAttr::of(from.getType()).getValue();
      int64_t bytes = elementBytes(type.getElementType());
      return pathCost(type.getShape(), bytes, start,
                      paths.path(type.getShape(), bytes, start,
                                 LayoutAttr::of(type).getValue()));
    };
    for (auto change : llvm::make_early_inc_range(
             func.getBody().front().getOps<RedistributeOp>())) {
      auto inner = change.getSource().getDefiningOp<RedistributeOp>();
      if (!inner || !inner->hasOneUse() || inner->hasAttr(attr::ring) ||
          !cast<RankedTensorType>(change.getType()).hasStaticShape())
        continue;
      Value source = inner.getSource();
      if (replicatesPartial(LayoutAttr::of(source.getType()),
                            LayoutAttr::of(inner.getType())) ||
          cost(source, inner) + cost(inner, change) < cost(source, change))
        continue;
      causes.join(inner, change);
      change.getSourceMutable().assign(source);
      inner.erase();
      if (source.getType() != change.getType())
        continue;
      causes.drop(change);
      change.replaceAllUsesWith(source);
      change.erase();
    }
  }

  void number() {
    Builder builder(func.getContext());
    int64_t next = 0;
    for (Operation &op : func.getBody().front()) {
      SmallVector<Attribute> ids;
      for (Value result : op.getResults()) {
        if (!isTensor(result)) {
          ids.push_back(builder.getUnitAttr());
          continue;
        }
        ids.push_back(builder.getDictionaryAttr(
            builder.getNamedAttr("id", builder.getI64IntegerAttr(next++))));
      }
      if (llvm::any_of(op.getResults(), isTensor))
        op.setAttr(attr::values, builder.getArrayAttr(ids));
    }
  }

  func::FuncOp func;
  MeshAttr mesh;
  CauseTracker causes;
  llvm::MapVector<Value, LayoutAttr> produced;
  SmallVector<LayoutUse> needs;
  SmallVector<ConstrainOp> pins;
  llvm::DenseMap<Value, llvm::SetVector<LayoutAttr>> wanted;
  llvm::DenseMap<std::pair<Value, LayoutAttr>, Value> versions;
  /// The first version of a partial value that is reduced: further ones come
  /// from it, so that no value is reduced twice.
  llvm::DenseMap<Value, Value> reduced;
  /// What stands for the result of a pin.
  llvm::DenseMap<Value, Value> forwarded;
};

struct MaterializePass : tp::impl::MaterializeBase<MaterializePass> {
  void runOnOperation() override {
    auto materialize = [](func::FuncOp func, MeshAttr mesh) {
      return Materializer(func, mesh).run();
    };
    if (failed(forEachBody(getOperation(), materialize)))
      signalPassFailure();
  }
};
} // namespace
