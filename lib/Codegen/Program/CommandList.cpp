//===- CommandList.cpp - the commands of tensors with storage -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandList.h"
#include "Attention/Attention.h"
#include "CommandUses.h"
#include "Kernels/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

namespace {
class CommandLister {
public:
  explicit CommandLister(const StoragePlan &plan) : plan(plan) {}

  void add(Operation *op);
  Schedule list;

private:
  void addGemm(const Gemm &gemm);
  void addOnMemory(Operation *op);
  void addKept(tp::KeptOp op);
  void addLoop(ComputeLoop computeLoop);
  bool checks(Operation *op) const;

  const StoragePlan &plan;
};
} // namespace

/// Whether to compute a result of `op` also checks something, which it has to
/// do for all elements.
bool CommandLister::checks(Operation *op) const {
  SmallVector<Operation *> work = {op};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *maker = work.pop_back_val();
    if (!seen.insert(maker).second)
      continue;
    if (hasCheck(maker))
      return true;
    for (Value input : tp::inputsOf(maker))
      if (Operation *before = input.getDefiningOp();
          before && !plan.isStored(input))
        work.push_back(before);
  }
  return false;
}

void CommandLister::addLoop(ComputeLoop computeLoop) {
  list.computeLoops.push_back(
      std::make_unique<ComputeLoop>(std::move(computeLoop)));
  ComputeLoop *loop = list.computeLoops.back().get();
  loop->slots = parallelDims(*loop);
  llvm::SetVector<Value> reads;
  for (const Read &read : loop->reads.reads)
    reads.insert(read.root);
  Command command;
  command.fusedKernel = finishFusedKernel(plan, loop);
  command.reads = reads.takeVector();
  for (Value target : loop->targets)
    if (plan.isStored(target))
      command.writes.push_back(target);
  list.commands.push_back(std::move(command));
}

void CommandLister::addGemm(const Gemm &gemm) {
  if (gemm.addsToC()) {
    auto contraction = cast<linalg::LinalgOp>(gemm.op);
    addLoop(makeElementwise(plan, contraction.getDpsInitOperand(0)->get(),
                            gemm.c.root));
  }
  llvm::SetVector<Value> reads;
  reads.insert_range(gemm.reads());
  Command command;
  command.gemm = &gemm;
  command.reads = reads.takeVector();
  command.writes = {gemm.c.root};
  list.commands.push_back(std::move(command));
}

/// A collective, attention over a chunk, or an op that a user computes.
void CommandLister::addOnMemory(Operation *op) {
  llvm::SetVector<Value> reads;
  for (Value operand : op->getOperands())
    reads.insert(plan.storedBehind(operand));
  Command command;
  command.collective = op;
  command.reads = reads.takeVector();
  llvm::append_range(command.writes, op->getResults());
  list.commands.push_back(std::move(command));
}

/// The stored values that the elements of the kept one are computed from.
void CommandLister::addKept(tp::KeptOp op) {
  llvm::SetVector<Value> stored;
  SmallVector<Value> work{op.getSource()};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = plan.storedBehind(work.pop_back_val());
    if (!isa<RankedTensorType>(value.getType()) || !seen.insert(value).second)
      continue;
    if (plan.isStored(value))
      stored.insert(value);
    else if (Operation *maker = value.getDefiningOp())
      llvm::append_range(work, tp::inputsOf(maker));
  }
  if (stored.empty())
    return;
  Command command;
  command.kept = op;
  command.reads = stored.takeVector();
  list.commands.push_back(std::move(command));
}

void CommandLister::add(Operation *op) {
  if (op->getNumResults() == 0)
    return;
  if (const Gemm *gemm = plan.gemmWriting(op))
    return addGemm(*gemm);
  // Its GEMM comes with the last op of the epilogue.
  if (plan.gemmOf(op) || isa<arith::ConstantOp>(op))
    return;
  auto isStored = [&](Value result) { return plan.isStored(result); };
  // What is kept is copied below, as any view is, where an op needs it in
  // memory of its own.
  if (auto kept = dyn_cast<tp::KeptOp>(op))
    addKept(kept);
  else if (isa_and_present<tp::TPDialect>(op->getDialect()) &&
           isa<RankedTensorType>(op->getResult(0).getType()))
    return addOnMemory(op);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (linalgOp && !isElementwise(linalgOp)) {
    if (llvm::any_of(op->getResults(), isStored))
      addLoop(makeReduction(plan, linalgOp,
                            [](OpResult result) -> Value { return result; }));
    return;
  }
  // Its parts are written where they belong.
  if (joinsSteps(op) && plan.subviewOf(op->getOperand(0)))
    return;
  for (Value result : llvm::make_filter_range(op->getResults(), isStored)) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    ComputeLoop computeLoop = makeElementwise(plan, result, result);
    const NeededWhere *needed = plan.neededOf(result);
    if (needed && !checks(op))
      setCondition(plan, computeLoop, needed->condition);
    addLoop(std::move(computeLoop));
  }
}

Schedule tp::target::listCommands(const StoragePlan &plan,
                                  func::FuncOp function) {
  CommandLister lister(plan);
  for (Operation &op : function.front())
    lister.add(&op);
  return std::move(lister.list);
}
