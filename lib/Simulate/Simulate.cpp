//===- Simulate.cpp - a program with layouts on all ranks -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckValue.h"
#include "Collectives.h"
#include "RunFunction.h"
#include "SimulatedMesh.h"
#include "tp/Interpreter/Distribute.h"
#include "tp/Simulate/Simulator.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

std::string tp::describe(const SimulateReport &report) {
  auto count = [](int64_t number, StringRef noun) {
    return std::to_string(number) + " " + noun.str() + (number == 1 ? "" : "s");
  };
  std::string text = count(report.values, "value") +
                     (report.values == 1 ? " agrees on " : " agree on ") +
                     count(report.ranks, "rank");
  if (report.notNumbers)
    text += ", " + std::to_string(report.notNumbers) +
            " of them are NaN throughout";
  if (report.unnamed)
    text += ", " + std::to_string(report.unnamed) +
            " values of the reference have no name";
  return text;
}

MeshAttr simulator::findMesh(ModuleOp module) {
  if (auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh))
    return mesh;
  MeshAttr found;
  module.walk([&](func::FuncOp func) {
    for (Type type : func.getArgumentTypes())
      if (LayoutAttr layout = LayoutAttr::of(type); layout && !found)
        found = layout.getMesh();
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (auto layout = func.getArgAttrOfType<LayoutAttr>(i, attr::layout);
          layout && !found)
        found = layout.getMesh();
    func.getBody().walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (LayoutAttr layout = LayoutAttr::of(type); layout && !found)
          found = layout.getMesh();
    });
  });
  return found;
}

LogicalResult simulator::checkMesh(Operation *op, MeshAttr mesh) {
  constexpr int64_t maxRanks = 1024;
  if (mesh.getValue().numRanks() <= maxRanks)
    return success();
  return unrunnable(op) << "cannot be simulated: " << mesh << " has "
                        << mesh.getValue().numRanks() << " ranks, at most "
                        << maxRanks << " can be simulated";
}

/// Every tensor of the function has a layout on the mesh, and every strategy is
/// on it.
static LogicalResult checkLayouts(func::FuncOp func, MeshAttr mesh) {
  auto check = [&](Operation *op, Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return success();
    LayoutAttr layout = LayoutAttr::of(tensor);
    if (!layout)
      return op->emitOpError() << "has a tensor without a layout, " << type;
    // Every rank's part of every value is held at once.
    constexpr int64_t mostElements = int64_t(1) << 30;
    if (tensor.hasStaticShape() && tensor.getNumElements() > mostElements)
      return unrunnable(op) << "cannot be simulated: " << tensor << " has "
                            << tensor.getNumElements() << " elements, at most "
                            << mostElements << " can be simulated";
    if (layout.getMesh() != mesh)
      return op->emitOpError() << "is laid out on " << layout.getMesh()
                               << ", the program on " << mesh;
    return success();
  };
  for (Type type : func.getArgumentTypes())
    if (failed(check(func, type)))
      return failure();
  for (Operation &op : func.getBody().front()) {
    for (Type type : op.getResultTypes())
      if (failed(check(&op, type)))
        return failure();
    auto strategy = op.getAttrOfType<StrategyAttr>(attr::strategy);
    if (strategy && strategy.getMesh() != mesh)
      return op.emitOpError() << "has a strategy on " << strategy.getMesh()
                              << ", the program is on " << mesh;
  }
  return success();
}

namespace {
/// One function on all ranks.
class ShardedRun {
public:
  ShardedRun(GlobalRun &global, int64_t numRanks, SimulateReport &report)
      : global(global), ranks(numRanks), report(report) {
    for (auto [rank, frame] : llvm::enumerate(ranks)) {
      frame.kind = Frame::Kind::Sharded;
      frame.rank = rank;
    }
  }

  LogicalResult run(Block &block, uint64_t seed);

private:
  void bindArguments(Block &block, uint64_t seed);
  LogicalResult checkResults(Operation &op);

  GlobalRun &global;
  std::vector<Frame> ranks;
  PartialRounding rounding;
  SimulateReport &report;
};
} // namespace

void ShardedRun::bindArguments(Block &block, uint64_t seed) {
  for (auto [argument, input] :
       llvm::zip(block.getArguments(), global.inputs)) {
    LayoutAttr layout = LayoutAttr::of(argument.getType());
    std::vector<TensorData> parts(ranks.size(), input);
    if (layout)
      parts = distributeAtRandom(input, layout, seed);
    for (auto [frame, part] : llvm::zip(ranks, parts))
      frame.values[argument] = part;
  }
}

static bool isPartial(Value value) {
  LayoutAttr layout = LayoutAttr::of(value.getType());
  return layout && layout.hasPartial();
}

LogicalResult ShardedRun::checkResults(Operation &op) {
  // Without partial values a rank does the same scalar operations in the same
  // order as the whole program, so its numbers are the same.
  bool allowRounding = llvm::any_of(op.getOperands(), isPartial) ||
                       llvm::any_of(op.getResults(), isPartial);
  std::vector<double> magnitudes;
  if (isCollective(&op) && isPartial(op.getOperand(0))) {
    std::vector<TensorData> buffers;
    for (Frame &frame : ranks)
      buffers.push_back(frame.values.at(op.getOperand(0)));
    auto type = cast<RankedTensorType>(op.getOperand(0).getType());
    assemble(LayoutAttr::of(type), type, buffers, &magnitudes);
  }
  for (OpResult result : op.getResults()) {
    std::vector<TensorData> buffers;
    for (Frame &frame : ranks)
      buffers.push_back(frame.values.at(result));
    CheckedValue value{&op,
                       "result " + std::to_string(result.getResultNumber()),
                       LayoutAttr::of(result.getType()),
                       global.frame.values.at(result),
                       buffers,
                       allowRounding,
                       magnitudes,
                       global.longestReduction,
                       rounding.behind(op)};
    if (failed(checkValue(value)))
      return failure();
    if (isPartial(result))
      rounding.carry(op, result, /*isPartial=*/true);
    ++report.values;
    report.notNumbers += isNaNThroughout(value.expected);
    if (!allowRounding)
      continue;
    settle(value);
    for (auto [frame, buffer] : llvm::zip(ranks, buffers))
      frame.values[result] = buffer;
  }
  return success();
}

LogicalResult ShardedRun::run(Block &block, uint64_t seed) {
  bindArguments(block, seed);
  LastUses lastUses = lastUsesIn(block);
  for (Operation &op : block.without_terminator()) {
    if (&op == global.stoppedAt)
      break;
    if (failed(evaluateOnRanks(&op, ranks)))
      return failure();
    if (failed(checkResults(op)))
      return failure();
    for (Value value : lastUses.lookup(&op)) {
      global.frame.values.erase(value);
      for (Frame &frame : ranks)
        frame.values.erase(value);
    }
  }
  return success();
}

static LogicalResult simulateAll(ModuleOp module,
                                 const SimulateOptions &options,
                                 SimulateReport &counts) {
  MeshAttr mesh = findMesh(module);
  if (!mesh)
    return unrunnable(module)
           << "cannot be simulated: no tensor type carries a layout";
  if (failed(checkMesh(module, mesh)))
    return failure();
  counts.ranks = mesh.getValue().numRanks();
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isDeclaration())
      continue;
    FailureOr<Block *> block = bodyOf(func);
    if (failed(block) || failed(checkLayouts(func, mesh)))
      return failure();
    FailureOr<GlobalRun> global = runGlobally(func, options);
    if (failed(global) || failed(ShardedRun(*global, counts.ranks, counts)
                                     .run(**block, options.seed)))
      return failure();
  }
  return success();
}

LogicalResult tp::simulate(ModuleOp module, const SimulateOptions &options,
                           SimulateReport *report) {
  SimulateReport unused;
  SimulateReport &counts = report ? *report : unused;
  return runAsFarAsPossible(module, options, counts, [&] {
    return simulateAll(module, options, counts);
  });
}
