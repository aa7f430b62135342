//===- CPUKernelEmitter.cpp - kernels as functions ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is two functions: the one the runtime calls unpacks the buffers and
// calls the body, whose pointers are declared not to alias.
//
//===----------------------------------------------------------------------===//

#include "CPUKernelEmitter.h"
#include "Emit/EmitComputeLoops.h"
#include "KernelLoops.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

/// Row values up to this size sit on the stack, where LLVM can promote them.
static constexpr int64_t maxStackBytes = 1024;

std::string CPUKernelEmitter::emit(const KernelPlan &kernel,
                                   const KernelParameters &parameters) {
  const StoredValues &plan = kernel.values;
  const FusedKernel &fusedKernel = *kernel.fusedKernel;
  MLIRContext *context = module.getContext();
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module.getBody());
  Location loc = UnknownLoc::get(context);
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto none = LLVM::LLVMVoidType::get(context);

  // Row values too large for the stack come as parameters.
  struct RowValue {
    Value value;
    AffineMap address;
    int64_t bytes;
    int64_t offset = -1;
  };
  SmallVector<RowValue> rowValues;
  int64_t scratchOffset = 0;
  unsigned numLarge = 0;
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops)
    for (auto [i, target] : llvm::enumerate(computeLoop->targets)) {
      if (!plan.isStored(target) ||
          plan.storage(target).space != Space::Scratch ||
          fusedKernel.held.contains(target))
        continue;
      int64_t elements;
      RowValue row{target, rowAddress(*computeLoop, i, elements), 0};
      row.bytes = elements * elementBytes(plan.storage(target).elementType);
      if (row.bytes > maxStackBytes) {
        row.offset = scratchOffset;
        scratchOffset += llvm::alignTo(row.bytes, 64);
        ++numLarge;
      }
      rowValues.push_back(row);
    }
  scratch = std::max(scratch, scratchOffset);

  unsigned numBuffers = parameters.buffers.size();
  SmallVector<Type> types(numBuffers + numLarge + 1, pointer);
  auto body = LLVM::LLVMFuncOp::create(
      builder, loc, "body", LLVM::LLVMFunctionType::get(none, types));
  body.setPrivate();
  body.setLinkage(LLVM::Linkage::Internal);
  body.setNoInline(true);
  for (unsigned i = 0; i + 1 < types.size(); ++i)
    body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                    builder.getUnitAttr());
  Block *entry = body.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);

  KernelLoops kernelLoops(plan, asserts, fusedKernel, builder, loc);
  ElementEmitter &elements = kernelLoops.elements();
  for (auto [value, index] : parameters.of)
    elements.places[value] = {entry->getArgument(index),
                              plan.storage(value).address};
  unsigned nextLarge = numBuffers;
  for (RowValue &row : rowValues) {
    Value place;
    if (row.offset >= 0)
      place = entry->getArgument(nextLarge++);
    else
      place = LLVM::AllocaOp::create(
          builder, loc, pointer, builder.getI8Type(),
          elements.constant(std::max<int64_t>(row.bytes, 1)), 64);
    elements.places[row.value] = {place, row.address};
  }
  elements.context = entry->getArguments().back();
  auto entryEnd = LLVM::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPoint(entryEnd);
  // Scalars of the whole function go before this marker.
  Value marker = elements.constant(0);
  elements.entryEnd = marker.getDefiningOp();
  kernelLoops.emit();

  auto [name, isNew] = names.nameOf(body);
  if (!isNew) {
    body.erase();
    return name;
  }
  body.setName(name + "_body");

  builder.setInsertionPointToEnd(module.getBody());
  auto wrapper = LLVM::LLVMFuncOp::create(
      builder, loc, name,
      LLVM::LLVMFunctionType::get(none, {pointer, pointer}));
  Block *wrapperEntry = wrapper.addEntryBlock(builder);
  builder.setInsertionPointToStart(wrapperEntry);
  auto field = [&](Value base, Type type, int64_t index) -> Value {
    Value at = LLVM::GEPOp::create(builder, loc, pointer, type, base,
                                   ArrayRef<LLVM::GEPArg>{int32_t(index)});
    return at;
  };
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < numBuffers; ++i)
    arguments.push_back(
        LLVM::LoadOp::create(builder, loc, pointer,
                             field(wrapperEntry->getArgument(0), pointer, i)));
  Value contextArgument = wrapperEntry->getArgument(1);
  if (numLarge) {
    Value base = LLVM::LoadOp::create(builder, loc, pointer,
                                      field(contextArgument, pointer, 10));
    for (RowValue &row : rowValues)
      if (row.offset >= 0)
        arguments.push_back(field(base, builder.getI8Type(), row.offset));
  }
  arguments.push_back(contextArgument);
  LLVM::CallOp::create(builder, loc, body, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return name;
}
