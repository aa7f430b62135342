//===- CompilePass.cpp - pass tp-cpu-compile ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPUPasses.h"
#include "tp/Target/CPU/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace tp {
#define GEN_PASS_DEF_CPUCOMPILE
#include "tp/Target/CPU/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::cpu;

namespace {
struct CompilePass : tp::impl::CPUCompileBase<CompilePass> {
  using CPUCompileBase::CPUCompileBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    tp::registerCPUTargetDialects(registry);
  }

  void runOnOperation() override {
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
    FailureOr<Schedule> made = makeSchedule(plan, *function);
    if (failed(made))
      return signalPassFailure();
    Schedule schedule = std::move(*made);
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
};
} // namespace
