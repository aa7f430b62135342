//===- StepOrder.cpp - an attention's steps in a row ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepOrder.h"
#include "Attention.h"

using namespace mlir;
using namespace tp::target;

/// The attention that a command is a step of.
static std::optional<int64_t> attentionOfCommand(const Command &command) {
  if (command.gemm)
    return attentionOfStep(command.gemm->op);
  if (command.fusedKernel)
    return attentionOfStep(command.fusedKernel->computeLoops.front()->op);
  return std::nullopt;
}

static bool touches(const Command &command,
                    const llvm::DenseSet<Value> &values) {
  return llvm::any_of(llvm::concat<const Value>(command.reads, command.writes),
                      [&](Value value) { return values.contains(value); });
}

/// Puts the other commands among the steps of an attention before the steps, or
/// behind them if they need what a step writes. False where a step needs such a
/// command, and then nothing is moved.
static bool putTogether(std::vector<Command> &commands, StepRange &range) {
  std::vector<Command> before, steps, after;
  llvm::DenseSet<Value> made, madeAfter;
  SmallVector<std::vector<Command> *> places;
  for (size_t i = range.first; i <= range.last; ++i) {
    const Command &command = commands[i];
    std::optional<int64_t> of = attentionOfCommand(command);
    bool isStep = of == range.id, isLate = !isStep && touches(command, made);
    if ((of && !isStep) || (isStep && touches(command, madeAfter)))
      return false;
    isLate |= !isStep && touches(command, madeAfter);
    if (isStep)
      made.insert_range(command.writes);
    else if (isLate)
      madeAfter.insert_range(command.writes);
    places.push_back(isStep ? &steps : isLate ? &after : &before);
  }
  for (auto [i, place] : llvm::enumerate(places))
    place->push_back(std::move(commands[range.first + i]));
  auto at = commands.begin() + range.first;
  for (std::vector<Command> *place : {&before, &steps, &after})
    at = std::move(place->begin(), place->end(), at);
  range.first += before.size();
  range.last = range.first + steps.size() - 1;
  return true;
}

SmallVector<StepRange> tp::target::putStepsTogether(Schedule &list) {
  llvm::MapVector<int64_t, StepRange> ranges;
  for (auto [i, command] : llvm::enumerate(list.commands))
    if (std::optional<int64_t> id = attentionOfCommand(command))
      ranges.insert({*id, {*id, i, i}}).first->second.last = i;
  SmallVector<StepRange> together;
  for (auto &[id, range] : ranges)
    if (putTogether(list.commands, range))
      together.push_back(range);
  return together;
}
