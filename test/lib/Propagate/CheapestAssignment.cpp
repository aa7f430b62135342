//===- CheapestAssignment.cpp - what a program costs at least -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheapestAssignment.h"
#include "ReadSearchGraph.h"
#include "mlir/Pass/Pass.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

namespace {
struct CheapestAssignment
    : PassWrapper<CheapestAssignment, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheapestAssignment)
  CheapestAssignment() = default;
  CheapestAssignment(const CheapestAssignment &other) : PassWrapper(other) {}

  Option<std::string> objective{*this, "objective",
                                llvm::cl::desc("That of tp-propagate"),
                                llvm::cl::init("communication")};
  Option<double> combinations{
      *this, "combinations",
      llvm::cl::desc("Up to so many combinations of strategies each is tried "
                     "by itself"),
      llvm::cl::init(20000)};

  StringRef getArgument() const final { return "tp-cheapest-assignment"; }
  StringRef getDescription() const final {
    return "Say what tp-propagate's choice has to cost on the one axis of the "
           "mesh, found by trying all strategies that hold when every rank "
           "applies the op to its part";
  }

  void runOnOperation() final {
    markAllAnalysesPreserved();
    auto mesh = getOperation()->getAttrOfType<MeshAttr>(attr::mesh);
    if (!mesh || mesh.getValue().axes.size() != 1) {
      getOperation().emitError("expected a mesh of one axis");
      return signalPassFailure();
    }
    const MeshAxis &axis = mesh.getValue().axes[0];
    AxisCosts costs;
    costs.ranks = axis.size;
    costs.objective =
        objective == "time" ? Objective::Time : Objective::Communication;
    // Programs of one file are made of the same ops.
    if (!simulator || simulatedRanks != axis.size)
      simulator = std::make_shared<StrategySimulator>(axis.size);
    simulatedRanks = axis.size;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(search(func, axis.name, costs)))
        signalPassFailure();
  }

  LogicalResult search(func::FuncOp func, StringRef axis,
                       const AxisCosts &costs) {
    FailureOr<SearchGraph> program =
        readSearchGraph(func, axis, costs, *simulator);
    if (failed(program))
      return failure();
    CheapestLayouts search(costs);
    Cost cheapest = search.cheapest(*program);
    std::optional<Cost> ofAll = search.cheapestOfAll(*program, combinations);
    if (ofAll && *ofAll != cheapest)
      return func.emitError()
             << "the search is wrong: node by node cost " << cheapest.primary
             << " + " << cheapest.secondary << ", of all combinations "
             << ofAll->primary << " + " << ofAll->secondary;
    if (cheapest.isInfinite())
      func.emitRemark() << "axis '" << axis << "': has no assignment";
    else
      func.emitRemark() << "axis '" << axis << "': cost " << cheapest.primary
                        << " + " << cheapest.secondary;
    return success();
  }

  std::shared_ptr<StrategySimulator> simulator;
  int64_t simulatedRanks = 0;
};
} // namespace

void tp::registerCheapestAssignmentPass() {
  PassRegistration<CheapestAssignment>();
}
