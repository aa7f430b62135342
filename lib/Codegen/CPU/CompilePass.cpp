//===- CompilePass.cpp - pass tp-cpu-compile ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPUStages.h"
#include "ObjectCode.h"
#include "tp/Codegen/BackEndStages.h"
#include "tp/Codegen/CPU/CPUPasses.h"
#include "tp/Codegen/CPU/CompileForCPU.h"

namespace tp {
#define GEN_PASS_DEF_CPUCOMPILE
#include "tp/Codegen/CPU/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

namespace {
struct CompilePass : tp::impl::CPUCompileBase<CompilePass> {
  using CPUCompileBase::CPUCompileBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    tp::registerCPUTargetDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    forgetStagesRun(module);
    if (show.empty() && output.empty()) {
      module.emitError("tp-cpu-compile: expected 'output' or 'show'");
      return signalPassFailure();
    }
    if (show.empty()) {
      tp::CPUOptions options;
      options.targetCPU = targetCPU;
      tp::runtime::ArtifactWriter artifact;
      if (failed(tp::compileForCPU(module, options, artifact)))
        return signalPassFailure();
      if (tp::runtime::Status status = artifact.write(output); !status.ok()) {
        module.emitError(status.message());
        signalPassFailure();
      }
      return;
    }
    OwningOpRef<ModuleOp> kernels =
        ModuleOp::create(UnknownLoc::get(&getContext()));
    auto planned = planWithKernels(module, *kernels);
    if (failed(planned))
      return signalPassFailure();
    if (show == "manifest") {
      std::vector<ManifestSource> programs = (*planned)->manifestSources();
      programs.front().target = tp::runtime::CpuTarget();
      auto manifest = makeManifest(programs);
      if (failed(manifest))
        return signalPassFailure();
      llvm::outs() << tp::runtime::writeManifest(manifest->manifest);
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
