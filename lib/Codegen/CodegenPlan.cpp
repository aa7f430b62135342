//===- CodegenPlan.cpp - a rank's program, planned ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "Attention/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tp/Runtime/Kernel.h"

using namespace mlir;
using namespace tp::target;

std::string tp::target::constantBytes(StoragePlan &plan,
                                      const MemoryPlan &memory) {
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

SmallVector<Value>
tp::target::kernelBuffers(const StoragePlan &plan, const MemoryPlan &memory,
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

FailureOr<func::FuncOp> tp::target::entryOf(ModuleOp module,
                                            const TargetTraits &traits) {
  func::FuncOp entry;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return op.emitError("'")
             << op.getName() << "' is not handled by " << traits.name;
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

FailureOr<tp::Mesh> tp::target::meshOfModule(ModuleOp module,
                                             const TargetTraits &traits) {
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
    return module.emitError(traits.name)
           << " handles at most " << TP_MAX_MESH_AXES << " mesh axes, got "
           << mesh.axes.size();
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

FailureOr<std::unique_ptr<CodegenPlan>>
tp::target::planCodegen(ModuleOp module, const TargetTraits &traits) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                    scf::SCFDialect, tensor::TensorDialect,
                    linalg::LinalgDialect>();
  auto planned = std::make_unique<CodegenPlan>();
  FailureOr<func::FuncOp> function = entryOf(module, traits);
  FailureOr<tp::Mesh> mesh = meshOfModule(module, traits);
  if (failed(function) || failed(mesh))
    return failure();
  constexpr int64_t mostRanks = 4096;
  if (mesh->numRanks() > mostRanks)
    return module.emitError(traits.name)
           << " runs at most " << mostRanks << " ranks, the mesh has "
           << mesh->numRanks();
  planned->program.traits = traits;
  planned->program.function = *function;
  planned->program.mesh = *mesh;
  cleanUp(*function, traits);
  if (traits.scoreBytes && formAttentions(*function, traits.scoreBytes))
    cleanUp(*function, traits);
  planned->plan = std::make_unique<StoragePlan>(*function, traits);
  if (failed(planned->plan->build()))
    return failure();
  FailureOr<Schedule> schedule = makeSchedule(*planned->plan, *function);
  if (failed(schedule))
    return failure();
  planned->schedule = std::move(*schedule);
  gatherAttentions(*planned->plan, planned->schedule, *function);
  planned->memory =
      planMemory(*planned->plan, planned->schedule, traits.alignment);
  planned->link();
  return std::move(planned);
}

void tp::target::recordMemory(CodegenPlan &planned,
                              tp::ProgramStatistics &statistics) {
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
  statistics.scratchBytes = planned.program.scratchBytes;
}
