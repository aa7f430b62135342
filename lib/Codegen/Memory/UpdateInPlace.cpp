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
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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
      : program(program), kernels(kernels), order(program) {
    for (BlockArgument argument : program.getArguments())
      joined.insert_range(partsOf(argument));
  }

  LogicalResult run();

private:
  bool samePort(unsigned argument, unsigned result);
  std::string obstacle(unsigned argument, tp::AllocOp next);
  FailureOr<std::string> tryUpdate(unsigned argument, tp::AllocOp next);
  LogicalResult updateCarried(unsigned argument, unsigned result);

  func::FuncOp program;
  KernelPlans &kernels;
  CommandOrder order;
  /// Arguments that are in one memory with others.
  llvm::SmallDenseSet<int64_t> joined;
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

/// What stands in the way whatever the order of commands is.
std::string InPlaceUpdates::obstacle(unsigned argument, tp::AllocOp next) {
  auto memory = cast<MemRefType>(program.getArgument(argument).getType());
  auto type = cast<MemRefType>(next.getResult().getType());
  if (!isRowMajor(memory) || !isRowMajor(type))
    return "its elements are stored in another order";
  if (joined.contains(argument))
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
    if (isCarried(program.getArgument(argument))) {
      if (failed(updateCarried(argument, result)))
        return failure();
      continue;
    }
    if (!next || !samePort(argument, result))
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

/// What a part carries has no other memory: where it cannot be written in
/// place, the last command copies it there.
LogicalResult InPlaceUpdates::updateCarried(unsigned argument,
                                            unsigned result) {
  Operation *terminator = program.front().getTerminator();
  Value old = program.getArgument(argument);
  Value value = terminator->getOperand(result);
  auto next = rootBuffer(value).getDefiningOp<tp::AllocOp>();
  if (!samePort(argument, result) || value.getType() != old.getType())
    return program.emitError("result #")
           << result << " updates the carried argument #" << argument
           << ", expected its layout and type";
  if (next && value == next.getResult() && !next.getMemory()) {
    FailureOr<std::string> reason = tryUpdate(argument, next);
    if (failed(reason) || reason->empty())
      return LogicalResult(reason);
  }
  auto type = cast<MemRefType>(old.getType());
  OpBuilder builder(terminator);
  Location loc = program.getLoc();
  auto copied = tp::AllocOp::create(builder, loc, type, old);
  auto kernel = tp::KernelOp::create(builder, loc, value, copied.getResult());
  Block *block = &kernel.getBody().emplaceBlock();
  for (Value operand : kernel.getOperands())
    block->addArgument(operand.getType(), operand.getLoc());
  builder.setInsertionPointToStart(block);
  auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
  Value read = bufferization::ToTensorOp::create(builder, loc, tensor,
                                                 block->getArgument(0));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  auto copy = linalg::CopyOp::create(builder, loc, read, empty);
  tp::ComputeOp::create(builder, loc, copy.getResult(0), ArrayRef<int64_t>(),
                        block->getArgument(1));
  terminator->setOperand(result, copied);
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
