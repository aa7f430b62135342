//===- RunFunction.cpp - runs a function op by op -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunFunction.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

LastUses simulator::lastUsesIn(Block &block) {
  LastUses lastUses;
  llvm::DenseSet<Value> seen;
  for (Operation &op : llvm::reverse(block)) {
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == &block && seen.insert(operand).second)
          lastUses[&op].push_back(operand);
    });
    for (Value result : op.getResults())
      if (!seen.contains(result))
        lastUses[&op].push_back(result);
  }
  return lastUses;
}

FailureOr<Block *> simulator::bodyOf(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return unrunnable(func)
           << "cannot be simulated: expected a body of one block, got "
           << func.getBody().getBlocks().size();
  return &func.getBody().front();
}

LogicalResult simulator::runFunction(func::FuncOp func,
                                     ArrayRef<TensorData> inputs, Frame &frame,
                                     bool keepAll, Operation **failedAt) {
  FailureOr<Block *> block = bodyOf(func);
  if (failed(block))
    return failure();
  for (auto [argument, input] : llvm::zip((*block)->getArguments(), inputs))
    frame.values[argument] = input;
  LastUses lastUses;
  if (!keepAll)
    lastUses = lastUsesIn(**block);
  for (Operation &op : (*block)->without_terminator()) {
    if (failed(evaluate(&op, frame))) {
      if (failedAt)
        *failedAt = &op;
      return failure();
    }
    if (auto it = lastUses.find(&op); it != lastUses.end())
      for (Value value : it->second)
        frame.values.erase(value);
  }
  return success();
}

static LogicalResult checkArguments(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    Type type = argument.getType();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!storageOf(getElementTypeOrSelf(type)) ||
        (isa<ShapedType>(type) && (!tensor || !tensor.hasStaticShape())))
      return unrunnable(func) << "cannot be simulated: argument "
                              << argument.getArgNumber() << " is a " << type;
    // 2 GiB, as for the results of ops.
    if (tensor && tensor.getNumElements() > int64_t(1) << 28)
      return unrunnable(func)
             << "cannot be simulated: argument " << argument.getArgNumber()
             << " of type " << type << " is too large";
  }
  return success();
}

static bool returnsNaN(Block &block, const Frame &frame) {
  for (Value value : block.getTerminator()->getOperands()) {
    const TensorData &array = frame.values.at(value);
    if (array.storage() == ElementStorage::Int)
      continue;
    for (int64_t i = 0, e = array.isSplat() ? 1 : array.numElements(); i < e;
         ++i)
      if (array.isDefined(i) && std::isnan(array.get(i).real))
        return true;
  }
  return false;
}

static double longestReductionIn(func::FuncOp func) {
  double longest = 1;
  func.walk([&](linalg::LinalgOp op) {
    double terms = 1;
    for (auto [size, iterator] :
         llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
      if (iterator == utils::IteratorType::reduction)
        terms *= static_cast<double>(size);
    longest = std::max(longest, terms);
  });
  return longest;
}

LogicalResult
simulator::runAsFarAsPossible(ModuleOp module, const SimulateOptions &options,
                              SimulateReport &report,
                              llvm::function_ref<LogicalResult()> run) {
  if (!options.asFarAsPossible)
    return run();
  bool isWrong = false;
  LogicalResult result = failure();
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diag) {
      if (diag.getSeverity() == DiagnosticSeverity::Error &&
          isUnrunnable(diag)) {
        report.stopped = true;
        emitRemark(diag.getLocation()) << "not verified: " << diag.str();
        return success();
      }
      isWrong |= diag.getSeverity() == DiagnosticSeverity::Error;
      return failure();
    });
    result = run();
  }
  if (!report.stopped || isWrong)
    return result;
  emitRemark(module.getLoc())
      << "not all is verified: " << describe(report) << " before that op";
  return success();
}

FailureOr<GlobalRun> simulator::runGlobally(func::FuncOp func,
                                            const SimulateOptions &options) {
  if (failed(checkArguments(func)))
    return failure();
  for (RandomInputKind taste : {RandomInputKind::Wild, RandomInputKind::Bits,
                                RandomInputKind::Positive}) {
    GlobalRun run;
    run.longestReduction = longestReductionIn(func);
    run.inputs = drawInputs(func, options.seed, taste);
    if (taste == RandomInputKind::Positive) {
      bool isWrong = false;
      ScopedDiagnosticHandler watch(func.getContext(), [&](Diagnostic &diag) {
        isWrong |= diag.getSeverity() == DiagnosticSeverity::Error &&
                   !isUnrunnable(diag);
        return failure();
      });
      if (failed(runFunction(func, run.inputs, run.frame, /*keepAll=*/true,
                             &run.stoppedAt)) &&
          (isWrong || !options.asFarAsPossible))
        return failure();
      return run;
    }
    // The last try shows its errors.
    ScopedDiagnosticHandler silence(func.getContext(),
                                    [](Diagnostic &) { return success(); });
    if (succeeded(runFunction(func, run.inputs, run.frame, /*keepAll=*/true)) &&
        !returnsNaN(func.getBody().front(), run.frame))
      return run;
  }
  return failure();
}

FailureOr<std::vector<TensorData>> tp::interpret(func::FuncOp func,
                                                 ArrayRef<TensorData> inputs) {
  if (failed(checkArguments(func)))
    return failure();
  if (inputs.size() != func.getNumArguments())
    return func.emitOpError() << "has " << func.getNumArguments()
                              << " arguments, got " << inputs.size();
  for (auto [argument, input] : llvm::zip(func.getArguments(), inputs)) {
    ArrayRef<int64_t> shape;
    if (auto tensor = dyn_cast<RankedTensorType>(argument.getType()))
      shape = tensor.getShape();
    if (input.shape() != shape ||
        input.elementType() != getElementTypeOrSelf(argument.getType()))
      return func.emitOpError()
             << "argument " << argument.getArgNumber() << " is a "
             << argument.getType() << ", got an array of shape "
             << indexText(input.shape()) << " of " << input.elementType();
  }
  Frame frame;
  if (failed(runFunction(func, inputs, frame, /*keepAll=*/false)))
    return failure();
  std::vector<TensorData> results;
  for (Value value : func.getBody().front().getTerminator()->getOperands())
    results.push_back(frame.values.at(value));
  return results;
}
