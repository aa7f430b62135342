//===- CodegenPlan.cpp - a rank's program, planned ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "Program/CommandUses.h"
#include "Program/ThreadMapping.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tp/Codegen/BackEndStages.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/Runtime/Kernel.h"

using namespace mlir;
using namespace tp::target;

ManifestSource CodegenPlan::manifestSource() const {
  ManifestSource source;
  source.function = program;
  source.mesh = mesh;
  source.memory = memory;
  source.constantsAt = constantsAt;
  source.asserts = &asserts;
  source.writtenBytes = writtenBytes;
  source.scratchBytes = scratchBytes;
  return source;
}

std::vector<ManifestSource> CodegenPlans::manifestSources() const {
  std::vector<ManifestSource> sources;
  for (const auto &entry : entries)
    sources.push_back(entry->manifestSource());
  return sources;
}

KernelParameters tp::target::parametersOf(tp::KernelOp kernel,
                                          const KernelPlan &plan,
                                          const Buffers &buffers) {
  KernelParameters parameters;
  // A value that takes over another's memory comes under its pointer.
  std::map<BufferPlace, unsigned> known;
  for (auto [i, buffer] : llvm::enumerate(kernel.getOperands())) {
    auto [it, isNew] = known.insert(
        {buffers.placeOf(buffer), unsigned(parameters.buffers.size())});
    if (isNew) {
      parameters.buffers.push_back(rootBuffer(buffer));
      parameters.read.push_back(false);
      parameters.written.push_back(false);
    }
    parameters.ofBuffer.push_back(it->second);
    bool writes = i >= kernel.getReads().size();
    (writes ? parameters.written : parameters.read)[it->second] = true;
  }
  for (auto [value, argument] : plan.buffers)
    parameters.of[value] = parameters.ofBuffer[argument.getArgNumber()];
  // What a compute loop has written, another may read.
  for (const auto &computeLoop : plan.computeLoops)
    for (const Read &read : computeLoop->reads.reads)
      if (auto it = parameters.of.find(read.root); it != parameters.of.end())
        parameters.read[it->second] = true;
  return parameters;
}

LogicalResult tp::target::emitLaunches(CodegenPlan &planned, EmitKernel emit) {
  Buffers buffers(planned.program);
  // Kernels are emitted once for each mapping to threads.
  using Emitted = std::tuple<Operation *, std::vector<unsigned>, const void *>;
  std::map<Emitted, tp::LaunchOp> known;
  SmallVector<tp::KernelOp> kernels;
  for (Operation *command : commandsOf(planned.program))
    if (auto kernel = dyn_cast<tp::KernelOp>(command))
      kernels.push_back(kernel);
  for (tp::KernelOp kernel : kernels) {
    const KernelPlan *plan = planned.kernels.of(kernel);
    if (!plan)
      return failure();
    KernelParameters parameters = parametersOf(kernel, *plan, buffers);
    OpBuilder builder(kernel);
    auto launch = tp::LaunchOp::create(
        builder, kernel.getLoc(), "", parameters.buffers, parameters.read,
        parameters.written, /*grid=*/DenseI64ArrayAttr(),
        /*block=*/DenseI64ArrayAttr());
    Attribute mapping = threadMapping(kernel);
    DictionaryAttr marks = kernel->getDiscardableAttrDictionary();
    launch->setDiscardableAttrs(marks);
    auto [it, isNew] =
        known.insert({{planned.kernels.firstEqual(kernel),
                       std::vector<unsigned>(parameters.ofBuffer.begin(),
                                             parameters.ofBuffer.end()),
                       mapping.getAsOpaquePointer()},
                      launch});
    if (!isNew) {
      launch->setAttrs(it->second->getAttrDictionary());
      launch->setDiscardableAttrs(marks);
      continue;
    }
    FailureOr<std::string> function = emit(*plan, parameters, launch);
    if (failed(function))
      return failure();
    launch.setFunction(*function);
    launch.setChecks(hasCheck(kernel));
  }
  // Plans are in the values of the first equal kernel.
  for (tp::KernelOp kernel : kernels)
    kernel.erase();
  return success();
}

FailureOr<SmallVector<func::FuncOp>>
tp::target::entriesOf(ModuleOp module, const TargetTraits &traits) {
  SmallVector<func::FuncOp> entries;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return op.emitError("'")
             << op.getName() << "' is not handled by " << traits.name;
    if (function.isPrivate())
      return function.emitError("expected public functions, got a private "
                                "one: calls are to be inlined before");
    if (function.isExternal())
      return function.emitError("expected a function with a body");
    entries.push_back(function);
  }
  if (entries.empty())
    return module.emitError("expected a public function with a body");
  bool arePrograms = isProgram(entries.front());
  for (func::FuncOp entry : entries)
    if (isProgram(entry) != arePrograms)
      return entry.emitError("expected all functions on ")
             << (arePrograms ? "memory, got one on tensors"
                             : "tensors, got one on memory");
  return entries;
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

/// The functions of a module and the traits of a target.
static FailureOr<PassInput> passInput(ModuleOp module, StringRef target,
                                      StringRef pass) {
  std::optional<TargetTraits> traits = traitsOf(target);
  if (!traits)
    return module.emitError(pass)
           << ": expected the target 'cpu' or 'cuda', got '" << target << "'";
  FailureOr<SmallVector<func::FuncOp>> functions = entriesOf(module, *traits);
  if (failed(functions))
    return failure();
  return PassInput{std::move(*functions), *traits};
}

FailureOr<PassInput> tp::target::passInputOnTensors(ModuleOp module,
                                                    StringRef target,
                                                    StringRef pass) {
  FailureOr<PassInput> input = passInput(module, target, pass);
  if (succeeded(input) && isProgram(input->functions.front()))
    return input->functions.front().emitError(
        "expected a function on tensors, got one on memory");
  return input;
}

LogicalResult tp::target::changePrograms(
    ModuleOp module, StringRef target, StringRef pass,
    function_ref<LogicalResult(func::FuncOp, const TargetTraits &)> change) {
  FailureOr<PassInput> input = passInput(module, target, pass);
  if (failed(input))
    return failure();
  for (func::FuncOp program : input->functions)
    if (failed(verifyProgram(program, input->traits)) ||
        failed(change(program, input->traits)))
      return failure();
  return success();
}

/// How many elements of its first buffer a compute loop writes at most, if it
/// is a part of the buffer: of a scatter into the memory that it starts from,
/// those of the updates.
static std::optional<int64_t> writtenPart(tp::ComputeOp compute,
                                          tp::KernelOp kernel) {
  if (!compute.getStarts().empty())
    return compute.getWrittenElements();
  if (compute.getPlaces().empty())
    return std::nullopt;
  auto bufferOf = [&](Value argument) {
    return kernel->getOperand(cast<BlockArgument>(argument).getArgNumber());
  };
  Value value = compute.getValues().front();
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  // Programs by hand are checked when their kernels are planned.
  if (!op || compute.getBuffers().empty())
    return std::nullopt;
  unsigned number = cast<OpResult>(value).getResultNumber();
  auto start = rootOf(op.getDpsInitOperand(number)->get())
                   .getDefiningOp<bufferization::ToTensorOp>();
  auto alloc =
      bufferOf(compute.getBuffers().front()).getDefiningOp<tp::AllocOp>();
  if (!start || !alloc || !alloc.getMemory() ||
      bufferOf(start.getBuffer()) != alloc.getMemory())
    return std::nullopt;
  int64_t elements = 1;
  for (auto [loop, extent] : llvm::enumerate(op.getStaticLoopRanges()))
    if (!llvm::is_contained(compute.getScattered(), int64_t(loop)))
      elements *= extent;
  return std::min(elements, numElements(value));
}

/// The memory of an entry, whose kernels are planned already where it was
/// formed just now.
static LogicalResult planMemoryOf(CodegenPlan &planned) {
  FailureOr<MemorySizes> memory =
      planMemory(planned.program, planned.kernels, planned.traits);
  if (failed(memory))
    return failure();
  planned.memory = *memory;
  planned.program->walk([&](tp::ComputeOp compute) {
    auto kernel = cast<tp::KernelOp>(compute->getParentOp());
    std::optional<int64_t> elements = writtenPart(compute, kernel);
    if (!elements)
      return;
    auto buffer = cast<BlockArgument>(compute.getBuffers().front());
    auto type = cast<MemRefType>(buffer.getType());
    planned.writtenBytes[kernel->getOperand(buffer.getArgNumber())] =
        *elements * elementBytes(type.getElementType());
  });
  return success();
}

FailureOr<std::unique_ptr<CodegenPlans>>
tp::target::planCodegen(ModuleOp module, const TargetTraits &traits) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                    scf::SCFDialect, tensor::TensorDialect,
                    linalg::LinalgDialect, bufferization::BufferizationDialect,
                    memref::MemRefDialect>();
  FailureOr<SmallVector<func::FuncOp>> programs = entriesOf(module, traits);
  FailureOr<tp::Mesh> mesh = meshOfModule(module, traits);
  if (failed(programs) || failed(mesh))
    return failure();
  constexpr int64_t mostRanks = 4096;
  if (mesh->numRanks() > mostRanks)
    return module.emitError(traits.name)
           << " runs at most " << mostRanks << " ranks, the mesh has "
           << mesh->numRanks();
  bool onTensorsDone = bool(module->removeAttr(tp::attr::onTensorsDone));
  if (!isProgram(programs->front()))
    for (const BackEndStage &stage : backEndStages(traits))
      if (!(onTensorsDone && stage.isOnTensors) &&
          failed(stage.run(*programs, traits)))
        return failure();
  auto planned = std::make_unique<CodegenPlans>();
  int64_t constants = 0;
  for (func::FuncOp program : *programs) {
    auto entry = std::make_unique<CodegenPlan>(traits, planned->asserts);
    entry->mesh = *mesh;
    entry->program = program;
    // Of a program that the stages have formed, too: what they do wrong
    // is an error here, not a wrong number.
    if (failed(verifyProgram(program, traits)) || failed(planMemoryOf(*entry)))
      return failure();
    entry->constantsAt = constants;
    constants = llvm::alignTo(constants + entry->memory.constants, 64);
    planned->entries.push_back(std::move(entry));
  }
  return std::move(planned);
}
