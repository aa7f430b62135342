//===- HoistRedistributions.cpp - what all iterations bring alike ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/LayoutEncoding.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"
#include "tp/IR/TP.h"
#include "tp/Sharding/RedistributionPath.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"
#include "llvm/ADT/SetVector.h"

namespace tp {
#define GEN_PASS_DEF_HOISTREDISTRIBUTIONS
#include "tp/Transforms/Redistribute/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// What parts find a shared argument by: its name and its kind.
using SharedName = std::pair<Attribute, Attribute>;

namespace {
/// A redistribution before a loop, with the ops that compute what it takes, in
/// order, and the name of the carried argument that brings its result.
struct Hoisted {
  SmallVector<Operation *> ops;
  StringAttr name;
};

/// The parts of one entry, in order, and the entry itself.
class EntryHoister {
public:
  EntryHoister(ArrayRef<func::FuncOp> parts, func::FuncOp entry)
      : functions(parts), entry(entry) {
    functions.push_back(entry);
    for (func::FuncOp part : parts)
      for (auto [argument, result] : updatesOf(part))
        updated.insert(nameOf(part.getArgument(argument)));
  }

  void run() {
    for (auto [before, body] :
         llvm::zip(functions, llvm::drop_begin(functions)))
      if (timesOf(body) == 1)
        readAlike(body);
      else if (timesOf(before) == 1)
        hoist(body, before);
  }

private:
  void hoist(func::FuncOp body, func::FuncOp before);
  void readAlike(func::FuncOp part);
  void replace(Operation *change, ArrayRef<Operation *> ops, StringAttr name);
  bool needsCollective(RedistributeOp change);
  bool mapArguments(ArrayRef<Operation *> ops, func::FuncOp body,
                    func::FuncOp before, IRMapping &mapping);
  static SharedName nameOf(BlockArgument argument);
  bool areOneFixed(Value here, Value there);
  bool areAlike(ArrayRef<Operation *> ops, ArrayRef<Operation *> others);
  StringAttr findAlike(ArrayRef<Operation *> ops);
  Hoisted copyInto(func::FuncOp before, ArrayRef<Operation *> ops,
                   IRMapping &mapping);
  StringAttr carry(Value value, func::FuncOp before);

  SmallVector<func::FuncOp> functions;
  func::FuncOp entry;
  llvm::DenseMap<MeshAttr, RedistributionPaths> paths;
  /// Arguments that some part updates.
  llvm::DenseSet<SharedName> updated;
  std::vector<Hoisted> hoisted;
  llvm::DenseSet<Operation *> erased;
  unsigned nextName = 0;
};
} // namespace

bool EntryHoister::needsCollective(RedistributeOp change) {
  auto type = cast<RankedTensorType>(change.getType());
  LayoutAttr from = LayoutAttr::of(change.getSource().getType());
  LayoutAttr to = LayoutAttr::of(type);
  RedistributionPaths &ofMesh =
      paths.try_emplace(to.getMesh(), to.getMesh().getValue()).first->second;
  return type.hasStaticShape() &&
         llvm::any_of(ofMesh.path(type.getShape(),
                                  elementBytes(type.getElementType()),
                                  from.getValue(), to.getValue()),
                      [](const LayoutStep &step) {
                        return collectiveOf(step.kind).has_value();
                      });
}

/// `last`, and the ops of its block that it depends on, in order; none if they
/// are more than `most`.
static SmallVector<Operation *> sliceOf(Operation *last, size_t most) {
  llvm::SetVector<Operation *> slice;
  slice.insert(last);
  for (size_t i = 0; i < slice.size(); ++i) {
    if (slice.size() > most)
      return {};
    for (Value input : inputsOf(slice[i]))
      if (Operation *made = input.getDefiningOp())
        slice.insert(made);
  }
  SmallVector<Operation *> ops = slice.takeVector();
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

SharedName EntryHoister::nameOf(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  return {function.getArgAttr(number, attr::name),
          function.getArgAttr(number, attr::kind)};
}

/// Maps the arguments of the body that `ops` take to what they are when the
/// part before it ends; false if that part does not have one.
bool EntryHoister::mapArguments(ArrayRef<Operation *> ops, func::FuncOp body,
                                func::FuncOp before, IRMapping &mapping) {
  llvm::MapVector<unsigned, unsigned> updates = updatesOf(before);
  for (Operation *op : ops)
    for (Value input : inputsOf(op)) {
      auto argument = dyn_cast<BlockArgument>(input);
      if (!argument || mapping.contains(argument))
        continue;
      SharedName name = nameOf(argument);
      const auto *there =
          llvm::find_if(before.getArguments(), [&](BlockArgument other) {
            return nameOf(other) == name;
          });
      if (!name.first || there == before.getArguments().end() ||
          there->getType() != argument.getType())
        return false;
      const auto *update = updates.find(there->getArgNumber());
      mapping.map(argument, update == updates.end()
                                ? Value(*there)
                                : before.front().getTerminator()->getOperand(
                                      update->second));
    }
  return true;
}

/// Whether values of two parts are one argument that no part updates.
bool EntryHoister::areOneFixed(Value here, Value there) {
  auto isOfPart = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
  };
  if (!isOfPart(here) || !isOfPart(there))
    return false;
  SharedName name = nameOf(cast<BlockArgument>(here));
  return name.first && name == nameOf(cast<BlockArgument>(there)) &&
         !updated.contains(name);
}

/// Whether the last of `ops` computes what the last of `others` does, in
/// another part.
bool EntryHoister::areAlike(ArrayRef<Operation *> ops,
                            ArrayRef<Operation *> others) {
  if (ops.size() != others.size())
    return false;
  IRMapping alike;
  auto isAlike = [&](Value here, Value there) {
    if (Value known = alike.lookupOrNull(here))
      return success(known == there);
    return success(areOneFixed(here, there));
  };
  return llvm::all_of(llvm::zip(ops, others), [&](auto both) {
    return OperationEquivalence::isEquivalentTo(
        std::get<0>(both), std::get<1>(both), isAlike,
        [&](Value here, Value there) { alike.map(here, there); },
        OperationEquivalence::IgnoreLocations |
            OperationEquivalence::IgnoreDiscardableAttrs);
  });
}

/// The argument that brings the same since an earlier loop.
StringAttr EntryHoister::findAlike(ArrayRef<Operation *> ops) {
  auto found = llvm::find_if(
      hoisted, [&](const Hoisted &other) { return areAlike(ops, other.ops); });
  return found == hoisted.end() ? StringAttr() : found->name;
}

/// A new argument of all functions, which `before` leaves `value` in.
StringAttr EntryHoister::carry(Value value, func::FuncOp before) {
  Builder builder(value.getContext());
  StringAttr name;
  auto isTaken = [&](func::FuncOp function) {
    return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
      return nameOf(argument).first == name;
    });
  };
  do
    name = builder.getStringAttr(entry.getSymName() + ": hoisted " +
                                 Twine(nextName++));
  while (llvm::any_of(functions, isTaken));
  NamedAttrList port;
  port.set(attr::name, name);
  port.set(attr::kind, builder.getStringAttr(attr::carriedKind));
  port.set(attr::layout, LayoutAttr::of(value.getType()));
  for (func::FuncOp function : functions)
    (void)function.insertArgument(function.getNumArguments(), value.getType(),
                                  port.getDictionary(value.getContext()),
                                  value.getLoc());
  port.set(attr::updates, name);
  (void)before.insertResult(before.getNumResults(), value.getType(),
                            port.getDictionary(value.getContext()));
  Operation *terminator = before.front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), value);
  return name;
}

/// The ops that compute in `before` what `ops` do in the body.
Hoisted EntryHoister::copyInto(func::FuncOp before, ArrayRef<Operation *> ops,
                               IRMapping &mapping) {
  for (auto change : before.front().getOps<RedistributeOp>()) {
    SmallVector<Operation *> own = sliceOf(change, ops.size());
    if (areAlike(ops, own))
      return {own, {}};
  }
  OpBuilder builder(before.front().getTerminator());
  Hoisted made;
  for (Operation *op : ops) {
    Value known = mapping.lookupOrNull(op->getResult(0));
    Operation *copy =
        known ? known.getDefiningOp() : builder.clone(*op, mapping);
    // The body's numbers name other values here.
    copy->removeAttr(attr::values);
    made.ops.push_back(copy);
  }
  return made;
}

/// Everything that takes the result of `change`, the last of `ops`, takes the
/// argument `name`.
void EntryHoister::replace(Operation *change, ArrayRef<Operation *> ops,
                           StringAttr name) {
  auto function = change->getParentOfType<func::FuncOp>();
  change->getResult(0).replaceAllUsesWith(
      *llvm::find_if(function.getArguments(), [&](BlockArgument argument) {
        return nameOf(argument).first == name;
      }));
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty()) {
      erased.insert(op);
      op->erase();
    }
}

void EntryHoister::hoist(func::FuncOp body, func::FuncOp before) {
  InvariantValues invariant(body);
  SmallVector<Operation *> changes;
  for (auto change : body.front().getOps<RedistributeOp>())
    if (invariant.contains(change) && needsCollective(change))
      changes.push_back(change);
  IRMapping mapping;
  erased.clear();
  // The last ones first: one that only others need goes with these.
  for (Operation *change : llvm::reverse(changes)) {
    if (erased.contains(change))
      continue;
    SmallVector<Operation *> ops = sliceOf(change, SIZE_MAX);
    StringAttr name = findAlike(ops);
    if (!name) {
      if (!mapArguments(ops, body, before, mapping))
        continue;
      Hoisted made = copyInto(before, ops, mapping);
      name = made.name = carry(made.ops.back()->getResult(0), before);
      hoisted.push_back(std::move(made));
    }
    replace(change, ops, name);
  }
}

/// A part that runs once, behind a loop, need not redistribute again.
void EntryHoister::readAlike(func::FuncOp part) {
  size_t most = 0;
  for (const Hoisted &each : hoisted)
    most = std::max(most, each.ops.size());
  erased.clear();
  for (auto change : llvm::to_vector(part.front().getOps<RedistributeOp>())) {
    if (erased.contains(change) || most == 0)
      continue;
    SmallVector<Operation *> ops = sliceOf(change, most);
    if (StringAttr name = findAlike(ops))
      replace(change, ops, name);
  }
}

namespace {
struct HoistRedistributionsPass
    : tp::impl::HoistRedistributionsBase<HoistRedistributionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::MapVector<StringRef, SmallVector<func::FuncOp>> partsOf;
    for (auto function : module.getOps<func::FuncOp>())
      if (isPartOfEntry(function) && function.getBody().hasOneBlock())
        partsOf[wholeEntryOf(function)].push_back(function);
    if (partsOf.empty()) {
      markAllAnalysesPreserved();
      return;
    }
    for (auto &[name, parts] : partsOf)
      if (auto entry = module.lookupSymbol<func::FuncOp>(name);
          entry && entry.getBody().hasOneBlock())
        EntryHoister(parts, entry).run();
  }
};
} // namespace
