//===- Propagate.cpp - tp-propagate ---------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Causes.h"
#include "tp/Transforms/Propagate/Passes.h"
#include <numeric>

namespace tp {
#define GEN_PASS_DEF_PROPAGATE
#include "tp/Transforms/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
/// Decisions on all axis parts, and how they came about.
struct Assignment {
  Decisions decisions;
  std::vector<PartSolution> parts;
  Cost cost;
};

class Solver {
public:
  Solver(const Program &program, const ModelOptions &options,
         const AssignmentLimits &limits)
      : program(program), options(options), limits(limits) {}

  /// Axes one after the other; of all orders the cheapest (of many axes only
  /// the order of the mesh is tried).
  FailureOr<Assignment> solveAxes() {
    std::vector<unsigned> order(program.mesh().axes.size());
    std::iota(order.begin(), order.end(), 0);
    constexpr size_t triedInAllOrders = 3;
    bool all = order.size() <= triedInAllOrders;
    std::optional<Assignment> best;
    do {
      FailureOr<Assignment> found = solveInOrder(order);
      if (failed(found))
        return failure();
      if (!best || found->cost < best->cost)
        best = std::move(*found);
    } while (all && std::next_permutation(order.begin(), order.end()));
    return std::move(*best);
  }

private:
  FailureOr<Assignment> solveInOrder(ArrayRef<unsigned> order) {
    Assignment assignment{Decisions(program), {}, Cost()};
    // A minor sub-axis divides what the major one leaves.
    for (unsigned axis : order)
      for (auto [number, part] : llvm::enumerate(program.parts))
        if (part.axis == axis && failed(decidePart(number, assignment)))
          return failure();
    return assignment;
  }

  PartSolution solvePart(unsigned part, const Decisions &decisions,
                         const ModelOptions &with) {
    PartSolution found;
    found.part = part;
    found.model = buildAxisModel(program, part, decisions, with);
    found.solution = tp::solve(found.model.layouts, limits);
    return found;
  }

  LogicalResult decidePart(unsigned part, Assignment &assignment) {
    Decisions &decisions = assignment.decisions;
    // On one rank all layouts are the same.
    if (program.parts[part].size == 1) {
      for (auto &ofNode : decisions.of)
        ofNode[part] = Decision();
      return success();
    }
    PartSolution found = solvePart(part, decisions, options);
    switch (found.solution.outcome) {
    case AssignmentResult::Outcome::Optimal:
    case AssignmentResult::Outcome::Feasible:
      break;
    case AssignmentResult::Outcome::Infeasible:
      if (options.noImplicitCollectives) {
        // What there would be, and whether somebody asks for all of it after
        // all: a copy that is asked for may serve other uses too.
        ModelOptions freely = options;
        freely.noImplicitCollectives = false;
        PartSolution there = solvePart(part, decisions, freely);
        if (there.solution.hasAssignment()) {
          if (reportImplicitCollectives(program, there))
            return failure();
          found = std::move(there);
          break;
        }
      }
      reportConflict(program, part, decisions, options, limits,
                     found.solution.op);
      return failure();
    case AssignmentResult::Outcome::TooLarge: {
      const Node &node = program.nodes[found.solution.op];
      return mlir::emitError(program.location(node))
             << "found no assignment on axis " << program.partName(part)
             << ": neither is one near at hand nor is there room to try all, "
                "which takes a table of "
             << found.solution.tableEntries << " entries at "
             << program.describe(node)
             << "; pins on values near it make it smaller";
    }
    }
    for (size_t node = 0; node < program.nodes.size(); ++node)
      decisions.of[node][part] =
          found.model.decisions[node][found.solution.choices[node]];
    assignment.cost += found.solution.cost;
    assignment.parts.push_back(std::move(found));
    return success();
  }

  const Program &program;
  const ModelOptions &options;
  const AssignmentLimits &limits;
};

struct PropagatePass : tp::impl::PropagateBase<PropagatePass> {
  using PropagateBase::PropagateBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
  FailureOr<ModelOptions> modelOptions();
  void write(const Program &program, const Decisions &decisions);
};
} // namespace

FailureOr<ModelOptions> PropagatePass::modelOptions() {
  ModelOptions options;
  SourceProblem problem;
  std::optional<Hardware> described = readHardware(hardware, problem);
  if (!described)
    return mlir::emitError(FileLineColLoc::get(&getContext(), hardware, 0, 0))
           << problem.message;
  options.hardware = std::move(*described);
  options.allowSplitAllReduce = allowSplitAllReduce;
  options.noImplicitCollectives = noImplicitCollectives;
  options.autoParameters = autoParameters;
  if (objective == "time")
    options.objective = Objective::Time;
  else if (objective != "communication")
    return getOperation().emitError(
               "expected objective 'communication' or 'time', got '")
           << objective << "'";
  return options;
}

/// How much cheaper an assignment there may be than the one that was found.
static void remarkGap(const Program &program, const PartSolution &part) {
  const Cost &cost = part.solution.cost, &bound = part.solution.bound;
  bool isPrimary = cost.primary != bound.primary;
  int64_t found = isPrimary ? cost.primary : cost.secondary;
  int64_t least = isPrimary ? bound.primary : bound.secondary;
  bool isBytes = isPrimary &&
                 part.model.layouts.costs.objective == Objective::Communication;
  program.func->emitRemark()
      << "axis " << program.partName(part.part)
      << ": the assignment is the best one found, no assignment is proved to "
         "be the best: it costs "
      << found << (isBytes ? " bytes" : " ps") << " where "
      << (isPrimary ? "" : "communication is the same and ")
      << "none costs less than " << least
      << "; a larger 'table-bytes' may find a better one";
}

LogicalResult PropagatePass::run() {
  ModuleOp module = getOperation();
  FailureOr<ModelOptions> options = modelOptions();
  if (failed(options))
    return failure();
  FailureOr<func::FuncOp> func = functionOf(module);
  if (failed(func))
    return failure();
  auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh);
  if (!mesh)
    return module.emitError("has no attribute '")
           << attr::mesh << "', so it is not known what to split it over";
  if (std::string misfit = options->hardware.misfit(mesh.getValue());
      !misfit.empty())
    return module.emitError() << misfit;
  CopyGroups copies = copyFreeProducers(*func);
  FailureOr<Program> program = readProgram(*func, mesh, replicateUnknown);
  if (failed(program))
    return failure();
  AssignmentLimits limits;
  limits.bytes = static_cast<double>(tableBytes);
  limits.easyBytes = static_cast<double>(easyTableBytes);
  FailureOr<Assignment> assignment =
      Solver(*program, *options, limits).solveAxes();
  if (failed(assignment))
    return failure();
  for (const PartSolution &part : assignment->parts) {
    if (part.solution.outcome == AssignmentResult::Outcome::Feasible)
      remarkGap(*program, part);
    if (remarks)
      remarkRedistributions(*program, part.part, part.model, part.solution);
    if (report)
      mlir::emitRemark(func->getLoc())
          << "axis " << program->partName(part.part) << ": "
          << program->nodes.size() << " nodes, " << part.solution.variables
          << " variables, " << part.solution.coreVariables
          << " after pruning, largest table "
          << static_cast<int64_t>(part.solution.tableEntries) << ", "
          << part.solution.ascents << " passes for bounds";
  }
  if (explain)
    explainCollectives(*program, assignment->parts, *options, limits,
                       explainLimit, remarks);
  write(*program, assignment->decisions);
  mergeCopies(copies);
  return success();
}

void PropagatePass::write(const Program &program, const Decisions &decisions) {
  MLIRContext *context = &getContext();
  auto layoutAttr = [&](Layout layout) {
    return LayoutAttr::get(context, program.meshAttr, std::move(layout));
  };
  auto portLayout = [&](ArrayRef<std::optional<Decision>> on) {
    Layout layout;
    for (auto [part, decision] : llvm::zip_equal(program.parts, on))
      layout.entries.push_back({part, decision->port});
    // Chunks that divide evenly are the same in every unit; what the parts of
    // one dimension agree on is the unit of those that do not.
    for (AxisPlacement &entry : layout.entries)
      for (AxisPlacement &other : layout.entries)
        if (entry.placement.isShard() && other.placement.isShard() &&
            entry.placement.dim == other.placement.dim)
          entry.placement.unit =
              std::max(entry.placement.unit, other.placement.unit);
    layout.canonicalize();
    return layoutAttr(std::move(layout));
  };
  func::FuncOp func = program.func;
  for (auto [node, made] : llvm::zip(program.nodes, decisions.of)) {
    if (node.kind == Node::Kind::Argument) {
      func.setArgAttr(node.index, attr::layout, portLayout(made));
      continue;
    }
    if (node.kind == Node::Kind::Result) {
      func.setResultAttr(node.index, attr::layout, portLayout(made));
      continue;
    }
    Strategy strategy;
    for (auto [part, decision] : llvm::zip_equal(program.parts, made))
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
                     StrategyAttr::get(context, program.meshAttr, strategy));
  }
}
