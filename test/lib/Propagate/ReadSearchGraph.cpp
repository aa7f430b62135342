//===- ReadSearchGraph.cpp - strategies of all ops of a function ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadSearchGraph.h"
#include "Interfaces/LocalOp.h"
#include "Interfaces/LocalParts.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tp;

/// Collectives on what is made of parameters alone count a thousandfold, but
/// for sums over dimensions of them.
static constexpr int64_t weightPenalty = 1000;

namespace {
class SearchGraphReader {
public:
  SearchGraphReader(func::FuncOp func, const AxisCosts &costs,
                    StrategySimulator &simulator)
      : func(func), costs(costs), search(costs), simulator(simulator) {}

  FailureOr<SearchGraph> read(StringRef axis);

private:
  /// Per placement that a use may need: what a value made of nothing costs
  /// there. Every user has one of its own.
  using FreeCosts = SmallVector<std::pair<Placement, Cost>>;

  FailureOr<std::optional<Placement>>
  pinOf(DictionaryAttr attributes, RankedTensorType type, StringRef axis);
  LogicalResult readArgument(unsigned index, StringRef axis);
  LogicalResult readOp(Operation *op);
  LogicalResult readResult(func::ReturnOp op, unsigned index, StringRef axis);
  LogicalResult readResultsThatAre(Value value, StringRef axis);
  FailureOr<std::vector<SearchStrategy>> strategiesOf(Operation *op);
  FailureOr<FreeCosts> freeCosts(Operation *op);
  Cost costOf(Operation *op, const SimulatedStrategy &strategy) const;
  unsigned addValue(Value value, bool isWeight, bool isSum = false);

  func::FuncOp func;
  const AxisCosts &costs;
  CheapestLayouts search;
  StrategySimulator &simulator;
  SearchGraph program;
  llvm::DenseMap<Value, unsigned> numbers;
  /// Made of parameters alone.
  llvm::DenseMap<Value, bool> isWeight;
  /// Of those, sums.
  llvm::DenseMap<Value, bool> isSumOfWeights;
  /// Per value, the node that makes it.
  SmallVector<unsigned> makers;
};
} // namespace

/// True for what makes its result from nothing, or overwrites such a result.
static bool isMadeOfNothing(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  return llvm::all_of(tensorOperands(op), [&](Value operand) {
    return destination &&
           llvm::is_contained(destination.getDpsInits(), operand) &&
           isMadeOfNothing(operand);
  });
}

static bool reduces(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured &&
         llvm::any_of(llvm::zip(structured.getIteratorTypesArray(),
                                structured.getStaticLoopRanges()),
                      [](auto loop) {
                        return std::get<0>(loop) ==
                                   utils::IteratorType::reduction &&
                               std::get<1>(loop) > 1;
                      });
}

/// True for what constants alone decide.
static bool isTable(Value value) {
  Operation *op = value.getDefiningOp();
  return op && llvm::all_of(tensorOperands(op), isTable);
}

unsigned SearchGraphReader::addValue(Value value, bool weight, bool sum) {
  unsigned number = program.values.size();
  numbers[value] = number;
  isWeight[value] = weight;
  isSumOfWeights[value] = weight && sum;
  makers.push_back(program.nodes.size());
  program.values.push_back({cast<RankedTensorType>(value.getType()),
                            weight && !sum ? weightPenalty : 1, 0});
  return number;
}

FailureOr<std::optional<Placement>>
SearchGraphReader::pinOf(DictionaryAttr attributes, RankedTensorType type,
                         StringRef axis) {
  auto pins = attributes ? attributes.getAs<DictionaryAttr>(attr::pin)
                         : DictionaryAttr();
  auto pin = pins ? pins.getAs<PlacementAttr>(axis) : PlacementAttr();
  if (!pin)
    return std::optional<Placement>();
  Placement placement = pin.getValue();
  if (placement.isShard() && placement.dim < 0)
    placement.dim += type.getRank();
  if (!llvm::is_contained(placementsOf(type), placement))
    return func.emitError("is pinned to ")
           << toString(placement) << ", which the search does not know";
  return std::optional(placement);
}

LogicalResult SearchGraphReader::readArgument(unsigned index, StringRef axis) {
  auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[index]);
  if (!type || !type.hasStaticShape())
    return func.emitError("expected arguments to be tensors of static shape");
  DictionaryAttr attributes = func.getArgAttrDict(index);
  auto pin = pinOf(attributes, type, axis);
  if (failed(pin))
    return failure();
  auto kind =
      attributes ? attributes.getAs<StringAttr>(attr::kind) : StringAttr();
  SearchNode node;
  node.result = addValue(func.getArgument(index), kind && kind == "parameter");
  node.strategies.push_back({{}, pin->value_or(Placement::replicate()), {}});
  program.nodes.push_back(std::move(node));
  return success();
}

/// What an op computes with: the first floats that it takes or makes.
static NumberClass numbersOf(Operation *op) {
  SmallVector<Value> values = tensorOperands(op);
  values.push_back(op->getResult(0));
  for (Value value : values)
    if (auto real = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType())))
      return numberClass(true, real.getWidth());
  return NumberClass::Integer;
}

Cost SearchGraphReader::costOf(Operation *op,
                               const SimulatedStrategy &strategy) const {
  if (scalarOperations(op) == 0)
    return {};
  return costs.compute(strategy.operations, strategy.bytes, numbersOf(op));
}

FailureOr<SearchGraphReader::FreeCosts>
SearchGraphReader::freeCosts(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SearchValue value = {type, 1, 1};
  FailureOr<std::vector<SearchStrategy>> strategies = strategiesOf(op);
  if (failed(strategies))
    return failure();
  FreeCosts found;
  for (const Placement &need : placementsOf(type)) {
    Cost least = Cost::infinite();
    for (const SearchStrategy &strategy : *strategies)
      least = std::min(least,
                       strategy.cost +
                           search.costOfValue(value, strategy.makes, {need}));
    found.push_back({need, least});
  }
  return found;
}

/// The strategies of an op; what is made of nothing for it is part of them, and
/// of those that differ in that only the cheapest is kept.
FailureOr<std::vector<SearchStrategy>>
SearchGraphReader::strategiesOf(Operation *op) {
  if (std::string why = whyNotLocal(op); !why.empty())
    return op->emitError() << why;
  SmallVector<Value> operands = tensorOperands(op);
  SmallVector<std::optional<FreeCosts>> free(operands.size());
  for (auto [slot, operand] : llvm::enumerate(operands)) {
    if (!isMadeOfNothing(operand))
      continue;
    if (llvm::count(operands, operand) > 1)
      return op->emitError("uses twice what is made of nothing");
    FailureOr<FreeCosts> made = freeCosts(operand.getDefiningOp());
    if (failed(made))
      return failure();
    free[slot] = std::move(*made);
  }
  FailureOr<ArrayRef<SimulatedStrategy>> found = simulator.strategiesOf(op);
  if (failed(found))
    return failure();
  std::vector<SearchStrategy> strategies;
  for (const SimulatedStrategy &known : *found) {
    SearchStrategy strategy = {{}, known.result, costOf(op, known)};
    for (auto [made, need] : llvm::zip(free, known.slots)) {
      if (!made) {
        strategy.needs.push_back(need);
        continue;
      }
      for (const auto &[placement, cost] : *made)
        if (placement == need)
          strategy.cost += cost;
    }
    auto same = llvm::find_if(strategies, [&](const SearchStrategy &other) {
      return other.needs == strategy.needs && other.makes == strategy.makes;
    });
    if (same == strategies.end())
      strategies.push_back(std::move(strategy));
    else
      same->cost = std::min(same->cost, strategy.cost);
  }
  return strategies;
}

LogicalResult SearchGraphReader::readOp(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()) ||
      isMadeOfNothing(op->getResult(0)))
    return success();
  FailureOr<std::vector<SearchStrategy>> strategies = strategiesOf(op);
  if (failed(strategies))
    return failure();
  SearchNode node;
  node.strategies = std::move(*strategies);
  bool allWeights = true, anyWeight = false, allSums = true;
  for (Value operand : tensorOperands(op)) {
    allWeights &= isTable(operand) || isWeight.lookup(operand);
    anyWeight |= isWeight.lookup(operand);
    allSums &= !isWeight.lookup(operand) || isSumOfWeights.lookup(operand);
    if (isMadeOfNothing(operand))
      continue;
    node.slots.push_back(numbers.at(operand));
    ++program.values[node.slots.back()].uses;
  }
  node.result = addValue(op->getResult(0), allWeights && anyWeight,
                         allSums || reduces(op));
  program.nodes.push_back(std::move(node));
  return success();
}

LogicalResult SearchGraphReader::readResult(func::ReturnOp op, unsigned index,
                                            StringRef axis) {
  Value value = op.getOperand(index);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || isMadeOfNothing(value))
    return op.emitError("expected results that are computed tensors");
  auto pin = pinOf(func.getResultAttrDict(index), type, axis);
  if (failed(pin))
    return failure();
  SearchNode node;
  node.slots.push_back(numbers.at(value));
  ++program.values[node.slots[0]].uses;
  auto add = [&](const Placement &placement) {
    node.strategies.push_back({{placement}, {}, {}});
  };
  if (*pin) {
    add(**pin);
  } else {
    // Equal shards, and those that the value's maker can make.
    const SearchNode &maker = program.nodes[makers[node.slots[0]]];
    for (const Placement &placement : placementsOf(type)) {
      bool isMade =
          llvm::any_of(maker.strategies, [&](const SearchStrategy &strategy) {
            return strategy.makes == placement;
          });
      if (placement.isReplicate() ||
          (placement.isShard() &&
           (isMade || type.getDimSize(placement.dim) % costs.ranks == 0)))
        add(placement);
    }
  }
  program.nodes.push_back(std::move(node));
  return success();
}

LogicalResult SearchGraphReader::readResultsThatAre(Value value,
                                                    StringRef axis) {
  for (OpOperand &use : value.getUses())
    if (auto op = dyn_cast<func::ReturnOp>(use.getOwner()))
      if (failed(readResult(op, use.getOperandNumber(), axis)))
        return failure();
  return success();
}

FailureOr<SearchGraph> SearchGraphReader::read(StringRef axis) {
  if (!func.getBody().hasOneBlock())
    return func.emitError("expected a body of one block");
  // Results stand after what makes them: few values are needed at a time, so
  // that the search is short.
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (failed(readArgument(i, axis)) ||
        failed(readResultsThatAre(func.getArgument(i), axis)))
      return failure();
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (failed(readOp(&op)))
      return failure();
    for (Value result : op.getResults())
      if (failed(readResultsThatAre(result, axis)))
        return failure();
  }
  return std::move(program);
}

FailureOr<SearchGraph> tp::readSearchGraph(func::FuncOp func, StringRef axis,
                                           const AxisCosts &costs,
                                           StrategySimulator &simulator) {
  return SearchGraphReader(func, costs, simulator).read(axis);
}
