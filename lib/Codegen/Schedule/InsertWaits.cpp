//===- InsertWaits.cpp - pass tp-insert-waits -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory is reused, so that a command may have to wait for one that has nothing
// to do with it but the place. That is known when memory has offsets.
//
//===----------------------------------------------------------------------===//

#include "Artifact/MakeManifest.h"
#include "CodegenPlan.h"
#include "CommandQueues.h"
#include "Program/CommandUses.h"
#include "TouchedMemory.h"
#include "tp/Codegen/CodegenPasses.h" // IWYU pragma: keep
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Collective.h"

namespace tp {
#define GEN_PASS_DEF_INSERTWAITS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

namespace {
/// Which commands of a program have to wait for which.
class WaitAnalysis {
public:
  WaitAnalysis(func::FuncOp program, CommandQueues &queues);

  /// Finds all waits.
  void plan();
  /// Whether the waits that there are suffice. Fails with a located error.
  LogicalResult check();

private:
  /// What is known of each queue when the next command of the other one starts:
  /// how many of its commands have ended, from the first one on.
  using Ended = std::array<size_t, tp::numQueues>;
  /// How many of the commands of the other queue before `command` have to end
  /// before it starts, if more than `ended`.
  size_t neededBy(unsigned command, size_t ended) const;
  /// How many commands of its queue there are up to `command`.
  size_t countUpTo(unsigned command) const;
  bool mayStartTogether(unsigned command) const;
  /// The first of the collectives that start as one with `command`, before it,
  /// with which it has a conflict.
  std::optional<unsigned> conflictWithin(unsigned first,
                                         unsigned command) const;
  void planGroups();
  LogicalResult checkGroups() const;

  func::FuncOp program;
  CommandQueues &queues;
  std::vector<TouchedMemory> touched;
  std::array<std::vector<unsigned>, tp::numQueues> ofQueue;
};
} // namespace

static unsigned other(tp::Queue queue) {
  static_assert(tp::numQueues == 2, "a command waits for one other queue");
  return 1 - unsigned(queue);
}

WaitAnalysis::WaitAnalysis(func::FuncOp program, CommandQueues &queues)
    : program(program), queues(queues) {
  Buffers buffers(program);
  for (auto [i, command] : llvm::enumerate(queues.commands)) {
    touched.push_back(memoryTouchedBy(command.op, buffers));
    ofQueue[unsigned(command.queue)].push_back(i);
  }
}

size_t WaitAnalysis::countUpTo(unsigned command) const {
  const auto &commands = ofQueue[unsigned(queues.commands[command].queue)];
  return llvm::upper_bound(commands, command) - commands.begin();
}

size_t WaitAnalysis::neededBy(unsigned command, size_t ended) const {
  const auto &others = ofQueue[other(queues.commands[command].queue)];
  size_t before = llvm::lower_bound(others, command) - others.begin();
  for (size_t count = before; count > ended; --count)
    if (haveConflict(touched[command], touched[others[count - 1]]))
      return count;
  return ended;
}

void WaitAnalysis::plan() {
  Ended ended = {0, 0};
  for (auto [i, command] : llvm::enumerate(queues.commands)) {
    unsigned of = other(command.queue);
    size_t needed = neededBy(i, ended[of]);
    if (needed == ended[of])
      continue;
    ended[of] = needed;
    command.waitFor = ofQueue[of][needed - 1];
  }
  // The step ends in the queue of what computes.
  const auto &collectives = ofQueue[unsigned(tp::Queue::Communication)];
  if (collectives.size() > ended[unsigned(tp::Queue::Communication)])
    queues.endWaitsFor = collectives.back();
  planGroups();
}

/// NCCL does it as calls in one queue, with no copies before or behind them.
bool WaitAnalysis::mayStartTogether(unsigned command) const {
  auto communicate = dyn_cast<tp::CommunicateOp>(queues.commands[command].op);
  if (!communicate)
    return false;
  Operation *op = communicate.getCollective();
  CollectiveBlocks blocks = blocksOf(op);
  bool inBlocks = isa<tp::AllGatherOp, tp::ReduceScatterOp, tp::AllToAllOp>(op);
  return tp::asCollective(op)->axes.groupSize() > 1 &&
         blocks.outer * blocks.block > 0 && !(inBlocks && blocks.outer > 1);
}

std::optional<unsigned> WaitAnalysis::conflictWithin(unsigned first,
                                                     unsigned command) const {
  for (unsigned i = first; i < command; ++i)
    if (haveConflict(touched[i], touched[command]))
      return i;
  return std::nullopt;
}

void WaitAnalysis::planGroups() {
  unsigned first = 0;
  for (unsigned i = 1; i < queues.commands.size(); ++i) {
    QueuedCommand &command = queues.commands[i];
    command.withPrevious = mayStartTogether(i) && mayStartTogether(i - 1) &&
                           !command.waitFor && !conflictWithin(first, i);
    if (!command.withPrevious)
      first = i;
  }
}

LogicalResult WaitAnalysis::checkGroups() const {
  unsigned first = 0;
  for (auto [i, command] : llvm::enumerate(queues.commands)) {
    if (!command.withPrevious) {
      first = i;
      continue;
    }
    for (unsigned member : {unsigned(i) - 1, unsigned(i)})
      if (!mayStartTogether(member))
        return queues.commands[member].op->emitOpError(
            "cannot start as one with others: expected several ranks, and "
            "elements without gaps");
    std::optional<unsigned> conflict = conflictWithin(first, i);
    if (!conflict)
      continue;
    InFlightDiagnostic error = command.op->emitOpError(
        "starts as one with a collective that touches the same memory");
    error.attachNote(queues.commands[*conflict].op->getLoc())
        << "the collective is here";
    return error;
  }
  return success();
}

LogicalResult WaitAnalysis::check() {
  Ended ended = {0, 0};
  auto wait = [&](std::optional<unsigned> command) {
    if (!command)
      return;
    size_t &known = ended[unsigned(queues.commands[*command].queue)];
    known = std::max(known, countUpTo(*command));
  };
  for (auto [i, command] : llvm::enumerate(queues.commands)) {
    unsigned of = other(command.queue);
    wait(command.waitFor);
    size_t needed = neededBy(i, ended[of]);
    if (needed == ended[of])
      continue;
    InFlightDiagnostic error =
        command.op->emitOpError("touches memory that a command of the queue '")
        << stringifyQueue(tp::Queue(of))
        << "' touches too, expected it to wait for that";
    error.attachNote(queues.commands[ofQueue[of][needed - 1]].op->getLoc())
        << "the command is here";
    return error;
  }
  wait(queues.endWaitsFor);
  const auto &collectives = ofQueue[unsigned(tp::Queue::Communication)];
  if (collectives.size() > ended[unsigned(tp::Queue::Communication)]) {
    InFlightDiagnostic error = program.front().getTerminator()->emitOpError(
        "expected the end of the step to wait for the last collective");
    error.attachNote(queues.commands[collectives.back()].op->getLoc())
        << "the collective is here";
    return error;
  }
  return checkGroups();
}

/// Writes down what was planned.
static void apply(func::FuncOp program, const CommandQueues &queues) {
  OpBuilder builder(program.getContext());
  std::map<unsigned, Value> events;
  auto eventOf = [&](unsigned number) {
    Value &event = events[number];
    const QueuedCommand &command = queues.commands[number];
    builder.setInsertionPointAfter(command.op);
    if (!event)
      event = tp::SignalOp::create(builder, command.op->getLoc(),
                                   builder.getNoneType(), command.queue);
    return event;
  };
  for (const QueuedCommand &command : queues.commands) {
    command.op->setAttr(tp::attr::queue,
                        builder.getStringAttr(stringifyQueue(command.queue)));
    if (command.withPrevious)
      command.op->setAttr(tp::attr::withPrevious, builder.getUnitAttr());
    if (!command.waitFor)
      continue;
    Value event = eventOf(*command.waitFor);
    builder.setInsertionPoint(command.op);
    tp::WaitOp::create(builder, command.op->getLoc(), command.queue, event);
  }
  if (!queues.endWaitsFor)
    return;
  Value event = eventOf(*queues.endWaitsFor);
  Operation *terminator = program.front().getTerminator();
  builder.setInsertionPoint(terminator);
  tp::WaitOp::create(builder, terminator->getLoc(), tp::Queue::Compute, event);
}

/// Before tp-plan-memory all of the arena begins at one place.
static LogicalResult checkOffsets(func::FuncOp program) {
  Buffers buffers(program);
  for (auto alloc : program.front().getOps<tp::AllocOp>())
    if (buffers.spaceOf(alloc) == Space::Arena && isUsed(alloc) &&
        !alloc.getOffset())
      return alloc.emitOpError("has no offset: expected tp-plan-memory before "
                               "tp-insert-waits");
  return success();
}

LogicalResult tp::target::insertWaits(func::FuncOp program) {
  if (failed(checkOffsets(program)))
    return failure();
  if (namesQueues(program)) {
    FailureOr<CommandQueues> queues = readQueues(program);
    return failure(failed(queues) ||
                   failed(WaitAnalysis(program, *queues).check()));
  }
  CommandQueues queues;
  for (Operation *command : topCommandsOf(program))
    queues.commands.push_back({command, isa<tp::CommunicateOp>(command)
                                            ? tp::Queue::Communication
                                            : tp::Queue::Compute});
  WaitAnalysis(program, queues).plan();
  apply(program, queues);
  return success();
}

namespace {
struct InsertWaitsPass : tp::impl::InsertWaitsBase<InsertWaitsPass> {
  using InsertWaitsBase::InsertWaitsBase;

protected:
  void runOnOperation() override {
    auto insert = [](func::FuncOp program, const TargetTraits &) {
      return insertWaits(program);
    };
    if (failed(
            changePrograms(getOperation(), "cuda", "tp-insert-waits", insert)))
      signalPassFailure();
  }
};
} // namespace
