//===- ApplyPlan.cpp - a parallelize plan becomes pins --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "PlanFile.h"
#include "WhatIf.h"
#include "tp/Files/OutputText.h"
#include "tp/IR/PortAttributes.h"
#include "tp/Transforms/Plan/PlanPasses.h"

namespace tp {
#define GEN_PASS_DEF_APPLYPLAN
#include "tp/Transforms/Plan/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The one function the program is.
static FailureOr<func::FuncOp> programOf(ModuleOp module) {
  func::FuncOp program;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    if (program) {
      InFlightDiagnostic diag =
          function.emitError()
          << "expected one function in the module, got a second";
      diag.attachNote(program.getLoc()) << "the first is here";
      return diag;
    }
    program = function;
  }
  if (!program)
    return module.emitError() << "expected a function in the module, got none";
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
  if (walk.wasInterrupted())
    return failure();
  return program;
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

  LogicalResult apply() {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> function = programOf(module);
    if (failed(function))
      return failure();
    if (module->hasAttr(attr::bindings))
      return module.emitError() << "the module has a plan already";
    FailureOr<PlanFile> file = readPlan(module, plan, mesh);
    if (failed(file))
      return failure();
    FailureOr<ModuleTree> tree = ModuleTree::build(*function);
    if (failed(tree))
      return failure();
    module->setAttr(attr::mesh, file->mesh);
    SmallVector<Attribute> autoAxes;
    for (PlanOp axisPlan : file->plans)
      if (axisPlan.getIsAuto())
        autoAxes.push_back(axisPlan.getAxisAttr());
    if (!autoAxes.empty())
      module->setAttr(attr::autoAxes, ArrayAttr::get(&getContext(), autoAxes));
    ModuleIndex index(*function);
    std::vector<Binding> bindings;
    WhatIfPin other;
    if (!whatIf.empty()) {
      FailureOr<WhatIfPin> read = readWhatIfPin(whatIf, *file);
      if (failed(read))
        return failure();
      other = std::move(*read);
    }
    for (PlanOp axisPlan : file->plans)
      if (failed(Binder(*function, *tree, index, axisPlan, file->mesh, bindings)
                     .bind(axisPlan.getAxis() == other.axis ? other.entry
                                                            : ArgumentOp())))
        return failure();
    for (const MeshAxis &axis : file->mesh.getValue().axes)
      if (llvm::none_of(file->plans, [&](PlanOp axisPlan) {
            return axisPlan.getAxis() == axis.name;
          }))
        replicateOn(*function, axis.name);
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
    for (PlanOp axisPlan : llvm::make_early_inc_range(module.getOps<PlanOp>()))
      axisPlan.erase();
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
