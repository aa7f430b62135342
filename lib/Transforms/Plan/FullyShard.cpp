//===- FullyShard.cpp - parameters that are stored as shards --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tp-propagate chooses which dimension of a parameter is sharded, and its
// states and its update follow it (OptimizerState.cpp). Where it is gathered is
// fixed here, so that nothing computes with its shards but the optimizer
// (ParameterGathers.cpp).
//
//===----------------------------------------------------------------------===//

#include "Binder.h"

using namespace mlir;
using namespace tp;

SmallVector<unsigned> Binder::parametersBelow(StringRef module) {
  SmallVector<unsigned> found;
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    if (argumentNames.kind(number) != "parameter" ||
        !isa<RankedTensorType>(function.getArgument(number).getType()))
      continue;
    // A tied weight is below the modules of all its names.
    SmallVector<StringRef> names{argumentNames.name(number)};
    if (auto aliases =
            function.getArgAttrOfType<ArrayAttr>(number, attr::aliases))
      llvm::append_range(names, aliases.getAsValueRange<StringAttr>());
    if (llvm::any_of(names, [&](StringRef name) {
          return name == module || isInside(name, module);
        }))
      found.push_back(number);
  }
  return found;
}

SmallVector<StringRef> Binder::modulesOf(FullyShardOp entry) {
  if (entry.getPattern().empty())
    return {StringRef()};
  SmallVector<StringRef> modules = tree.match(entry.getPattern());
  if (modules.empty())
    for (unsigned number : parametersNamed(entry.getPattern()))
      modules.push_back(argumentNames.name(number));
  return modules;
}

LogicalResult Binder::refuseShard(FullyShardOp entry) {
  SmallVector<StringRef> modules = modulesOf(entry);
  if (modules.empty())
    return refuseUnknown(entry, entry.getPattern());
  return entry.emitError() << "module '" << modules.front()
                           << "' has no parameters, expected one with "
                              "parameters to shard";
}

LogicalResult Binder::claimParameters(
    FullyShardOp entry,
    llvm::MapVector<unsigned, FullyShardedParameter> &claimed) {
  bool isAnyFound = false;
  for (StringRef module : modulesOf(entry))
    for (unsigned number : parametersBelow(module)) {
      isAnyFound = true;
      auto [it, isNew] =
          claimed.insert({number, {number, entry, module.str()}});
      if (isNew)
        continue;
      FullyShardedParameter &other = it->second;
      if (other.module == module && other.entry != entry) {
        InFlightDiagnostic diag = entry.emitError()
                                  << "'" << argumentNames.name(number)
                                  << "' is fully sharded with module '"
                                  << module << "' by two entries";
        diag.attachNote(other.entry.getLoc()) << "the other is here";
        return diag;
      }
      // The innermost module gathers it; of a tied weight the first one.
      if (isInside(module, other.module) && module != other.module)
        other = {number, entry, module.str()};
    }
  if (isAnyFound && namedEntries)
    namedEntries->insert(entry);
  return isAnyFound || namedEntries ? success() : refuseShard(entry);
}

void Binder::shardStates(unsigned parameter, FullyShardOp entry) {
  argumentPins.insert({parameter, {Placement::replicate(), entry}});
  for (unsigned state = 0; state < function.getNumArguments(); ++state)
    if (parameterOfState(function, argumentNames, state) == parameter &&
        !argumentPins.contains(state))
      freeArguments.insert({state, FreePort::FullySharded});
}

LogicalResult Binder::fullyShard() {
  llvm::MapVector<unsigned, FullyShardedParameter> claimed;
  for (auto entry : plan.getBody().getOps<FullyShardOp>())
    if (failed(claimParameters(entry, claimed)))
      return failure();
  llvm::DenseMap<std::pair<Operation *, StringRef>, size_t> rows;
  for (auto &[number, parameter] : claimed) {
    StringRef name = argumentNames.name(number);
    if (const auto *pin = argumentPins.find(number);
        pin != argumentPins.end()) {
      InFlightDiagnostic diag =
          parameter.entry.emitError()
          << "'" << name << "' is fully sharded on axis '" << plan.getAxis()
          << "' and pinned to " << toString(pin->second.placement)
          << " there, expected one of both: name modules without it, or leave "
             "the pin to another axis";
      diag.attachNote(pin->second.entry->getLoc()) << "the pin is here";
      return diag;
    }
    auto type = cast<RankedTensorType>(function.getArgument(number).getType());
    bool isSharded =
        parameter.entry.shardsParameters() && type.getNumElements() > 1;
    if (isSharded) {
      freeArguments.insert({number, FreePort::FullySharded});
      sharded.push_back(parameter);
    } else if (type.getNumElements() > 1) {
      shardStates(number, parameter.entry);
    }
    auto [row, isNew] = rows.try_emplace(
        {parameter.entry.getOperation(), parameter.module}, bindings.size());
    if (isNew) {
      Binding &binding = bindings.emplace_back();
      binding.entry = parameter.entry;
      binding.axis = plan.getAxis().str();
      binding.pattern = parameter.entry.getPattern().str();
      binding.module = parameter.module;
      binding.style = "fully_shard";
      binding.status = BindingStatus::Bound;
    }
    bindings[row->second].values.push_back(
        {isSharded ? "gathered" : "parameter", name.str(),
         llvm::to_vector(type.getShape()), Placement::replicate()});
  }
  return success();
}
