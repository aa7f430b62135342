//===- Schedule.cpp - pass tp-schedule ------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a program is an order already. What may be wrong with it is that
// a result in the memory of an argument is written before the argument has been
// read for the last time.
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "CommandSchedule.h"
#include "Memory/CommandOrder.h"
#include "tp/Codegen/CodegenPasses.h" // IWYU pragma: keep
#include "tp/IR/PortNames.h"

namespace tp {
#define GEN_PASS_DEF_SCHEDULECOMMANDS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

static LogicalResult reportCycle(const CommandOrder &order,
                                 CommandOrder::Pair pair, tp::AllocOp next) {
  InFlightDiagnostic error = order.commands()[pair.first]->emitOpError(
      "reads an argument and has to come after a command that writes the "
      "result in its memory: expected the result in memory of its own");
  error.attachNote(order.commands()[pair.second]->getLoc())
      << "it is written here";
  error.attachNote(next.getLoc()) << "the result's memory is here";
  return error;
}

LogicalResult tp::target::scheduleCommands(func::FuncOp program) {
  CommandOrder order(program);
  Operation *terminator = program.front().getTerminator();
  for (auto [argument, result] : tp::updatesOf(program)) {
    auto next =
        rootBuffer(terminator->getOperand(result)).getDefiningOp<tp::AllocOp>();
    if (!next || !next.getMemory())
      continue;
    if (auto conflict =
            order.require(order.readsBeforeWrites(next.getMemory(), next)))
      return reportCycle(order, *conflict, next);
  }
  order.apply();
  return success();
}

namespace {
struct SchedulePass : tp::impl::ScheduleCommandsBase<SchedulePass> {
  using ScheduleCommandsBase::ScheduleCommandsBase;

protected:
  void runOnOperation() override {
    auto schedule = [](func::FuncOp program, const TargetTraits &) {
      return scheduleCommands(program);
    };
    if (failed(changePrograms(getOperation(), target, "tp-schedule", schedule)))
      signalPassFailure();
  }
};
} // namespace
