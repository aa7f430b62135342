//===- Buffers.cpp - where the buffers of a program lie -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "CommandUses.h"
#include "JoinedArguments.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tp/IR/CustomOps.h"
#include "tp/IR/Entries.h"
#include "tp/IR/Program.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

Value tp::target::rootBuffer(Value buffer) {
  while (auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>())
    buffer = view.getSource();
  return buffer;
}

bool tp::target::isUsed(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return !isa<memref::ReinterpretCastOp>(user) || isUsed(user->getResult(0));
  });
}

int64_t tp::target::bytesOf(MemRefType type) {
  return type.getNumElements() * elementBytes(type.getElementType());
}

/// But for an attention, which may be its steps.
static bool isCommand(Operation *op) {
  return isa<tp::LaunchOp>(op) ||
         (isTopCommand(op) && !isa<tp::AttentionOp>(op));
}

bool tp::target::hasSteps(tp::AttentionOp attention) {
  return llvm::any_of(attention.getSteps().front(),
                      [](Operation &step) { return isCommand(&step); });
}

SmallVector<Operation *> tp::target::commandsOf(func::FuncOp program) {
  SmallVector<Operation *> commands;
  for (Operation &op : program.front()) {
    auto attention = dyn_cast<tp::AttentionOp>(op);
    if (attention && hasSteps(attention)) {
      for (Operation &step : attention.getSteps().front())
        if (isCommand(&step))
          commands.push_back(&step);
    } else if (attention || isCommand(&op)) {
      commands.push_back(&op);
    }
  }
  return commands;
}

bool tp::target::isProgram(func::FuncOp function) {
  FunctionType type = function.getFunctionType();
  return llvm::any_of(
      llvm::concat<const Type>(type.getInputs(), type.getResults()),
      [](Type type) { return isa<MemRefType>(type); });
}

bool tp::target::isCarried(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto kind = function ? function.getArgAttrOfType<StringAttr>(
                             argument.getArgNumber(), tp::attr::kind)
                       : StringAttr();
  return kind && kind.getValue() == tp::attr::carriedKind;
}

Buffers::Buffers(func::FuncOp program, int64_t constantsAt)
    : constantsAt(constantsAt) {
  for (OpOperand &operand : program.front().getTerminator()->getOpOperands())
    results[rootBuffer(operand.get())] = operand.getOperandNumber();
  while (firstCarried < program.getNumArguments() &&
         !isCarried(program.getArgument(firstCarried)))
    ++firstCarried;
}

Space Buffers::spaceOf(Value buffer) const {
  Value root = rootBuffer(buffer);
  if (auto argument = dyn_cast<BlockArgument>(root))
    return isCarried(argument) ? Space::Carried : Space::Argument;
  if (root.getDefiningOp<tp::ConstantOp>())
    return Space::Constant;
  if (auto alloc = root.getDefiningOp<tp::AllocOp>();
      alloc && alloc.getMemory())
    return spaceOf(alloc.getMemory());
  return results.contains(root) ? Space::Result : Space::Arena;
}

BufferPlace Buffers::placeOf(Value buffer) const {
  Value root = rootBuffer(buffer);
  BufferPlace place;
  place.space = spaceOf(root);
  switch (place.space) {
  case Space::Argument:
    if (auto alloc = root.getDefiningOp<tp::AllocOp>())
      root = alloc.getMemory();
    place.index = cast<BlockArgument>(root).getArgNumber();
    if (auto parts = partsOf(cast<BlockArgument>(root)); !parts.empty())
      place.index = parts.front();
    break;
  case Space::Carried:
    if (auto alloc = root.getDefiningOp<tp::AllocOp>())
      root = alloc.getMemory();
    place.index = cast<BlockArgument>(root).getArgNumber() - firstCarried;
    break;
  case Space::Result:
    place.index = results.lookup(root);
    break;
  case Space::Constant:
    place.offset =
        constantsAt +
        root.getDefiningOp<tp::ConstantOp>().getOffset().value_or(0);
    break;
  case Space::Arena:
    place.offset = root.getDefiningOp<tp::AllocOp>().getOffset().value_or(0);
    break;
  case Space::Scratch:
    break;
  }
  return place;
}
