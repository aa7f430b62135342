//===- CommandQueues.cpp - which queue a command runs in ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandQueues.h"
#include "Program/CommandUses.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// Reads a program from its start to its end.
class QueueReader {
public:
  LogicalResult read(tp::SignalOp signal);
  LogicalResult read(tp::WaitOp wait);
  LogicalResult readCommand(Operation *op);
  FailureOr<CommandQueues> end();

private:
  FailureOr<tp::Queue> queueOf(Operation *op);
  LogicalResult checkWithPrevious(Operation *op);

  CommandQueues queues;
  /// Of every queue: its last command so far, and what is in front of the next.
  std::array<std::optional<unsigned>, tp::numQueues> last;
  std::array<tp::WaitOp, tp::numQueues> next;
  llvm::DenseMap<Value, unsigned> signalled;
};
} // namespace

LogicalResult QueueReader::read(tp::SignalOp signal) {
  std::optional<unsigned> command = last[unsigned(signal.getQueue())];
  if (!command)
    return signal.emitOpError("expected a command of the queue '")
           << stringifyQueue(signal.getQueue()) << "' before it";
  signalled[signal.getEvent()] = *command;
  return success();
}

LogicalResult QueueReader::read(tp::WaitOp wait) {
  tp::WaitOp &waiting = next[unsigned(wait.getQueue())];
  if (waiting) {
    InFlightDiagnostic error =
        wait.emitOpError("expected one wait before a command");
    error.attachNote(waiting.getLoc()) << "the queue waits here already";
    return error;
  }
  waiting = wait;
  return success();
}

FailureOr<tp::Queue> QueueReader::queueOf(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(tp::attr::queue);
  if (!name)
    return op->emitOpError("expected a string '")
           << tp::attr::queue << "' on all commands or on none";
  std::optional<tp::Queue> queue = tp::symbolizeQueue(name.getValue());
  tp::Queue expected = isa<tp::CommunicateOp>(op) ? tp::Queue::Communication
                                                  : tp::Queue::Compute;
  if (queue != expected)
    return op->emitOpError("runs in the queue \"")
           << stringifyQueue(expected) << "\", got '" << tp::attr::queue << "' "
           << name;
  return expected;
}

LogicalResult QueueReader::checkWithPrevious(Operation *op) {
  if (queues.commands.empty() || !isa<tp::CommunicateOp>(op) ||
      !isa<tp::CommunicateOp>(queues.commands.back().op))
    return op->emitOpError("has '")
           << tp::attr::withPrevious
           << "', expected a collective and one before it";
  if (next[unsigned(tp::Queue::Communication)])
    return op->emitOpError("starts as one with the collective before it, "
                           "expected no wait between them");
  return success();
}

LogicalResult QueueReader::readCommand(Operation *op) {
  FailureOr<tp::Queue> queue = queueOf(op);
  if (failed(queue))
    return failure();
  QueuedCommand command = {op, *queue};
  command.withPrevious = op->hasAttr(tp::attr::withPrevious);
  if (command.withPrevious && failed(checkWithPrevious(op)))
    return failure();
  if (auto wait = std::exchange(next[unsigned(*queue)], {}))
    command.waitFor = signalled.lookup(wait.getEvent());
  last[unsigned(*queue)] = queues.commands.size();
  queues.commands.push_back(command);
  return success();
}

FailureOr<CommandQueues> QueueReader::end() {
  if (tp::WaitOp wait = next[unsigned(tp::Queue::Communication)])
    return wait.emitOpError("expected a command of the queue '")
           << stringifyQueue(wait.getQueue()) << "' behind it";
  if (tp::WaitOp wait = next[unsigned(tp::Queue::Compute)])
    queues.endWaitsFor = signalled.lookup(wait.getEvent());
  return std::move(queues);
}

static bool isCommand(Operation *op) {
  return isTopCommand(op) || isa<tp::LaunchOp>(op);
}

bool tp::target::namesQueues(func::FuncOp program) {
  return llvm::any_of(program.front(), [](Operation &op) {
    return isa<tp::SignalOp, tp::WaitOp>(op) || op.hasAttr(tp::attr::queue) ||
           op.hasAttr(tp::attr::withPrevious);
  });
}

FailureOr<CommandQueues> tp::target::readQueues(func::FuncOp program) {
  QueueReader reader;
  for (Operation &op : program.front()) {
    LogicalResult read = success();
    if (auto signal = dyn_cast<tp::SignalOp>(op))
      read = reader.read(signal);
    else if (auto wait = dyn_cast<tp::WaitOp>(op))
      read = reader.read(wait);
    else if (isCommand(&op))
      read = reader.readCommand(&op);
    if (failed(read))
      return failure();
  }
  return reader.end();
}
