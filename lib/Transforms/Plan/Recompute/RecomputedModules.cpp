//===- RecomputedModules.cpp - what tp.recompute names --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardUses.h"
#include "Binder.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/OpInputs.h"

using namespace mlir;
using namespace tp;

SmallVector<Operation *> tp::forwardOps(func::FuncOp function,
                                        const ModuleIndex &index,
                                        StringRef module) {
  Block *body = &function.getBody().front();
  SmallVector<Operation *> found = index.opsIn(module);
  llvm::erase_if(found, [&](Operation *op) {
    auto pass = op->getAttrOfType<StringAttr>(attr::gather);
    return op->getBlock() != body || op->hasTrait<OpTrait::IsTerminator>() ||
           (pass && pass == attr::backwardGather);
  });
  return found;
}

/// Whether a plan asks for the shards of a value to be brought together here.
static bool isGather(Operation *op) {
  auto pin = dyn_cast<ConstrainOp>(op);
  auto from = pin ? pin.getSource().getDefiningOp<ConstrainOp>() : nullptr;
  return from && !pin->hasAttr(attr::gather) &&
         from.getAxis() == pin.getAxis() &&
         pin.getPlacement().getValue().isReplicate() &&
         from.getPlacement().getValue().isShard();
}

SmallVector<Operation *> tp::gatherBefore(Value value) {
  SmallVector<Operation *> path;
  while (Operation *maker = value.getDefiningOp()) {
    path.push_back(maker);
    if (isGather(maker))
      return path;
    auto pin = dyn_cast<ConstrainOp>(maker);
    value = pin ? pin.getSource() : viewSource(maker);
    if (!value)
      break;
  }
  return {};
}

SmallVector<Value> tp::gatheredBy(Operation *gather) {
  SmallVector<Value> names;
  for (auto pin = cast<ConstrainOp>(gather); pin;
       pin = pin.getSource().getDefiningOp<ConstrainOp>())
    names.push_back(pin.getSource());
  return names;
}

/// Whether the backward pass of the module reads what its forward pass
/// computes, or gathers.
static bool isReadAgain(func::FuncOp function, const ModuleIndex &index,
                        StringRef module) {
  Block *body = &function.getBody().front();
  auto isRead = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isInBackwardOf(body->findAncestorOpInBlock(*user), module);
    });
  };
  SmallVector<Operation *> forward = forwardOps(function, index, module);
  bool isGathering = llvm::any_of(forward, isGather);
  return llvm::any_of(forward, [&](Operation *op) {
    return llvm::any_of(op->getResults(), isRead) ||
           anyInput(op, [&](Value input) {
             if (isGathering)
               return isRead(input);
             SmallVector<Operation *> path = gatherBefore(input);
             return !path.empty() &&
                    (isRead(input) ||
                     llvm::any_of(gatheredBy(path.back()), isRead));
           });
  });
}

SmallVector<StringRef> Binder::modulesOf(RecomputeOp entry) {
  SmallVector<StringRef> modules = tree.match(entry.getPattern());
  // `*` stands for modules of one segment, not for the root.
  if (!entry.getPattern().empty())
    llvm::erase(modules, StringRef());
  return modules;
}

LogicalResult Binder::refuseRecompute(RecomputeOp entry) {
  SmallVector<StringRef> modules = modulesOf(entry);
  if (modules.empty())
    return refuseUnknown(entry, entry.getPattern());
  // A forward pass alone, under a plan for training, is no mistake.
  bool isTraining =
      function.walk([](Operation *op) {
                return isOfBackwardPass(op->getLoc()) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
              })
          .wasInterrupted();
  InFlightDiagnostic diag =
      isTraining ? entry.emitWarning() : entry.emitRemark();
  diag << "nothing is computed again: no op of the backward pass, located in "
          "'bwd:"
       << modules.front() << "', reads what the forward pass of '"
       << modules.front() << "' computes";
  return success();
}

LogicalResult Binder::recompute() {
  SmallVector<Attribute> names;
  for (auto entry : plan.getBody().getOps<RecomputeOp>()) {
    SmallVector<StringRef> modules = modulesOf(entry);
    bool isRead = false;
    for (StringRef module : modules) {
      for (const Binding &other : bindings) {
        auto by = dyn_cast<RecomputeOp>(other.entry);
        // The same entry, in another function.
        if (!by || (by == entry && other.module == module))
          continue;
        bool isOuter = isInside(other.module, module);
        if (!isOuter && !isInside(module, other.module))
          continue;
        InFlightDiagnostic diag = entry.emitError();
        if (other.module == module)
          diag << "module '" << module << "' is computed again by two entries";
        else
          diag << "module '" << (isOuter ? other.module : module.str())
               << "' is computed again with module '"
               << (isOuter ? module.str() : other.module)
               << "', which it lies in, expected one of the two";
        diag.attachNote(by.getLoc()) << "the other entry is here";
        return diag;
      }
      Binding &binding = bindings.emplace_back();
      binding.entry = entry;
      binding.axis = plan.getAxis().str();
      binding.pattern = entry.getPattern().str();
      binding.module = module.str();
      binding.style = attr::recomputeStyle.str();
      if (!isReadAgain(function, index, module))
        continue;
      binding.status = BindingStatus::Bound;
      isRead = true;
      names.push_back(StringAttr::get(plan.getContext(), module));
    }
    if (isRead && namedEntries)
      namedEntries->insert(entry);
    if (!isRead && !namedEntries && failed(refuseRecompute(entry)))
      return failure();
  }
  if (names.empty())
    return success();
  // What the model itself computes again gives way to what the plan does with
  // the same values.
  auto known = function->getAttrOfType<ArrayAttr>(attr::recompute);
  SmallVector<Attribute> all;
  if (known)
    llvm::copy_if(known, std::back_inserter(all), [&](Attribute of) {
      StringRef module = cast<StringAttr>(of).getValue();
      return llvm::none_of(names, [&](Attribute by) {
        StringRef name = cast<StringAttr>(by).getValue();
        return isInside(module, name) || isInside(name, module);
      });
    });
  llvm::append_range(all, names);
  function->setAttr(attr::recompute, ArrayAttr::get(plan.getContext(), all));
  return success();
}
