//===- Cleanup.cpp - pass tp-cpu-cleanup ----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Little is needed: the code generator reads through views and computes single
// uses in place, so neither reshapes nor elementwise ops have to be fused here.
//
//===----------------------------------------------------------------------===//

#include "CPUPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tp::cpu;

void tp::cpu::cleanUp(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  // Folding comes with the driver; these make constants and dims meet it.
  tensor::CastOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExtractOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  arith::SelectOp::getCanonicalizationPatterns(patterns, context);
  populateWidenContractions(patterns);
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  (void)applyPatternsGreedily(function, std::move(patterns), config);
  IRRewriter rewriter(context);
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
}

namespace {
struct CleanupPass : PassWrapper<CleanupPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CleanupPass)
  StringRef getArgument() const override { return "tp-cpu-cleanup"; }
  StringRef getDescription() const override {
    return "Simplify a per-rank function for the CPU code generator";
  }
  void runOnOperation() override { cleanUp(getOperation()); }
};

/// Compiles the module to an artifact, or shows what one of the stages made.
struct CompilePass : PassWrapper<CompilePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CompilePass)
  CompilePass() = default;
  CompilePass(const CompilePass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "tp-cpu-compile"; }
  StringRef getDescription() const override {
    return "Compile a per-rank module to a CPU artifact";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    tp::registerCPUTargetDialects(registry);
  }
  void runOnOperation() override;

  Option<std::string> output{*this, "output",
                             llvm::cl::desc("the artifact to write")};
  Option<std::string> show{
      *this, "show",
      llvm::cl::desc("instead: print 'manifest' or replace the module by its "
                     "'kernels' or the 'lowered' kernels")};
  Option<std::string> targetCPU{*this, "target-cpu",
                                llvm::cl::desc("an LLVM CPU name"),
                                llvm::cl::init("native")};
};
} // namespace

void CompilePass::runOnOperation() {
  ModuleOp module = getOperation();
  if (show.empty() && output.empty()) {
    module.emitError("tp-cpu-compile: expected 'output' or 'show'");
    return signalPassFailure();
  }
  if (show.empty()) {
    tp::CPUOptions options;
    options.targetCPU = targetCPU;
    tp::CPUStatistics statistics;
    if (failed(tp::compileForCPU(module, options, output, &statistics)))
      signalPassFailure();
    return;
  }
  auto function = entryOf(module);
  auto mesh = meshOfModule(module);
  if (failed(function) || failed(mesh))
    return signalPassFailure();
  cleanUp(*function);
  StoragePlan plan(*function);
  if (failed(plan.build()))
    return signalPassFailure();
  Schedule schedule = makeSchedule(plan, *function);
  MemoryPlan memory = planMemory(plan, schedule);
  AssertTable asserts;
  OwningOpRef<ModuleOp> kernels =
      ModuleOp::create(UnknownLoc::get(&getContext()));
  CompiledProgram program{*function, *mesh, &plan, &schedule, &memory,
                          &asserts,  {},    {},    0};
  auto calls = emitKernels(plan, schedule, memory, asserts, *kernels,
                           program.scratchBytes);
  if (failed(calls))
    return signalPassFailure();
  program.kernels = std::move(*calls);
  if (show == "manifest") {
    tp::CPUStatistics statistics;
    auto manifest = makeManifest(program, statistics);
    if (failed(manifest))
      return signalPassFailure();
    llvm::outs() << llvm::formatv("{0:2}",
                                  llvm::json::Value(std::move(*manifest)))
                 << "\n";
    return;
  }
  if (show == "lowered" && failed(lowerKernels(*kernels)))
    return signalPassFailure();
  module.getBodyRegion().takeBody(kernels->getBodyRegion());
  for (NamedAttribute attribute :
       llvm::to_vector(module->getDiscardableAttrs()))
    module->removeDiscardableAttr(attribute.getName());
}

void tp::registerCPUPasses() {
  PassRegistration<CleanupPass>();
  PassRegistration<CompilePass>();
}
