//===- TouchedMemory.cpp - the memory that a command touches --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TouchedMemory.h"
#include "Program/CommandUses.h"

using namespace mlir;
using namespace tp::target;

/// How many elements lie between the first one of a view and the last one.
static int64_t reachOf(MemRefType type, int64_t &offset) {
  SmallVector<int64_t> strides;
  offset = 0;
  if (type.getNumElements() == 0)
    return 0;
  // A collective's blocks lie one behind the other.
  if (failed(type.getStridesAndOffset(strides, offset)))
    return type.getNumElements();
  int64_t reach = 1;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    reach += (size - 1) * stride;
  return reach;
}

static void addView(Value view, bool writes, const Buffers &buffers,
                    TouchedMemory &touched) {
  auto type = cast<MemRefType>(view.getType());
  int64_t offset = 0, bytes = elementBytes(type.getElementType());
  int64_t reach = reachOf(type, offset);
  if (reach == 0)
    return;
  BufferPlace place = buffers.placeOf(view);
  place.offset += offset * bytes;
  touched.push_back({place, place.offset + reach * bytes, writes});
}

/// Code gets the start of each piece of memory once.
static void addKernel(tp::KernelOp kernel, const Buffers &buffers,
                      TouchedMemory &touched) {
  unsigned numReads = kernel.getReads().size(), first = touched.size();
  for (auto [i, buffer] : llvm::enumerate(kernel.getOperands())) {
    BufferPlace place = buffers.placeOf(buffer);
    int64_t end =
        place.offset + bytesOf(cast<MemRefType>(rootBuffer(buffer).getType()));
    bool writes = i >= numReads;
    auto *known = llvm::find_if(
        llvm::drop_begin(touched, first),
        [&](const TouchedBytes &bytes) { return bytes.place == place; });
    if (known == touched.end()) {
      touched.push_back({place, end, writes});
      continue;
    }
    known->end = std::max(known->end, end);
    known->writes |= writes;
  }
}

static void addCommand(Operation *command, const Buffers &buffers,
                       TouchedMemory &touched) {
  if (auto kernel = dyn_cast<tp::KernelOp>(command))
    return addKernel(kernel, buffers, touched);
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(command).getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects)
    addView(effect.getValue(), isa<MemoryEffects::Write>(effect.getEffect()),
            buffers, touched);
  if (auto attention = dyn_cast<tp::AttentionOp>(command))
    for (Operation &step : attention.getSteps().front())
      if (isTopCommand(&step))
        addCommand(&step, buffers, touched);
}

TouchedMemory tp::target::memoryTouchedBy(Operation *command,
                                          const Buffers &buffers) {
  TouchedMemory touched;
  addCommand(command, buffers, touched);
  return touched;
}

bool tp::target::haveConflict(const TouchedMemory &some,
                              const TouchedMemory &others) {
  auto overlap = [](const TouchedBytes &a, const TouchedBytes &b) {
    return (a.writes || b.writes) && a.place.space == b.place.space &&
           a.place.index == b.place.index && a.place.offset < b.end &&
           b.place.offset < a.end;
  };
  return llvm::any_of(some, [&](const TouchedBytes &mine) {
    return llvm::any_of(
        others, [&](const TouchedBytes &its) { return overlap(mine, its); });
  });
}
