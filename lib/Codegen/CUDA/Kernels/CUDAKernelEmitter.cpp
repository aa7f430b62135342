//===- CUDAKernelEmitter.cpp - kernels as GPU functions -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is first emitted as if every value of a row stayed in registers.
// What turns out to be unknown where it is read gets memory, and the kernel is
// emitted again.
//
//===----------------------------------------------------------------------===//

#include "CUDAKernelEmitter.h"
#include "Emit/EmitComputeLoops.h"
#include "KernelBody.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// Bytes that the kernel moves at least: what it reads of each value, which at
/// indices that depend on data is at most an element per step, and what it
/// writes.
static int64_t bytesOf(const StoredValues &plan,
                       const FusedKernel &fusedKernel) {
  llvm::MapVector<Value, int64_t> read;
  int64_t written = 0;
  llvm::DenseSet<Value> own;
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops)
    for (Value target : computeLoop->targets) {
      own.insert(target);
      if (plan.isStored(target) && plan.storage(target).space != Space::Scratch)
        written += plan.storage(target).bytes();
    }
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops)
    for (const Read &access : computeLoop->reads.reads) {
      if (own.contains(access.root))
        continue;
      const Storage &storage = plan.storage(access.root);
      int64_t most = storage.bytes();
      int64_t steps = 1;
      for (auto [dim, extent] : llvm::enumerate(computeLoop->extents))
        if (access.dataDependent || access.isInit ||
            llvm::any_of(access.index, [&](AffineExpr expr) {
              return expr.isFunctionOfDim(dim);
            }))
          steps *= extent;
      int64_t &bytes = read[access.root];
      bytes = std::min(most, bytes + steps * elementBytes(storage.elementType));
    }
  for (auto [value, bytes] : read)
    written += bytes;
  return written;
}

static LLVM::GlobalOp sharedMemory(ModuleOp module) {
  if (auto known = module.lookupSymbol<LLVM::GlobalOp>(sharedSymbol))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  return LLVM::GlobalOp::create(
      builder, UnknownLoc::get(module.getContext()), type,
      /*isConstant=*/false, LLVM::Linkage::External, sharedSymbol, Attribute(),
      /*alignment=*/16, /*addrSpace=*/3);
}

FailureOr<EmittedKernel>
CUDAKernelEmitter::emit(const KernelPlan &planned,
                        const KernelParameters &parameters,
                        const KernelMapping &mapping) {
  const StoredValues &plan = planned.values;
  const FusedKernel &fusedKernel = *planned.fusedKernel;
  unsigned numBuffers = parameters.buffers.size();
  MLIRContext *context = module.getContext();
  OpBuilder builder(context);
  Location loc = UnknownLoc::get(context);
  auto pointer = LLVM::LLVMPointerType::get(context);

  llvm::SetVector<Value> needMemory;
  LLVM::GlobalOp shared = sharedMemory(module);
  LLVM::LLVMFuncOp function;
  EmittedKernel kernel;
  llvm::DenseSet<Value> written;
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops)
    written.insert_range(computeLoop->targets);
  SmallVector<bool> writes(numBuffers, false);
  SmallVector<unsigned> sharers(numBuffers, 0);
  for (auto [value, index] : parameters.of) {
    writes[index] = writes[index] || written.contains(value);
    ++sharers[index];
  }

  while (true) {
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> types(numBuffers + 1, pointer);
    function = LLVM::LLVMFuncOp::create(
        builder, loc, "kernel",
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
    constexpr int64_t bufferAlignment = 256;
    for (unsigned i = 0; i < numBuffers; ++i) {
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          builder.getUnitAttr());
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(bufferAlignment));
      if (!writes[i])
        function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                            builder.getUnitAttr());
    }
    Block *entry = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    KernelBody body(plan, asserts, fusedKernel, mapping, builder, loc);
    PacketEmitter &elements = body.elements();
    for (auto [value, index] : parameters.of)
      elements.places[value] = {entry->getArgument(index),
                                plan.storage(value).address};
    elements.context = entry->getArguments().back();
    body.overwrites =
        llvm::any_of(sharers, [](unsigned count) { return count > 1; });
    for (ComputeLoop *computeLoop : fusedKernel.computeLoops)
      for (auto [i, target] : llvm::enumerate(computeLoop->targets)) {
        if (!needMemory.contains(target))
          continue;
        RowMemory row;
        row.value = target;
        int64_t count;
        row.address = rowAddress(*computeLoop, i, count);
        row.bytes = count * elementBytes(plan.storage(target).elementType);
        body.rowMemory.push_back(row);
      }
    auto end = LLVM::ReturnOp::create(builder, loc, ValueRange());
    builder.setInsertionPoint(end);
    Value sharedAddress = LLVM::AddressOfOp::create(builder, loc, shared);
    Value marker = elements.constant(0);
    elements.entryEnd = marker.getDefiningOp();
    body.emit(sharedAddress);
    bool more = false;
    for (Value value : elements.missing)
      more |= needMemory.insert(value);
    if (more) {
      function.erase();
      continue;
    }
    if (!elements.missing.empty()) {
      Operation *op = fusedKernel.computeLoops.front()->op;
      op->emitError("the CUDA target has no place for a value that this "
                    "kernel reads again");
      return failure();
    }
    kernel.grid = body.grid;
    kernel.block = body.block;
    kernel.sharedBytes = body.sharedBytes;
    kernel.scratchBytes = body.scratchBytes;
    kernel.flops = body.flops;
    break;
  }
  kernel.bytes = bytesOf(plan, fusedKernel);
  constexpr int64_t mostBlocks = (int64_t(1) << 31) - 1;
  if (kernel.grid[0] > mostBlocks) {
    fusedKernel.computeLoops.front()->op->emitError(
        "a kernel of the CUDA target has at most ")
        << mostBlocks << " blocks, this op needs " << kernel.grid[0];
    return failure();
  }
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    builder.getDenseI32ArrayAttr({int32_t(kernel.block[0])}));
  // ptxas would rather spill than have fewer blocks side by side.
  if (mapping.kind == Mapping::Columns)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(1));

  auto [name, isNew] = names.nameOf(function);
  if (isNew)
    function.setName(name);
  else
    function.erase();
  kernel.name = name;
  return kernel;
}
