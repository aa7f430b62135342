//===- SimulatePass.cpp - tp-simulate -------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "tp/IR/TP.h"
#include "tp/Simulate/SimulatePasses.h"
#include "tp/Simulate/Simulator.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace tp {
#define GEN_PASS_DEF_SIMULATEPASS
#include "tp/Simulate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

namespace {
struct SimulatePass : tp::impl::SimulatePassBase<SimulatePass> {
  using SimulatePassBase::SimulatePassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    SimulateOptions options;
    options.seed = seed;
    SimulateReport counts;
    if (failed(simulateWith(options, counts)))
      return signalPassFailure();
    if (!report)
      return;
    llvm::errs() << describe(counts) << "\n";
  }

  LogicalResult simulateWith(const SimulateOptions &options,
                             SimulateReport &counts) {
    if (reference.empty())
      return simulate(getOperation(), options, &counts);
    ParserConfig config(&getContext());
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(reference, config);
    if (!module)
      return getOperation().emitOpError()
             << "cannot read the reference '" << reference << "'";
    return simulatePartitioned(getOperation(), *module, options, &counts);
  }
};
} // namespace
