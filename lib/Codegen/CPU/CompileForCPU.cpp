//===- CompileForCPU.cpp - per-rank program to CPU artifact ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Codegen/CPU/CompileForCPU.h"
#include "CPUKernelEmitter.h"
#include "CPUStages.h"
#include "ObjectCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

void tp::registerCPUTargetDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
              scf::SCFDialect, tensor::TensorDialect, tp::TPDialect>();
}

FailureOr<std::unique_ptr<CodegenPlan>>
tp::cpu::planWithKernels(ModuleOp module, ModuleOp kernels) {
  auto made = planCodegen(module, tp::cpu::traits);
  if (failed(made))
    return failure();
  CodegenPlan &planned = **made;
  CPUKernelEmitter emitter(*planned.plan, planned.schedule, planned.asserts,
                           kernels);
  for (const Command &command : planned.schedule.commands) {
    KernelCall call;
    if (command.fusedKernel) {
      llvm::DenseMap<Value, unsigned> parameter;
      call.buffers =
          kernelBuffers(*planned.plan, planned.memory, command, parameter);
      call.function =
          emitter.emit(*command.fusedKernel, call.buffers, parameter);
    }
    planned.program.kernels.push_back(std::move(call));
  }
  planned.program.scratchBytes = emitter.scratchBytes();
  return made;
}

FailureOr<tp::ProgramStatistics> tp::planMemoryForCPU(ModuleOp module) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  auto planned = planWithKernels(module, *kernels);
  if (failed(planned))
    return failure();
  ProgramStatistics statistics;
  recordMemory(**planned, statistics);
  return statistics;
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
  ManifestSource &program = (*planned)->program;
  program.target = std::move(target);
  ProgramStatistics statistics;
  recordMemory(**planned, statistics);
  auto manifest = makeManifest(program, statistics);
  if (failed(manifest))
    return failure();

  artifact.addSection("manifest", runtime::writeManifest(manifest->manifest));
  artifact.addSection("code", std::move(code));
  artifact.addSection("constants",
                      constantBytes(*(*planned)->plan, (*planned)->memory));
  return manifest;
}
