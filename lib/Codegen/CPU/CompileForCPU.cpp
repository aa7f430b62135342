//===- CompileForCPU.cpp - per-rank program to CPU artifact ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Codegen/CPU/CompileForCPU.h"
#include "CPUKernelEmitter.h"
#include "CPUStages.h"
#include "EmitCalls.h"
#include "ObjectCode.h"
#include "Program/ThreadMapping.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

void tp::registerCPUTargetDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
              scf::SCFDialect, tensor::TensorDialect, tp::TPDialect,
              bufferization::BufferizationDialect, memref::MemRefDialect>();
}

FailureOr<std::unique_ptr<CodegenPlans>>
tp::cpu::planWithKernels(ModuleOp module, ModuleOp kernels) {
  auto made = planCodegen(module, cpuTraits);
  if (failed(made))
    return failure();
  CPUKernelEmitter emitter((*made)->asserts, kernels);
  auto emit = [&](const KernelPlan &plan, const KernelParameters &parameters,
                  tp::LaunchOp launch) -> FailureOr<std::string> {
    if (threadMapping(launch)) {
      launch.emitOpError("'") << tp::attr::mapping << "' is not handled by "
                              << cpuTraits.name << ", whose kernels run on "
                              << "one thread";
      return failure();
    }
    return emitter.emit(plan, parameters);
  };
  CallKernels calls{(*made)->asserts, kernels};
  for (auto &planned : (*made)->entries) {
    if (failed(emitLaunches(*planned, emit)) ||
        failed(emitCalls(*planned, calls)))
      return failure();
    // Of this entry or of an earlier one: they have one scratch memory.
    planned->scratchBytes = emitter.scratchBytes();
  }
  return made;
}

FailureOr<tp::ProgramStatistics> tp::planMemoryForCPU(ModuleOp module) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  auto planned = planWithKernels(module, *kernels);
  if (failed(planned))
    return failure();
  return statisticsOf((*planned)->manifestSources());
}

FailureOr<tp::CompiledManifest>
tp::compileForCPU(ModuleOp module, const CPUOptions &options,
                  runtime::ArtifactWriter &artifact) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  auto planned = planWithKernels(module, *kernels);
  if (failed(planned))
    return failure();
  if (failed(lowerKernels(*kernels)))
    return LogicalResult(module.emitError("lowering the kernels failed"));

  std::string code;
  runtime::CpuTarget target;
  if (failed(compileKernels(*kernels, options.targetCPU, options.linker, code,
                            target)))
    return failure();
  std::vector<ManifestSource> programs = (*planned)->manifestSources();
  programs.front().target = std::move(target);
  auto manifest = makeManifest(programs);
  if (failed(manifest))
    return failure();

  artifact.addSection("manifest", runtime::writeManifest(manifest->manifest));
  artifact.addSection("code", std::move(code));
  artifact.addSection("constants", constantBytes(programs));
  return manifest;
}
