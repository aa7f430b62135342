//===- Propagate.cpp - tp-propagate ---------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem/MeshCosts.h"
#include "Search/MeshAssignment.h"
#include "tp/Transforms/Propagate/PropagatePasses.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace tp {
#define GEN_PASS_DEF_PROPAGATE
#include "tp/Transforms/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
struct PropagatePass : tp::impl::PropagateBase<PropagatePass> {
  using PropagateBase::PropagateBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
  FailureOr<AssignmentOptions> modelOptions();
  void write(const AssignmentGraph &graph, const Decisions &decisions);
};
} // namespace

FailureOr<AssignmentOptions> PropagatePass::modelOptions() {
  AssignmentOptions options;
  SourceProblem problem;
  std::optional<Hardware> described = readHardware(hardware, problem);
  if (!described)
    return mlir::emitError(FileLineColLoc::get(&getContext(), hardware, 0, 0))
           << problem.message;
  options.hardware = std::move(*described);
  options.allowSplitAllReduce = allowSplitAllReduce;
  options.noImplicitCollectives = noImplicitCollectives;
  if (!(bytePrice >= 0 && std::isfinite(bytePrice)))
    return getOperation().emitError("expected a byte price of at least 0, got ")
           << std::to_string(bytePrice);
  options.bytePrice = bytePrice;
  if (objective == "time")
    options.objective = Objective::Time;
  else if (objective != "communication")
    return getOperation().emitError(
               "expected objective 'communication' or 'time', got '")
           << objective << "'";
  return options;
}

/// How much cheaper an assignment there may be than the one that was found.
/// Costs hold more than bytes, so they are only compared.
static void remarkGap(const AssignmentGraph &graph, const PartSolution &part) {
  const Cost &cost = part.solution.cost, &bound = part.solution.bound;
  bool isPrimary = cost.primary != bound.primary;
  double found = isPrimary ? cost.primary : cost.secondary;
  double least = isPrimary ? bound.primary : bound.secondary;
  int64_t sent = 0;
  for (const CostedCollective &each : costedCollectives(graph, part))
    sent += each.times * each.ringBytes;
  mlir::emitRemark(graph.func->getLoc())
      << "axis " << graph.partName(part.part)
      << ": the assignment is the best one found, no assignment is proved to "
         "be the best: a rank sends "
      << sent << " bytes over it in a step, and "
      << (isPrimary ? "" : "with the same communication ")
      << "none costs less than "
      << llvm::formatv("{0:F1}", found > 0 ? 100 * least / found : 100).str()
      << "% of it; plan entries for more modules leave fewer choices, among "
         "which tp may find a better one";
}

LogicalResult PropagatePass::run() {
  ModuleOp module = getOperation();
  FailureOr<AssignmentOptions> options = modelOptions();
  if (failed(options))
    return failure();
  FailureOr<SmallVector<func::FuncOp>> entries = functionsOf(module);
  if (failed(entries))
    return failure();
  auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh);
  if (!mesh)
    return module.emitError("has no attribute '")
           << attr::mesh << "', so it is not known what to split it over";
  if (std::string unknownAxis = options->hardware.unknownAxis(mesh.getValue());
      !unknownAxis.empty())
    return module.emitError() << unknownAxis;
  CopyGroups copies;
  for (func::FuncOp entry : *entries)
    llvm::append_range(copies, copyFreeProducers(entry));
  FailureOr<AssignmentGraph> graph =
      readAssignmentGraph(*entries, mesh, replicateUnknown);
  if (failed(graph))
    return failure();
  AssignmentLimits limits;
  limits.bytes = static_cast<double>(tableBytes);
  limits.easyBytes = static_cast<double>(easyTableBytes);
  FailureOr<MeshAssignment> assignment =
      assignLayouts(*graph, *options, limits);
  if (failed(assignment))
    return failure();
  for (const PartSolution &part : assignment->parts) {
    if (part.solution.outcome == AssignmentResult::Outcome::Feasible)
      remarkGap(*graph, part);
    if (remarks)
      remarkRedistributions(*graph, part.part, part.model, part.solution);
    if (report)
      mlir::emitRemark(graph->func.getLoc())
          << "axis " << graph->partName(part.part) << ": "
          << graph->nodes.size() << " nodes, " << part.solution.variables
          << " variables, " << part.solution.coreVariables
          << " after pruning, largest table "
          << static_cast<int64_t>(part.solution.tableEntries) << ", "
          << part.solution.ascents << " passes for bounds, cost "
          << part.solution.cost.primary << " + "
          << part.solution.cost.secondary;
  }
  if (explain)
    explainCollectives(*graph, assignment->parts, *options, limits,
                       explainLimit, remarks);
  write(*graph, assignment->decisions);
  mergeCopies(copies);
  return success();
}

void PropagatePass::write(const AssignmentGraph &graph,
                          const Decisions &decisions) {
  MLIRContext *context = &getContext();
  auto layoutAttr = [&](Layout layout) {
    return LayoutAttr::get(context, graph.meshAttr, std::move(layout));
  };
  for (auto [node, made] : llvm::zip(graph.nodes, decisions.of)) {
    func::FuncOp func = graph.entryOf(node);
    if (node.kind == Node::Kind::Argument) {
      func.setArgAttr(node.index, attr::layout,
                      layoutAttr(portLayout(graph, made)));
      continue;
    }
    if (node.kind == Node::Kind::Result) {
      func.setResultAttr(node.index, attr::layout,
                         layoutAttr(portLayout(graph, made)));
      continue;
    }
    Strategy strategy;
    for (auto [part, decision] : llvm::zip_equal(graph.parts, made))
      strategy.entries.push_back({part, decision->choice});
    SmallVector<Attribute> layouts;
    unsigned result = 0;
    for (Type type : node.op->getResultTypes())
      layouts.push_back(isa<RankedTensorType>(type)
                            ? Attribute(layoutAttr(
                                  node.rule.resultLayout(result++, strategy)))
                            : Attribute(UnitAttr::get(context)));
    if (result)
      node.op->setAttr(attr::resultLayouts, ArrayAttr::get(context, layouts));
    node.op->setAttr(attr::strategy,
                     StrategyAttr::get(context, graph.meshAttr, strategy));
  }
}
