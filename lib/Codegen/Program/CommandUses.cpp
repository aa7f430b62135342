//===- CommandUses.cpp - the memory that commands use ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandUses.h"
#include "Buffers.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "tp/IR/CustomOps.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;

static void addUses(Operation *op, CommandUses &uses) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(op).getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects)
    (isa<MemoryEffects::Write>(effect.getEffect()) ? uses.writes : uses.reads)
        .insert(rootBuffer(effect.getValue()));
}

bool tp::target::hasCheck(Operation *op) {
  return op->walk([](cf::AssertOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

bool tp::target::isTopCommand(Operation *op) {
  return isa<tp::KernelOp, tp::GemmOp, tp::CommunicateOp, tp::AttentionOp,
             tp::AttentionBackwardOp, tp::CallOp>(op);
}

CommandUses tp::target::usesOf(Operation *command) {
  CommandUses uses;
  addUses(command, uses);
  if (auto attention = dyn_cast<tp::AttentionOp>(command))
    for (Operation &step : attention.getSteps().front())
      if (isTopCommand(&step))
        addUses(&step, uses);
  return uses;
}

SmallVector<Operation *> tp::target::topCommandsOf(func::FuncOp program) {
  SmallVector<Operation *> commands;
  for (Operation &op : program.front())
    if (isTopCommand(&op))
      commands.push_back(&op);
  return commands;
}

void tp::target::putInOrder(Block &block, ArrayRef<Operation *> commands) {
  llvm::DenseSet<Operation *> moved;
  Operation *terminator =
      block.mightHaveTerminator() ? block.getTerminator() : nullptr;
  auto move = [&](auto &self, Operation *op) -> void {
    if (!op || op->getBlock() != &block || !moved.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      self(self, operand.getDefiningOp());
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        self(self, operand.getDefiningOp());
    });
    op->moveBefore(&block,
                   terminator ? Block::iterator(terminator) : block.end());
  };
  for (Operation *command : commands)
    move(move, command);
  if (terminator)
    for (Value result : terminator->getOperands())
      move(move, result.getDefiningOp());
}
