//===- CompileForCPU.cpp - per-rank program to CPU artifact ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Target/CPU/CompileForCPU.h"
#include "CPUPasses.h"
#include "KernelEmitter.h"
#include "Manifest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "tp/Runtime/ArtifactFile.h"
#include "tp/Runtime/Kernel.h"
#include <chrono>

using namespace mlir;
using namespace tp::cpu;

void tp::registerCPUTargetDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
              scf::SCFDialect, tensor::TensorDialect, tp::TPDialect>();
}

/// The bytes of all dense constants, each where the memory plan put it.
static std::string constantBytes(StoragePlan &plan, const MemoryPlan &memory) {
  std::string bytes(memory.constantsBytes, '\0');
  for (auto &[value, storage] : plan.all()) {
    if (storage.space != Space::Constant || storage.offset < 0)
      continue;
    auto elements = cast<DenseElementsAttr>(
        cast<arith::ConstantOp>(value.getDefiningOp()).getValue());
    char *at = bytes.data() + storage.offset;
    if (storage.elementType.isInteger(1)) {
      for (bool element : elements.getValues<bool>())
        *at++ = element;
    } else if (elements.isSplat()) {
      ArrayRef<char> raw = elements.getRawData();
      for (int64_t i = 0; i < storage.elements; ++i, at += raw.size())
        std::copy(raw.begin(), raw.end(), at);
    } else {
      ArrayRef<char> raw = elements.getRawData();
      std::copy(raw.begin(), raw.end(), at);
    }
  }
  return bytes;
}

/// The parameters of a kernel: each memory block once, a value that overwrites
/// an operand under the operand's pointer.
static SmallVector<Value>
kernelBuffers(const StoragePlan &plan, const MemoryPlan &memory,
              const Command &command,
              llvm::DenseMap<Value, unsigned> &parameter) {
  SmallVector<Value> buffers;
  llvm::DenseMap<Value, unsigned> byOwner;
  for (ArrayRef<Value> values :
       {ArrayRef<Value>(command.reads), ArrayRef<Value>(command.writes)})
    for (Value value : values) {
      if (plan.storage(value).space == Space::Scratch)
        continue;
      auto [it, inserted] =
          byOwner.insert({memory.owner(value), buffers.size()});
      if (inserted)
        buffers.push_back(value);
      parameter[value] = it->second;
    }
  return buffers;
}

FailureOr<func::FuncOp> tp::cpu::entryOf(ModuleOp module) {
  func::FuncOp entry;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return op.emitError("'")
             << op.getName() << "' is not handled by the CPU target";
    if (function.isPrivate())
      return function.emitError("expected one public function, got a private "
                                "one: calls are to be inlined before");
    if (entry) {
      InFlightDiagnostic error =
          function.emitError("expected one public function, got a second");
      error.attachNote(entry.getLoc()) << "the first is here";
      return error;
    }
    entry = function;
  }
  if (!entry || entry.isExternal())
    return module.emitError("expected one public function with a body");
  return entry;
}

FailureOr<tp::Mesh> tp::cpu::meshOfModule(ModuleOp module) {
  tp::Mesh mesh;
  mesh.axes.push_back({"tp", 1});
  if (Attribute attribute = module->getAttr(tp::attr::mesh)) {
    auto meshAttr = dyn_cast<tp::MeshAttr>(attribute);
    if (!meshAttr)
      return module.emitError("expected '")
             << tp::attr::mesh << "' to be a #tp.mesh";
    mesh = meshAttr.getValue();
  }
  if (mesh.axes.size() > TP_MAX_MESH_AXES)
    return module.emitError("the CPU target handles at most ")
           << TP_MAX_MESH_AXES << " mesh axes, got " << mesh.axes.size();
  WalkResult walk = module.walk([&](tp::AxisIndexOp op) {
    if (op.getAxes().getMesh().getValue() == mesh)
      return WalkResult::advance();
    op.emitError("expected axes of the mesh of the module");
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();
  return mesh;
}

FailureOr<std::vector<KernelCall>>
tp::cpu::emitKernels(StoragePlan &plan, const Schedule &schedule,
                     const MemoryPlan &memory, AssertTable &asserts,
                     ModuleOp kernels, int64_t &scratchBytes) {
  KernelEmitter emitter(plan, schedule, asserts, kernels);
  std::vector<KernelCall> calls;
  for (const Command &command : schedule.commands) {
    KernelCall call;
    if (command.group) {
      llvm::DenseMap<Value, unsigned> parameter;
      call.buffers = kernelBuffers(plan, memory, command, parameter);
      call.function = emitter.emit(*command.group, call.buffers, parameter);
    }
    calls.push_back(std::move(call));
  }
  scratchBytes = emitter.scratchBytes();
  return calls;
}

namespace {
/// A program with its storage, schedule and memory.
struct PlannedProgram {
  CompiledProgram program;
  std::unique_ptr<StoragePlan> plan;
  Schedule schedule;
  MemoryPlan memory;
};
} // namespace

static FailureOr<PlannedProgram> planProgram(ModuleOp module) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                    scf::SCFDialect, tensor::TensorDialect,
                    linalg::LinalgDialect>();
  PlannedProgram planned;
  FailureOr<func::FuncOp> function = entryOf(module);
  FailureOr<tp::Mesh> mesh = meshOfModule(module);
  if (failed(function) || failed(mesh))
    return failure();
  constexpr int64_t mostRanks = 4096;
  if (mesh->numRanks() > mostRanks)
    return module.emitError("the CPU target runs at most ")
           << mostRanks << " ranks, the mesh has " << mesh->numRanks();
  planned.program.function = *function;
  planned.program.mesh = *mesh;
  cleanUp(*function);
  planned.plan = std::make_unique<StoragePlan>(*function);
  if (failed(planned.plan->build()))
    return failure();
  FailureOr<Schedule> schedule = makeSchedule(*planned.plan, *function);
  if (failed(schedule))
    return failure();
  planned.schedule = std::move(*schedule);
  planned.memory = planMemory(*planned.plan, planned.schedule);
  return std::move(planned);
}

static void noteMemory(PlannedProgram &planned, tp::CPUStatistics &statistics) {
  func::FuncOp function = planned.program.function;
  llvm::DenseSet<Value> read;
  for (const Command &command : planned.schedule.commands) {
    read.insert_range(command.reads);
    if (command.collective)
      statistics.ringBytes += ringBytesOf(command.collective);
  }
  for (BlockArgument argument : function.getArguments())
    if (read.contains(argument))
      statistics.argumentsBytes += planned.plan->storage(argument).bytes();
  for (Type type : function.getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    statistics.resultsBytes +=
        tensor.getNumElements() * elementBytes(tensor.getElementType());
  }
  statistics.arenaBytes = planned.memory.arenaBytes;
  statistics.peakLiveBytes = planned.memory.peakLiveBytes;
  statistics.constantsBytes = planned.memory.constantsBytes;
}

FailureOr<tp::CPUStatistics> tp::planMemoryForCPU(ModuleOp module) {
  FailureOr<PlannedProgram> planned = planProgram(module);
  if (failed(planned))
    return failure();
  CPUStatistics statistics;
  noteMemory(*planned, statistics);
  // How much scratch kernels take is known when they are written.
  AssertTable asserts;
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  if (failed(emitKernels(*planned->plan, planned->schedule, planned->memory,
                         asserts, *kernels, statistics.scratchBytes)))
    return failure();
  return statistics;
}

LogicalResult tp::compileForCPU(ModuleOp module, const CPUOptions &options,
                                const std::string &outputPath,
                                CPUStatistics *statistics) {
  CPUStatistics ownStatistics;
  if (!statistics)
    statistics = &ownStatistics;
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto seconds = [](auto from, auto to) {
    return std::chrono::duration<double>(to - from).count();
  };
  auto start = now();
  FailureOr<PlannedProgram> made = planProgram(module);
  if (failed(made))
    return failure();
  noteMemory(*made, *statistics);
  CompiledProgram &program = made->program;
  StoragePlan &plan = *made->plan;
  Schedule &schedule = made->schedule;
  MemoryPlan &memory = made->memory;
  auto planned = now();

  AssertTable asserts;
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  auto calls = emitKernels(plan, schedule, memory, asserts, *kernels,
                           program.scratchBytes);
  if (failed(calls))
    return failure();
  program.kernels = std::move(*calls);
  program.plan = &plan;
  program.schedule = &schedule;
  program.memory = &memory;
  program.asserts = &asserts;
  if (failed(lowerKernels(*kernels)))
    return module.emitError("lowering the kernels failed");
  auto emitted = now();

  std::string code;
  if (failed(compileKernels(*kernels, options.targetCPU, options.linker, code,
                            program.target)))
    return failure();
  statistics->numKernels =
      llvm::range_size(kernels->getOps<LLVM::LLVMFuncOp>()) / 2;
  auto manifest = makeManifest(program, *statistics);
  if (failed(manifest))
    return failure();

  tp::runtime::ArtifactWriter writer;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::formatv("{0:2}", llvm::json::Value(std::move(*manifest)));
  writer.addSection("manifest", std::move(text));
  writer.addSection("code", std::move(code));
  writer.addSection("constants", constantBytes(plan, memory));
  if (tp::runtime::Status status = writer.write(outputPath); !status.ok())
    return module.emitError(status.message());
  statistics->planSeconds = seconds(start, planned);
  statistics->emitSeconds = seconds(planned, emitted);
  statistics->codeSeconds = seconds(emitted, now());
  return success();
}
