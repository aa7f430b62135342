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
#include <chrono>

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

void tp::registerCPUTargetDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
              scf::SCFDialect, tensor::TensorDialect, tp::TPDialect>();
}

FailureOr<std::vector<KernelCall>>
tp::cpu::emitKernels(StoragePlan &plan, const Schedule &schedule,
                     const MemoryPlan &memory, AssertTable &asserts,
                     ModuleOp kernels, int64_t &scratchBytes) {
  CPUKernelEmitter emitter(plan, schedule, asserts, kernels);
  std::vector<KernelCall> calls;
  for (const Command &command : schedule.commands) {
    KernelCall call;
    if (command.fusedKernel) {
      llvm::DenseMap<Value, unsigned> parameter;
      call.buffers = kernelBuffers(plan, memory, command, parameter);
      call.function =
          emitter.emit(*command.fusedKernel, call.buffers, parameter);
    }
    calls.push_back(std::move(call));
  }
  scratchBytes = emitter.scratchBytes();
  return calls;
}

FailureOr<tp::ProgramStatistics> tp::planMemoryForCPU(ModuleOp module) {
  FailureOr<std::unique_ptr<CodegenPlan>> planned =
      planCodegen(module, tp::cpu::traits);
  if (failed(planned))
    return failure();
  ProgramStatistics statistics;
  recordMemory(**planned, statistics);
  // How much scratch kernels take is known when they are written.
  CodegenPlan &program = **planned;
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  if (failed(emitKernels(*program.plan, program.schedule, program.memory,
                         program.asserts, *kernels, statistics.scratchBytes)))
    return failure();
  return statistics;
}

FailureOr<tp::CompiledManifest>
tp::compileForCPU(ModuleOp module, const CPUOptions &options,
                  runtime::ArtifactWriter &artifact,
                  ProgramStatistics *statistics) {
  ProgramStatistics ownStatistics;
  if (!statistics)
    statistics = &ownStatistics;
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto seconds = [](auto from, auto to) {
    return std::chrono::duration<double>(to - from).count();
  };
  auto start = now();
  FailureOr<std::unique_ptr<CodegenPlan>> made =
      planCodegen(module, tp::cpu::traits);
  if (failed(made))
    return failure();
  recordMemory(**made, *statistics);
  ManifestSource &program = (*made)->program;
  StoragePlan &plan = *(*made)->plan;
  MemoryPlan &memory = (*made)->memory;
  auto planned = now();

  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  auto calls = emitKernels(plan, (*made)->schedule, memory, (*made)->asserts,
                           *kernels, program.scratchBytes);
  if (failed(calls))
    return failure();
  program.kernels = std::move(*calls);
  if (failed(lowerKernels(*kernels)))
    return LogicalResult(module.emitError("lowering the kernels failed"));
  auto emitted = now();

  std::string code;
  runtime::CpuTarget target;
  if (failed(compileKernels(*kernels, options.targetCPU, options.linker, code,
                            target)))
    return failure();
  program.target = std::move(target);
  statistics->numKernels =
      llvm::range_size(kernels->getOps<LLVM::LLVMFuncOp>()) / 2;
  auto manifest = makeManifest(program, *statistics);
  if (failed(manifest))
    return failure();

  artifact.addSection("manifest", runtime::writeManifest(manifest->manifest));
  artifact.addSection("code", std::move(code));
  artifact.addSection("constants", constantBytes(plan, memory));
  statistics->planSeconds = seconds(start, planned);
  statistics->emitSeconds = seconds(planned, emitted);
  statistics->codeSeconds = seconds(emitted, now());
  return manifest;
}
