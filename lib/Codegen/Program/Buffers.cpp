//===- Buffers.cpp - where the buffers of a program lie -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "Storage/Storage.h"
#include "tp/IR/Program.h"

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

static bool isCommand(Operation *op) {
  return isa<tp::KernelOp, tp::LaunchOp, tp::GemmOp, tp::CommunicateOp>(op);
}

SmallVector<Operation *> tp::target::commandsOf(func::FuncOp program) {
  SmallVector<Operation *> commands;
  for (Operation &op : program.front()) {
    if (auto attention = dyn_cast<tp::AttentionOp>(op)) {
      for (Operation &step : attention.getSteps().front())
        if (isCommand(&step))
          commands.push_back(&step);
    } else if (isCommand(&op)) {
      commands.push_back(&op);
    }
  }
  return commands;
}

bool tp::target::isProgram(func::FuncOp function) {
  FunctionType type = function.getFunctionType();
  return llvm::any_of(llvm::concat<const Type>(type.getInputs(),
                                               type.getResults()),
                      [](Type type) { return isa<MemRefType>(type); });
}

Buffers::Buffers(func::FuncOp program) {
  for (OpOperand &operand : program.front().getTerminator()->getOpOperands())
    results[rootBuffer(operand.get())] = operand.getOperandNumber();
}

Space Buffers::spaceOf(Value buffer) const {
  Value root = rootBuffer(buffer);
  if (isa<BlockArgument>(root))
    return Space::Argument;
  if (root.getDefiningOp<tp::ConstantOp>())
    return Space::Constant;
  return results.contains(root) ? Space::Result : Space::Arena;
}

BufferPlace Buffers::placeOf(Value buffer) const {
  Value root = rootBuffer(buffer);
  BufferPlace place;
  place.space = spaceOf(root);
  switch (place.space) {
  case Space::Argument:
    place.index = cast<BlockArgument>(root).getArgNumber();
    break;
  case Space::Result:
    place.index = results.lookup(root);
    break;
  case Space::Constant:
    place.offset = root.getDefiningOp<tp::ConstantOp>().getOffset().value_or(0);
    break;
  case Space::Arena:
    place.offset = root.getDefiningOp<tp::AllocOp>().getOffset().value_or(0);
    break;
  case Space::Scratch:
    break;
  }
  return place;
}

static LogicalResult verifyViews(Operation *op) {
  for (Value operand : op->getOperands())
    if (!isa<BlockArgument>(operand) &&
        !operand.getDefiningOp<tp::AllocOp>() &&
        !operand.getDefiningOp<tp::ConstantOp>() &&
        !operand.getDefiningOp<memref::ReinterpretCastOp>())
      return op->emitOpError("expected a view of an argument, of a tp.alloc or "
                             "of a tp.constant, got ")
             << operand;
  return success();
}

/// A view stays within the memory of what it is a view of.
static LogicalResult verifyView(memref::ReinterpretCastOp view) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> strides;
  int64_t last = 0;
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, last)) ||
      ShapedType::isDynamic(last) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return view.emitOpError("expected static sizes and strides, got ") << type;
  int64_t first = last;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    (stride < 0 ? first : last) += (std::max<int64_t>(size, 1) - 1) * stride;
  Value root = rootBuffer(view.getResult());
  int64_t elements = cast<MemRefType>(root.getType()).getNumElements();
  if (type.getNumElements() > 0 && (first < 0 || last >= elements))
    return view.emitOpError("reaches from element ")
           << first << " to " << last << " of memory with " << elements
           << " elements";
  return success();
}

LogicalResult tp::target::verifyProgram(func::FuncOp program,
                                        const TargetTraits &traits) {
  if (program.isExternal() || !program.getBody().hasOneBlock())
    return program.emitError("expected a program of one block");
  for (Type type : program.getFunctionType().getInputs())
    if (!isa<MemRefType>(type))
      return program.emitError("expected arguments in memory, got ") << type;
  WalkResult walk = program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == program)
      return WalkResult::advance();
    bool known = isCommand(op) ||
                 isa<tp::AttentionOp, tp::AllocOp, tp::ConstantOp,
                     memref::ReinterpretCastOp, func::ReturnOp>(op);
    if (!known) {
      op->emitOpError("is not one of a rank's program: expected memory, views "
                      "and commands");
      return WalkResult::interrupt();
    }
    auto view = dyn_cast<memref::ReinterpretCastOp>(op);
    auto kernel = dyn_cast<tp::KernelOp>(op);
    if (failed(verifyViews(op)) || (view && failed(verifyView(view))) ||
        (kernel && failed(checkKernel(kernel, traits))))
      return WalkResult::interrupt();
    return isCommand(op) ? WalkResult::skip() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  llvm::DenseSet<Value> roots;
  for (Value result : program.front().getTerminator()->getOperands()) {
    Value root = rootBuffer(result);
    if (!root.getDefiningOp<tp::AllocOp>() || !roots.insert(root).second)
      return program.front().getTerminator()->emitOpError(
                 "expected every result to be an allocation of its own, got ")
             << result;
  }
  return success();
}
