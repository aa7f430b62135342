//===- UpdateInPlace.cpp - pass tp-update-in-place ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result may be in the memory of the argument that it updates if every
// command that reads the argument comes before those that write the result, or
// reads each element before it writes the one in its place. Whether such an
// order exists is found out here; tp-schedule puts the commands into it.
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "CommandOrder.h"
#include "Program/Buffers.h"
#include "Program/JoinedArguments.h"
#include "Program/MemoryOrder.h"
#include "tp/Codegen/CodegenPasses.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"

namespace tp {
#define GEN_PASS_DEF_UPDATEINPLACE
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

namespace {
class InPlaceUpdates {
public:
  InPlaceUpdates(func::FuncOp program, KernelPlans &kernels)
      : program(program), kernels(kernels), order(program) {}

  LogicalResult run();

private:
  bool samePort(unsigned argument, unsigned result);
  bool isJoined(unsigned argument);
  std::string obstacle(unsigned argument, tp::AllocOp next);
  FailureOr<std::string> tryUpdate(unsigned argument, tp::AllocOp next);

  func::FuncOp program;
  KernelPlans &kernels;
  CommandOrder order;
};
} // namespace

/// "'add_3' of module 'layers.0'", for reasons.
static std::string nameOf(Operation *command) {
  tp::SourceName name = tp::sourceNameOf(command->getLoc());
  std::string text = name.location.empty()
                         ? "a command"
                         : "'" + std::string(name.location) + "'";
  if (!name.module.empty())
    text += " of module '" + std::string(name.module) + "'";
  return text;
}

/// Whether a result and the argument that it updates hold the same parts of
/// one global type: where a plan gives them other layouts, the result is no
/// next value.
bool InPlaceUpdates::samePort(unsigned argument, unsigned result) {
  if (program.getArgumentTypes()[argument] != program.getResultTypes()[result])
    return false;
  for (StringRef name :
       {StringRef(tp::attr::layout), StringRef(tp::attr::globalType),
        StringRef(tp::attr::unsignedPort)})
    if (program.getArgAttr(argument, name) !=
        program.getResultAttr(result, name))
      return false;
  return true;
}

bool InPlaceUpdates::isJoined(unsigned argument) {
  return llvm::any_of(program.getArguments(), [&](BlockArgument other) {
    return llvm::is_contained(partsOf(other), int64_t(argument));
  });
}

/// What stands in the way whatever the order of commands is.
std::string InPlaceUpdates::obstacle(unsigned argument, tp::AllocOp next) {
  auto memory = cast<MemRefType>(program.getArgument(argument).getType());
  auto type = cast<MemRefType>(next.getResult().getType());
  if (!isRowMajor(memory) || !isRowMajor(type))
    return "its elements are stored in another order";
  if (isJoined(argument))
    return "the argument is in one memory with others";
  return "";
}

/// Puts `next` into the memory of the argument, and returns an empty text, or
/// why it may not be there.
FailureOr<std::string> InPlaceUpdates::tryUpdate(unsigned argument,
                                                 tp::AllocOp next) {
  Value old = program.getArgument(argument);
  if (std::string reason = obstacle(argument, next); !reason.empty())
    return reason;
  for (unsigned writer : order.writersOf(next)) {
    Operation *command = order.commands()[writer];
    if (!order.uses(writer).reads.contains(old))
      continue;
    FailureOr<bool> may = mayTakeOver(command, next, old, kernels);
    if (failed(may))
      return failure();
    if (!may.value_or(false))
      return nameOf(command) + " reads elements of the old value after it "
                               "writes in their place";
  }
  if (auto conflict = order.require(order.readsBeforeWrites(old, next)))
    return nameOf(order.commands()[conflict->first]) +
           " reads the old value and has to come after " +
           nameOf(order.commands()[conflict->second]) +
           ", which writes the new one";
  next.getMemoryMutable().assign(old);
  return std::string();
}

LogicalResult InPlaceUpdates::run() {
  Operation *terminator = program.front().getTerminator();
  for (auto [argument, result] : tp::updatesOf(program)) {
    auto next =
        rootBuffer(terminator->getOperand(result)).getDefiningOp<tp::AllocOp>();
    if (!next || !samePort(argument, result) ||
        (!isUsed(program.getArgument(argument)) && !isJoined(argument)))
      continue;
    FailureOr<std::string> reason = tryUpdate(argument, next);
    if (failed(reason))
      return failure();
    if (!reason->empty() && !next.getMemory())
      program.setResultAttr(result, tp::attr::copied,
                            StringAttr::get(program.getContext(), *reason));
  }
  return success();
}

LogicalResult tp::target::updateInPlace(func::FuncOp program,
                                        KernelPlans &kernels) {
  return InPlaceUpdates(program, kernels).run();
}

namespace {
struct UpdateInPlacePass : tp::impl::UpdateInPlaceBase<UpdateInPlacePass> {
  using UpdateInPlaceBase::UpdateInPlaceBase;

  void runOnOperation() override {
    auto update = [](func::FuncOp program, const TargetTraits &traits) {
      KernelPlans kernels(traits);
      return updateInPlace(program, kernels);
    };
    if (failed(changePrograms(getOperation(), target, "tp-update-in-place",
                              update)))
      signalPassFailure();
  }
};
} // namespace
