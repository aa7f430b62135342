//===- WritePlan.cpp - tp-write-plan --------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFile.h"
#include "Written/ChosenEntries.h"
#include "tp/Files/OutputText.h"
#include "tp/Transforms/Plan/PlanPasses.h"

namespace tp {
#define GEN_PASS_DEF_WRITEPLAN
#include "tp/Transforms/Plan/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct WritePlanPass : tp::impl::WritePlanBase<WritePlanPass> {
  using WritePlanBase::WritePlanBase;

  void runOnOperation() override {
    if (failed(write()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult write() {
    ModuleOp module = getOperation();
    auto functions = module.getOps<func::FuncOp>();
    auto chosen = module->getAttrOfType<MeshAttr>(attr::mesh);
    if (!llvm::hasSingleElement(functions) && !functions.empty())
      return (*std::next(functions.begin()))
          .emitError("a plan is written for one entry, got a second: write it "
                     "for a model of one of them");
    if (functions.empty() || !chosen)
      return module.emitError("expected a program after tp-propagate");
    func::FuncOp function = *functions.begin();
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (isa<RankedTensorType>(function.getArgumentTypes()[i]) &&
          !function.getArgAttrOfType<LayoutAttr>(i, attr::layout))
        return function.emitError()
               << "argument #" << i
               << " has no layout, expected a program after tp-propagate";
    if (entries != "modules" && entries != "ports")
      return module.emitError("expected entries 'modules' or 'ports', got '")
             << entries << "'";
    FailureOr<PlanFile> given = readPlan(module, plan, mesh);
    FailureOr<ModuleTree> tree = ModuleTree::build(function);
    if (failed(given) || failed(tree))
      return failure();
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "#mesh = " << chosen << "\n";
    for (RuleOp rule : given->rules) {
      std::string line;
      llvm::raw_string_ostream(line) << rule;
      os << StringRef(line).rtrim() << "\n";
    }
    for (PlanOp axisPlan : given->plans) {
      unsigned axis = *chosen.getValue().axisByName(axisPlan.getAxis());
      os << "tp.plan @" << axisPlan.getPlanName() << " on #mesh[\""
         << axisPlan.getAxis() << "\"]" << (axisPlan.getIsAuto() ? " auto" : "")
         << " {\n";
      for (Operation &entry : axisPlan.getBody().front()) {
        std::string line;
        llvm::raw_string_ostream(line) << entry;
        os << "  " << StringRef(line).rtrim() << "\n";
      }
      ChosenEntries added(function, *tree, axis, chosen);
      for (const std::string &line : added.entries(entries == "modules"))
        os << "  " << line << "\n";
      // They hold for all axes, so they stand in one plan.
      if (axisPlan == given->plans.front())
        for (const std::string &pattern : recompute)
          os << "  tp.recompute \"" << pattern << "\"\n";
      os << "}\n";
    }
    if (runtime::Status status = writeOutputText(file, text); !status.ok())
      return module.emitError() << status.message();
    return success();
  }
};
} // namespace
