//===- Recompute.cpp - values that are computed again ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two things make what is computed again short-lived, and hold in all stages
// behind this one. Copies read tp.kept, which no cleanup sees through, so that
// they stay copies. And they stand right before the backward pass of their
// module: later stages keep the order of the text where data leaves it open.
//
//===----------------------------------------------------------------------===//

#include "BackwardUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/PortAttributes.h"
#include "tp/Transforms/Plan/PlanPasses.h"
#include "llvm/ADT/SetVector.h"

namespace tp {
#define GEN_PASS_DEF_RECOMPUTE
#include "tp/Transforms/Plan/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
/// Computes the modules of one function again.
class Recomputer {
public:
  explicit Recomputer(func::FuncOp function);
  void run(StringRef module);

private:
  /// What becomes of one module.
  struct Module {
    StringRef name;
    llvm::DenseSet<Operation *> forward;
    /// What the backward pass of the module reads and finds computed again, and
    /// which value it then reads.
    SmallVector<std::pair<OpOperand *, Value>> uses;
    llvm::SetVector<Operation *> copied;
    /// Values that enter the module, and that its copies or its backward pass
    /// read.
    llvm::SetVector<Value> kept;
    /// Whether ops of the module compute with what enters it.
    llvm::DenseMap<Operation *, bool> fromInputs;
  };
  bool isData(Value value) const { return data.contains(value); }
  bool isFromInputs(Module &module, Operation *op);
  bool isGatheredAgain(ConstrainOp gather) const;
  void findUses(Module &module, Value value, Value wanted);
  void copyBehind(Module &module, Value value);
  Operation *placeOf(Module &module);
  void copy(Module &module, Operation *place);
  Operation *copyOp(Module &module, Operation *op, OpBuilder &builder,
                    IRMapping &mapping);
  Location backward(StringRef module, Location location);
  Operation *inBody(Operation *op) {
    return function.getBody().front().findAncestorOpInBlock(*op);
  }

  func::FuncOp function;
  ModuleIndex index;
  /// What a step is given: not parameters, constants, and what they determine.
  llvm::DenseSet<Value> data;
  /// The copies of gathers in front of modules. One serves all modules inside
  /// of the one that the gather is for.
  llvm::DenseMap<Operation *, ConstrainOp> gatherCopies;
  /// The gathers for the backward pass, by parameter and axis.
  llvm::DenseMap<std::pair<Value, StringRef>, ConstrainOp> gathers;
};
} // namespace

Recomputer::Recomputer(func::FuncOp function)
    : function(function), index(function) {
  for (BlockArgument argument : function.getArguments()) {
    auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      attr::kind);
    if (!kind || (kind != "parameter" && kind != "constant_tensor"))
      data.insert(argument);
  }
  for (Operation &op : function.getBody().front()) {
    if (anyInput(&op, [&](Value input) { return isData(input); }))
      data.insert(op.result_begin(), op.result_end());
    auto pass = op.getAttrOfType<StringAttr>(attr::gather);
    if (pass && pass == attr::backwardGather) {
      auto gather = cast<ConstrainOp>(op);
      gathers[{gather.getSource(), gather.getAxis()}] = gather;
    }
  }
}

/// Whether a gather for the forward pass has a counterpart for the backward
/// pass: then the latter serves what is computed again.
bool Recomputer::isGatheredAgain(ConstrainOp gather) const {
  return gather->hasAttr(attr::gather) &&
         gathers.contains({gather.getSource(), gather.getAxis()});
}

bool Recomputer::isFromInputs(Module &module, Operation *op) {
  auto known = module.fromInputs.find(op);
  if (known != module.fromInputs.end())
    return known->second;
  auto gather = dyn_cast<ConstrainOp>(op);
  bool found =
      (gather && isGatheredAgain(gather)) || anyInput(op, [&](Value input) {
        Operation *maker = input.getDefiningOp();
        return maker && module.forward.contains(maker)
                   ? isFromInputs(module, maker)
                   : isa<RankedTensorType>(input.getType()) && isData(input);
      });
  module.fromInputs[op] = found;
  return found;
}

/// Adds the uses of a value in the backward pass of the module, which are to
/// read `wanted`.
void Recomputer::findUses(Module &module, Value value, Value wanted) {
  for (OpOperand &use : value.getUses())
    if (isInBackwardOf(inBody(use.getOwner()), module.name))
      module.uses.emplace_back(&use, wanted);
}

/// Finds what has to be computed for `value` to be there again.
void Recomputer::copyBehind(Module &module, Value value) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *maker = next.getDefiningOp();
    if (maker && module.forward.contains(maker)) {
      if (isFromInputs(module, maker) && module.copied.insert(maker))
        llvm::append_range(work, inputsOf(maker));
    } else if (isa<RankedTensorType>(next.getType()) && isData(next)) {
      SmallVector<Operation *> gather = gatherBefore(next);
      module.copied.insert(gather.begin(), gather.end());
      module.kept.insert(
          gather.empty() ? next : cast<ConstrainOp>(gather.back()).getSource());
    }
  }
}

/// The op before which the module is computed again: the first of its backward
/// pass that reads it, and all inputs are there.
Operation *Recomputer::placeOf(Module &module) {
  Operation *place = nullptr;
  for (auto [use, wanted] : module.uses) {
    Operation *user = inBody(use->getOwner());
    if (!place || user->isBeforeInBlock(place))
      place = user;
  }
  auto comeAfter = [&](Value input) {
    Operation *maker = input.getDefiningOp();
    if (maker && maker->getBlock() == place->getBlock() &&
        !module.copied.contains(maker) && !maker->isBeforeInBlock(place))
      place = maker->getNextNode();
    return false;
  };
  for (Operation *op : module.copied)
    anyInput(op, comeAfter);
  for (Value value : module.kept)
    comeAfter(value);
  return place;
}

Location Recomputer::backward(StringRef module, Location location) {
  MLIRContext *context = function.getContext();
  StringRef node = nodeOf(location);
  return NameLoc::get(
      StringAttr::get(context, "bwd:" + module),
      NameLoc::get(StringAttr::get(context, node.empty() ? "kept" : node)));
}

Operation *Recomputer::copyOp(Module &module, Operation *op, OpBuilder &builder,
                              IRMapping &mapping) {
  auto pin = dyn_cast<ConstrainOp>(op);
  if (!pin) {
    Operation *made = builder.clone(*op, mapping);
    made->setLoc(backward(moduleOf(op->getLoc()), op->getLoc()));
    return made;
  }
  // The location of a pin is the plan's entry.
  if (!isGatheredAgain(pin)) {
    if (ConstrainOp known = gatherCopies.lookup(pin)) {
      if (!known->isBeforeInBlock(&*builder.getInsertionPoint()))
        for (Operation *each :
             {known.getSource().getDefiningOp(), known.getOperation()})
          each->moveBefore(builder.getInsertionBlock(),
                           builder.getInsertionPoint());
      mapping.map(pin.getResult(), known.getResult());
      return known;
    }
    auto made = cast<ConstrainOp>(builder.clone(*op, mapping));
    made->setAttr(attr::recomputed, builder.getUnitAttr());
    if (!module.forward.contains(op))
      gatherCopies[op] = made;
    return made;
  }
  // One gather serves the copies and the rest of the backward pass.
  ConstrainOp gather = gathers.lookup({pin.getSource(), pin.getAxis()});
  if (gather == &*builder.getInsertionPoint())
    builder.setInsertionPointAfter(gather);
  else if (!gather->isBeforeInBlock(&*builder.getInsertionPoint()))
    gather->moveBefore(builder.getInsertionBlock(),
                       builder.getInsertionPoint());
  mapping.map(pin.getResult(), gather.getResult());
  return gather;
}

void Recomputer::copy(Module &module, Operation *place) {
  OpBuilder builder(place);
  IRMapping mapping;
  SmallVector<KeptOp> kept;
  for (Value value : module.kept) {
    kept.push_back(
        KeptOp::create(builder, backward(module.name, value.getLoc()), value));
    mapping.map(value, kept.back().getResult());
  }
  SmallVector<Operation *> inOrder = module.copied.takeVector();
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : inOrder)
    copyOp(module, op, builder, mapping);
  for (auto [use, wanted] : module.uses)
    if (Operation *user = inBody(use->getOwner());
        user == place || place->isBeforeInBlock(user))
      use->set(mapping.lookupOrDefault(wanted));
  // A gather that is there reads its own.
  for (KeptOp each : kept)
    if (each->use_empty())
      each.erase();
}

void Recomputer::run(StringRef name) {
  Module module;
  module.name = name;
  SmallVector<Operation *> forward = forwardOps(function, index, name);
  llvm::sort(forward,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  module.forward.insert(forward.begin(), forward.end());
  llvm::SetVector<Value> inputs;
  for (Operation *op : forward) {
    for (Value input : inputsOf(op))
      if (Operation *maker = input.getDefiningOp();
          !(maker && module.forward.contains(maker)) &&
          isa<RankedTensorType>(input.getType()) && isData(input))
        inputs.insert(input);
    if (isFromInputs(module, op))
      for (Value result : op->getResults())
        findUses(module, result, result);
  }
  // The backward pass brings together again what enters the module, too.
  for (Value input : inputs) {
    findUses(module, input, input);
    SmallVector<Operation *> path = gatherBefore(input);
    if (path.empty())
      continue;
    for (Value shards : gatheredBy(path.back()))
      if (!inputs.contains(shards))
        findUses(module, shards, path.back()->getResult(0));
  }
  if (module.uses.empty())
    return;
  for (auto [use, wanted] : module.uses)
    copyBehind(module, wanted);
  copy(module, placeOf(module));
}

namespace {
struct RecomputePass : tp::impl::RecomputeBase<RecomputePass> {
  using RecomputeBase::RecomputeBase;

  void runOnOperation() override {
    bool isAsBefore = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<std::string> names;
      if (auto known = function->getAttrOfType<ArrayAttr>(attr::recompute))
        for (StringRef module : known.getAsValueRange<StringAttr>())
          names.push_back(module.str());
      if (failed(addMatches(function, names)))
        return signalPassFailure();
      if (!names.empty()) {
        Recomputer recomputer(function);
        for (StringRef module : names)
          recomputer.run(module);
        isAsBefore = false;
      }
      function->removeAttr(attr::recompute);
    }
    if (isAsBefore)
      markAllAnalysesPreserved();
  }

  /// Adds to the names what `modules` matches and no name overlaps.
  LogicalResult addMatches(func::FuncOp function,
                           SmallVectorImpl<std::string> &names) {
    if (modules.empty())
      return success();
    FailureOr<ModuleTree> tree = ModuleTree::build(function);
    if (failed(tree))
      return failure();
    for (const std::string &pattern : modules)
      for (StringRef module : tree->match(pattern))
        if (!module.empty() && llvm::none_of(names, [&](StringRef name) {
              return isInside(module, name) || isInside(name, module);
            }))
          names.push_back(module.str());
    return success();
  }
};
} // namespace
