//===- SimulatedStrategies.cpp - strategies found by running an op --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimulatedStrategies.h"
#include "LocalOp.h"
#include "LocalParts.h"
#include "tp/Simulate/Simulator.h"

using namespace mlir;
using namespace tp;
using simulator::TensorData;

/// What holds by accident of some numbers does not hold for all of them, so
/// small results are drawn more often. Most of what does not hold falls at the
/// first draw.
static uint64_t drawsOf(RankedTensorType result) {
  constexpr int64_t leastDraws = 10, leastNumbers = 300;
  return std::max(leastDraws,
                  leastNumbers / std::max<int64_t>(1, result.getNumElements()));
}

int64_t tp::bytesOf(RankedTensorType type) {
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

namespace {
class OpSimulation {
public:
  OpSimulation(Operation *op, LocalOp whole, int64_t ranks)
      : op(op), whole(std::move(whole)), ranks(ranks),
        resultType(cast<RankedTensorType>(op->getResult(0).getType())),
        numDraws(drawsOf(resultType)) {
    for (Value operand : tensorOperands(op)) {
      slotTypes.push_back(cast<RankedTensorType>(operand.getType()));
      slotPlacements.push_back(placementsOf(slotTypes.back()));
    }
    isRead.assign(slotTypes.size(), true);
    partsOfSlot.resize(slotTypes.size());
  }

  /// Draws operands and finds out which of them the op reads at all.
  LogicalResult drawAll();
  std::vector<SimulatedStrategy> strategies();

private:
  using Types = SmallVector<RankedTensorType>;
  /// The op on one rank; null where it is not defined on these types.
  LocalOp *localOp(const Types &operands, RankedTensorType result);
  const std::vector<TensorData> &parts(unsigned slot, unsigned placement,
                                       uint64_t draw);
  /// Runs the op on all ranks; nothing where a rank cannot.
  std::optional<std::vector<TensorData>>
  run(ArrayRef<LocalOp *> locals, ArrayRef<unsigned> choice, uint64_t draw);
  /// Adds what `choice`, a placement per slot, makes.
  void tryChoice(ArrayRef<unsigned> choice);
  /// Adds a strategy, and those that differ in replicated operands, from
  /// `firstSlot` on, that are not read.
  void add(SimulatedStrategy &strategy, unsigned firstSlot = 0);

  Operation *op;
  LocalOp whole;
  int64_t ranks;
  RankedTensorType resultType;
  uint64_t numDraws;
  Types slotTypes;
  SmallVector<SmallVector<Placement>> slotPlacements;
  SmallVector<bool> isRead;
  /// Per draw: operands and what the whole op makes of them.
  std::vector<std::vector<TensorData>> operands;
  std::vector<TensorData> expected;
  /// Per slot, by placement and draw.
  std::vector<std::map<std::pair<unsigned, uint64_t>, std::vector<TensorData>>>
      partsOfSlot;
  std::map<std::vector<const void *>, LocalOp> locals;
  std::vector<SimulatedStrategy> found;
};
} // namespace

LogicalResult OpSimulation::drawAll() {
  for (uint64_t draw = 0; draw < numDraws; ++draw) {
    std::vector<TensorData> &numbers = operands.emplace_back();
    for (auto [slot, type] : llvm::enumerate(slotTypes))
      numbers.push_back(drawNumbers(type, draw * 1000 + slot));
    FailureOr<std::vector<TensorData>> made = interpret(whole.func, numbers);
    if (failed(made))
      return failure();
    expected.push_back(made->front());
  }
  for (unsigned slot = 0; slot < slotTypes.size(); ++slot) {
    isRead[slot] = false;
    for (uint64_t draw = 0; draw < numDraws && !isRead[slot]; ++draw) {
      std::vector<TensorData> numbers = operands[draw];
      numbers[slot] = operands[(draw + 1) % numDraws][slot];
      FailureOr<std::vector<TensorData>> made = interpret(whole.func, numbers);
      isRead[slot] = failed(made) ||
                     !arePartsOf(*made, expected[draw], Placement::replicate());
    }
    if (!isRead[slot])
      llvm::erase_if(slotPlacements[slot], [](const Placement &placement) {
        return placement.isPartial();
      });
  }
  return success();
}

void OpSimulation::add(SimulatedStrategy &strategy, unsigned firstSlot) {
  unsigned slot = firstSlot;
  while (slot < slotTypes.size() &&
         (isRead[slot] || !strategy.slots[slot].isReplicate()))
    ++slot;
  if (slot == slotTypes.size())
    return found.push_back(strategy);
  for (const Placement &placement : placementsOf(slotTypes[slot])) {
    if (placement.isShard())
      continue;
    strategy.slots[slot] = placement;
    add(strategy, slot + 1);
  }
  strategy.slots[slot] = Placement::replicate();
}

LocalOp *OpSimulation::localOp(const Types &operands, RankedTensorType result) {
  std::vector<const void *> key = {result.getAsOpaquePointer()};
  for (RankedTensorType type : operands)
    key.push_back(type.getAsOpaquePointer());
  auto [it, isNew] = locals.try_emplace(std::move(key));
  if (isNew)
    it->second = makeLocal(op, operands, result);
  return it->second.module ? &it->second : nullptr;
}

const std::vector<TensorData> &
OpSimulation::parts(unsigned slot, unsigned placement, uint64_t draw) {
  auto [it, isNew] = partsOfSlot[slot].try_emplace({placement, draw});
  if (isNew)
    it->second = partsOf(operands[draw][slot], slotPlacements[slot][placement],
                         ranks, (draw * 1000 + slot) * 1000 + placement);
  return it->second;
}

std::optional<std::vector<TensorData>>
OpSimulation::run(ArrayRef<LocalOp *> locals, ArrayRef<unsigned> choice,
                  uint64_t draw) {
  std::vector<TensorData> made;
  for (auto [rank, local] : llvm::enumerate(locals)) {
    std::vector<TensorData> inputs;
    for (unsigned slot = 0; slot < choice.size(); ++slot)
      inputs.push_back(parts(slot, choice[slot], draw)[rank]);
    FailureOr<std::vector<TensorData>> results = interpret(local->func, inputs);
    if (failed(results))
      return std::nullopt;
    made.push_back(results->front());
  }
  return made;
}

void OpSimulation::tryChoice(ArrayRef<unsigned> choice) {
  std::vector<Types> types(ranks);
  SimulatedStrategy strategy;
  for (auto [slot, placement] : llvm::enumerate(choice)) {
    strategy.slots.push_back(slotPlacements[slot][placement]);
    for (int64_t rank = 0; rank < ranks; ++rank)
      types[rank].push_back(
          localType(slotTypes[slot], strategy.slots.back(), rank, ranks));
  }
  // Results that have the same local types are told apart by one run.
  SmallVector<Placement> open = placementsOf(resultType);
  while (!open.empty()) {
    Types results;
    for (int64_t rank = 0; rank < ranks; ++rank)
      results.push_back(localType(resultType, open.front(), rank, ranks));
    auto isAlike = [&](const Placement &placement) {
      for (int64_t rank = 0; rank < ranks; ++rank)
        if (localType(resultType, placement, rank, ranks) != results[rank])
          return false;
      return true;
    };
    SmallVector<Placement> candidates = llvm::filter_to_vector(open, isAlike);
    llvm::erase_if(open, isAlike);
    SmallVector<LocalOp *> ofRanks;
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (LocalOp *local = localOp(types[rank], results[rank]))
        ofRanks.push_back(local);
    if (ofRanks.size() != static_cast<size_t>(ranks))
      continue;
    for (uint64_t draw = 0; draw < numDraws && !candidates.empty(); ++draw) {
      std::optional<std::vector<TensorData>> made = run(ofRanks, choice, draw);
      llvm::erase_if(candidates, [&](const Placement &placement) {
        return !made || !arePartsOf(*made, expected[draw], placement);
      });
    }
    strategy.operations = scalarOperations(ofRanks.front()->op);
    strategy.bytes = static_cast<double>(bytesOf(results.front()));
    for (RankedTensorType type : types.front())
      strategy.bytes += static_cast<double>(bytesOf(type));
    for (const Placement &placement : candidates) {
      strategy.result = placement;
      add(strategy);
    }
  }
}

std::vector<SimulatedStrategy> OpSimulation::strategies() {
  ScopedDiagnosticHandler silence(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  SmallVector<unsigned> choice(slotTypes.size(), 0);
  while (true) {
    tryChoice(choice);
    unsigned slot = 0;
    while (slot < choice.size() &&
           ++choice[slot] == slotPlacements[slot].size())
      choice[slot++] = 0;
    if (slot == choice.size())
      return std::move(found);
  }
}

FailureOr<ArrayRef<SimulatedStrategy>>
StrategySimulator::strategiesOf(Operation *op) {
  SmallVector<RankedTensorType> types;
  for (Value operand : tensorOperands(op))
    types.push_back(cast<RankedTensorType>(operand.getType()));
  LocalOp whole =
      makeLocal(op, types, cast<RankedTensorType>(op->getResult(0).getType()));
  if (!whole.module)
    return op->emitError("is not valid by itself");
  std::string text;
  llvm::raw_string_ostream os(text);
  whole.func->print(os, OpPrintingFlags().useLocalScope());
  auto [it, isNew] = known.try_emplace(text);
  if (isNew) {
    OpSimulation simulation(op, std::move(whole), ranks);
    if (failed(simulation.drawAll()))
      return failure();
    it->second = simulation.strategies();
  }
  return ArrayRef(it->second);
}
