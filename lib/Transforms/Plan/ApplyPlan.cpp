//===- ApplyPlan.cpp - a parallelize plan becomes pins --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "PlanFile.h"
#include "Rules/ApplyRules.h"
#include "WhatIf.h"
#include "WholeModel/ModelStyles.h"
#include "tp/Files/OutputText.h"
#include "tp/IR/Entries.h"
#include "tp/IR/PortAttributes.h"
#include "tp/Transforms/Plan/PlanPasses.h"
#include <set>

namespace tp {
#define GEN_PASS_DEF_APPLYPLAN
#include "tp/Transforms/Plan/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static LogicalResult checkFunction(func::FuncOp program) {
  if (!program.getBody().hasOneBlock())
    return program.emitError() << "expected a function of one block, got "
                               << program.getBody().getBlocks().size();
  if (failed(verifyPortAttributes(program)))
    return failure();
  for (unsigned i = 0, e = program.getNumArguments(); i != e; ++i)
    if (program.getArgAttr(i, attr::pin))
      return program.emitError() << "argument #" << i << " is pinned already, "
                                 << "expected a model without a plan";
  for (unsigned i = 0, e = program.getNumResults(); i != e; ++i)
    if (program.getResultAttr(i, attr::pin))
      return program.emitError() << "result #" << i << " is pinned already, "
                                 << "expected a model without a plan";
  auto isStatic = [](Value value) {
    auto shaped = dyn_cast<ShapedType>(value.getType());
    if (!shaped || (shaped.hasRank() && shaped.hasStaticShape()))
      return true;
    emitError(value.getLoc())
        << "expected static shapes, got " << value.getType();
    return false;
  };
  // What ops take is a result or a block's argument.
  WalkResult walk = program.walk([&](Operation *op) {
    bool allStatic = llvm::all_of(op->getResults(), isStatic);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        allStatic = allStatic && llvm::all_of(block.getArguments(), isStatic);
    return allStatic ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// The functions that the program is.
static FailureOr<SmallVector<func::FuncOp>> programsOf(ModuleOp module) {
  SmallVector<func::FuncOp> programs;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    if (failed(checkFunction(function)))
      return failure();
    programs.push_back(function);
  }
  if (programs.empty())
    return module.emitError() << "expected a function in the module, got none";
  return programs;
}

/// The names of what any of the functions reads.
static llvm::StringSet<> readArguments(ArrayRef<func::FuncOp> functions) {
  llvm::StringSet<> read;
  for (func::FuncOp function : functions) {
    PortNames names(function, PortSide::Argument);
    for (BlockArgument argument : function.getArguments())
      if (!argument.use_empty())
        read.insert(names.name(argument.getArgNumber()));
  }
  return read;
}

/// Leaves out what an entry does not do to a module in one function, where it
/// does something to it in another.
static void dropIdle(std::vector<Binding> &bindings) {
  std::set<std::pair<Operation *, std::string>> effective;
  for (const Binding &binding : bindings)
    if (binding.status != BindingStatus::WithoutEffect)
      effective.emplace(binding.entry, binding.module);
  llvm::erase_if(bindings, [&](const Binding &binding) {
    return binding.status == BindingStatus::WithoutEffect &&
           effective.contains({binding.entry, binding.module});
  });
}

/// Whether `pin` gives way to what another entry has for the argument: that it
/// is replicated is the default, and what one entry multiplies by or looks up,
/// another may not.
static bool givesWay(Attribute pin, Attribute to) {
  auto placement = dyn_cast<PlacementAttr>(pin);
  return (placement && placement.getValue().isReplicate()) ||
         (freePortOf(pin) == FreePort::Any &&
          (freePortOf(to) == FreePort::Sharded ||
           freePortOf(to) == FreePort::Carried));
}

/// Gives the arguments that are one tensor the pins that any entry has for
/// them: one updates a cache that another reads, or has no use of a weight.
static LogicalResult sharePins(ArrayRef<func::FuncOp> entries,
                               ArrayRef<EntryArgument> tensor) {
  NamedAttrList pins;
  llvm::DenseMap<StringAttr, EntryArgument> pinnedBy;
  for (EntryArgument each : tensor) {
    func::FuncOp entry = entries[each.entry];
    auto own = entry.getArgAttrOfType<DictionaryAttr>(each.argument, attr::pin);
    if (!own)
      continue;
    for (NamedAttribute pin : own) {
      StringAttr axis = pin.getName();
      Attribute known = pins.get(axis);
      if (!known || givesWay(known, pin.getValue())) {
        pins.set(axis, pin.getValue());
        pinnedBy[axis] = each;
        continue;
      }
      if (givesWay(pin.getValue(), known) || known == pin.getValue())
        continue;
      EntryArgument by = pinnedBy[axis];
      func::FuncOp first = entries[by.entry];
      InFlightDiagnostic error =
          emitError(entry.getArgument(each.argument).getLoc())
          << "argument #" << each.argument << " of @" << entry.getSymName()
          << " is pinned to " << pin.getValue() << " on axis " << axis
          << ", in @" << first.getSymName() << " it is pinned to " << known
          << ": expected one layout, as entries share it; pin it by "
             "tp.argument";
      error.attachNote(first.getArgument(by.argument).getLoc())
          << "the other one is here";
      return error;
    }
  }
  if (pins.empty())
    return success();
  for (EntryArgument each : tensor) {
    func::FuncOp entry = entries[each.entry];
    entry.setArgAttr(each.argument, attr::pin,
                     pins.getDictionary(entry.getContext()));
  }
  return success();
}

/// Along an axis without a plan all ranks have the same.
static void replicateOn(func::FuncOp function, StringRef axis) {
  MLIRContext *context = function.getContext();
  auto pinned = [&](DictionaryAttr attributes, Type type) {
    NamedAttrList list(attributes);
    if (isa<RankedTensorType>(type)) {
      NamedAttrList pins(cast_or_null<DictionaryAttr>(list.get(attr::pin)));
      pins.set(axis, PlacementAttr::get(context, Placement::replicate()));
      list.set(attr::pin, pins.getDictionary(context));
    }
    return list.getDictionary(context);
  };
  SmallVector<Attribute> ofArguments, ofResults;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    ofArguments.push_back(pinned(function.getArgAttrDict(i), type));
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    ofResults.push_back(pinned(function.getResultAttrDict(i), type));
  function.setAllArgAttrs(ofArguments);
  function.setAllResultAttrs(ofResults);
}

namespace {
struct ApplyPlanPass : tp::impl::ApplyPlanBase<ApplyPlanPass> {
  using ApplyPlanBase::ApplyPlanBase;

  LogicalResult writeReport(ArrayRef<Binding> bindings) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printBindings(os, bindings);
    if (runtime::Status status = writeOutputText(report, text); !status.ok())
      return getOperation().emitError() << status.message();
    return success();
  }

  LogicalResult apply(func::FuncOp function, EntryUses &uses,
                      const PlanFile &file, const WhatIfPin &other,
                      llvm::DenseSet<Operation *> *named,
                      const llvm::StringSet<> &read,
                      std::vector<Binding> &bindings) {
    FailureOr<ModuleTree> tree = ModuleTree::build(function);
    if (failed(tree))
      return failure();
    ModuleIndex index(function);
    std::vector<FullyShardedParameter> sharded;
    for (PlanOp axisPlan : file.plans) {
      Binder binder(function, *tree, index, uses, axisPlan, file.mesh,
                    bindings);
      if (named)
        binder.isOneOfSeveral(*named, read);
      if (failed(binder.bind(axisPlan.getAxis() == other.axis ? other.entry
                                                              : ArgumentOp())))
        return failure();
      llvm::append_range(sharded, binder.fullySharded());
    }
    // Behind the pins of all axes, which go by what reads a parameter.
    insertGathers(function, file.mesh, sharded);
    MeshAttr mesh = file.mesh;
    for (const MeshAxis &axis : mesh.getValue().axes)
      if (llvm::none_of(file.plans, [&](PlanOp axisPlan) {
            return axisPlan.getAxis() == axis.name;
          }))
        replicateOn(function, axis.name);
    return success();
  }

  /// Entries of the plan that name nothing in any function.
  LogicalResult refuseUnnamed(func::FuncOp function, EntryUses &uses,
                              const PlanFile &file,
                              const llvm::DenseSet<Operation *> &named) {
    FailureOr<ModuleTree> tree = ModuleTree::build(function);
    if (failed(tree))
      return failure();
    ModuleIndex index(function);
    std::vector<Binding> bindings;
    for (PlanOp axisPlan : file.plans)
      for (Operation &entry : axisPlan.getBody().front())
        if (isa<ParallelizeOp, FullyShardOp, RecomputeOp, ArgumentOp, ResultOp>(
                entry) &&
            !named.contains(&entry) &&
            failed(Binder(function, *tree, index, uses, axisPlan, file.mesh,
                          bindings)
                       .refuse(&entry)))
          return failure();
    return success();
  }

  LogicalResult apply() {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<func::FuncOp>> functions = programsOf(module);
    if (failed(functions))
      return failure();
    if (module->hasAttr(attr::bindings))
      return module.emitError() << "the module has a plan already";
    FailureOr<PlanFile> file = readPlan(module, plan, mesh);
    if (failed(file) || failed(applyRules(file->rules, *functions)) ||
        failed(expandModelStyles(file->plans, *functions)))
      return failure();
    module->setAttr(attr::mesh, file->mesh);
    SmallVector<Attribute> autoAxes;
    for (PlanOp axisPlan : file->plans)
      if (axisPlan.getIsAuto())
        autoAxes.push_back(axisPlan.getAxisAttr());
    if (!autoAxes.empty())
      module->setAttr(attr::autoAxes, ArrayAttr::get(&getContext(), autoAxes));
    std::vector<Binding> bindings;
    WhatIfPin other;
    if (!whatIf.empty()) {
      FailureOr<WhatIfPin> read = readWhatIfPin(whatIf, *file);
      if (failed(read))
        return failure();
      other = std::move(*read);
    }
    llvm::DenseSet<Operation *> named;
    const llvm::StringSet<> read = readArguments(*functions);
    EntryUses uses(*functions);
    for (func::FuncOp function : *functions)
      if (failed(apply(function, uses, *file, other,
                       functions->size() > 1 ? &named : nullptr, read,
                       bindings)))
        return failure();
    if (functions->size() > 1 &&
        failed(refuseUnnamed(functions->front(), uses, *file, named)))
      return failure();
    SharedArguments shared(*functions);
    for (ArrayRef<EntryArgument> tensor : shared.tensors())
      if (failed(sharePins(*functions, tensor)))
        return failure();
    dropIdle(bindings);
    if (strict)
      for (const Binding &binding : bindings)
        if (binding.status == BindingStatus::WithoutEffect)
          return binding.entry->emitError()
                 << "the entry has no effect on module '" << binding.module
                 << "'";
    module->setAttr(attr::bindings,
                    toAttribute(&getContext(), bindings, entryLocations));
    if (!report.empty() && failed(writeReport(bindings)))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<PlanOp, RuleOp>(op))
        op.erase();
    return success();
  }

  void runOnOperation() override {
    if (failed(apply()))
      return signalPassFailure();
    // All that is new are pins, each verified when it was made, right behind
    // what it pins: there is no need to verify the whole program again.
    markAllAnalysesPreserved();
  }
};
} // namespace
