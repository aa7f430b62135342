//===- CodegenPlan.cpp - a rank's program, planned ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "Attention/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tp/Runtime/Kernel.h"

using namespace mlir;
using namespace tp::target;

ManifestSource CodegenPlan::manifestSource() const {
  ManifestSource source;
  source.function = program;
  source.mesh = mesh;
  source.memory = memory;
  source.asserts = &asserts;
  source.writtenBytes = writtenBytes;
  source.scratchBytes = scratchBytes;
  return source;
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
  std::map<std::pair<Operation *, std::vector<unsigned>>, tp::LaunchOp> known;
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
    auto [it, isNew] =
        known.insert({{planned.kernels.firstEqual(kernel),
                       std::vector<unsigned>(parameters.ofBuffer.begin(),
                                             parameters.ofBuffer.end())},
                      launch});
    if (!isNew) {
      launch->setAttrs(it->second->getAttrDictionary());
      continue;
    }
    FailureOr<std::string> function = emit(*plan, parameters, launch);
    if (failed(function))
      return failure();
    launch.setFunction(*function);
  }
  // Plans are in the values of the first equal kernel.
  for (tp::KernelOp kernel : kernels)
    kernel.erase();
  return success();
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

FailureOr<PassInput> tp::target::passInput(ModuleOp module, StringRef target,
                                           StringRef pass) {
  std::optional<TargetTraits> traits = traitsOf(target);
  if (!traits)
    return module.emitError(pass)
           << ": expected the target 'cpu' or 'cuda', got '" << target << "'";
  FailureOr<func::FuncOp> function = entryOf(module, *traits);
  if (failed(function))
    return failure();
  return PassInput{*function, *traits};
}

FailureOr<PassInput> tp::target::passInputOnTensors(ModuleOp module,
                                                    StringRef target,
                                                    StringRef pass) {
  FailureOr<PassInput> input = passInput(module, target, pass);
  if (succeeded(input) && isProgram(input->function))
    return input->function.emitError("expected a function on tensors, got one "
                                     "on memory");
  return input;
}

FailureOr<std::unique_ptr<CodegenPlan>>
tp::target::planCodegen(ModuleOp module, const TargetTraits &traits) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                    scf::SCFDialect, tensor::TensorDialect,
                    linalg::LinalgDialect, bufferization::BufferizationDialect,
                    memref::MemRefDialect>();
  auto planned = std::make_unique<CodegenPlan>(traits);
  FailureOr<func::FuncOp> function = entryOf(module, traits);
  FailureOr<tp::Mesh> mesh = meshOfModule(module, traits);
  if (failed(function) || failed(mesh))
    return failure();
  constexpr int64_t mostRanks = 4096;
  if (mesh->numRanks() > mostRanks)
    return module.emitError(traits.name)
           << " runs at most " << mostRanks << " ranks, the mesh has "
           << mesh->numRanks();
  planned->mesh = *mesh;
  FailureOr<func::FuncOp> program = *function;
  if (!isProgram(*function)) {
    formAttentions(*function, traits);
    program = formProgram(*function, traits);
    // The plans of kernels hold until kernels are changed.
    KernelPlans kernels(traits);
    if (failed(program) || failed(updateInPlace(*program, kernels, traits)))
      return failure();
    writeParts(*program, traits);
  } else if (failed(verifyProgram(*function, traits))) {
    return failure();
  }
  planned->program = *program;
  FailureOr<MemorySizes> memory =
      planMemory(*program, planned->kernels, traits);
  if (failed(memory))
    return failure();
  planned->memory = *memory;
  program->walk([&](tp::ComputeOp compute) {
    if (compute.getStarts().empty())
      return;
    auto kernel = cast<tp::KernelOp>(compute->getParentOp());
    auto buffer = cast<BlockArgument>(compute.getBuffers().front());
    auto type = cast<MemRefType>(buffer.getType());
    planned->writtenBytes[kernel->getOperand(buffer.getArgNumber())] =
        compute.getWrittenElements() * elementBytes(type.getElementType());
  });
  return std::move(planned);
}
