//===- ActivationGraph.cpp - what of a program reaches what ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeModel/ActivationGraph.h"
#include "Parameters/CarriedWeights.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

/// Whether the op belongs to the backward pass or the optimizer of a step.
static bool isOfBackward(Operation *op) {
  return isOfBackwardPass(op->getLoc()) ||
         moduleOf(op->getLoc()).starts_with("<optim");
}

ActivationGraph::ActivationGraph(func::FuncOp function,
                                 ArrayRef<ParameterUse> uses)
    : arguments(function.getArguments()) {
  Activations activations =
      activationsBeside(argumentWeights(function), function);
  for (BlockArgument argument : arguments)
    nodes.emplace_back().isActivation = activations.contains(argument);
  for (Operation &op : function.getBody().front()) {
    Node node;
    node.op = &op;
    node.isForward = !isOfBackward(&op);
    llvm::SetVector<Value> read(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), read);
    for (Value value : read)
      node.sources.push_back(nodeOf(value));
    node.isActivation = llvm::any_of(
        read, [&](Value value) { return activations.contains(value); });
    numbers[&op] = nodes.size();
    nodes.push_back(std::move(node));
  }
  addLinears(function, uses);
}

/// The backward pass contracts a weight along other dimensions than the
/// forward pass, which comes first.
void ActivationGraph::addLinears(func::FuncOp function,
                                 ArrayRef<ParameterUse> uses) {
  llvm::DenseMap<Value, const ParameterUse *> first;
  for (const ParameterUse &use : uses) {
    unsigned number = use.parameter.getArgNumber();
    auto kind = function.getArgAttrOfType<StringAttr>(number, attr::kind);
    if (use.isGather || !kind || kind.getValue() != "parameter" ||
        use.op->getBlock() != &function.getBody().front() ||
        isOfBackward(use.op))
      continue;
    const ParameterUse *known =
        first.try_emplace(use.parameter, &use).first->second;
    if (known->contracted != use.contracted)
      continue;
    unsigned node = numbers.lookup(use.op), input = nodeOf(use.input->get());
    if (!nodes[input].isActivation || nodes[node].linear)
      continue;
    nodes[node].linear = layers.size();
    layers.push_back({&use, node, input});
  }
}

unsigned ActivationGraph::nodeOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber();
  return numbers.lookup(value.getDefiningOp());
}

Value ActivationGraph::value(unsigned node) const {
  if (node < arguments.size())
    return arguments[node];
  return op(node)->getNumResults() == 1 ? op(node)->getResult(0) : Value();
}

std::optional<unsigned> ActivationGraph::linearAt(unsigned node) const {
  return nodes[node].linear;
}

std::vector<unsigned>
ActivationGraph::before(unsigned from, const llvm::BitVector &stops) const {
  llvm::DenseSet<unsigned> seen{from};
  std::vector<unsigned> worklist{from};
  for (size_t next = 0; next < worklist.size(); ++next) {
    unsigned node = worklist[next];
    if (nodes[node].linear || stops[node])
      continue;
    for (unsigned source : nodes[node].sources)
      if (seen.insert(source).second)
        worklist.push_back(source);
  }
  llvm::sort(worklist);
  return worklist;
}

SmallVector<unsigned>
ActivationGraph::linearsBefore(unsigned from,
                               const llvm::BitVector &stops) const {
  SmallVector<unsigned> found;
  for (unsigned node : before(from, stops))
    if (nodes[node].linear)
      found.push_back(*nodes[node].linear);
  return found;
}

bool ActivationGraph::reachesByLinear(unsigned from, unsigned to) const {
  if (from >= to)
    return false;
  // What a linear layer reads as its weight is no way.
  auto sourcesOf = [&](unsigned node) {
    const Node &each = nodes[node];
    return each.linear ? ArrayRef(layers[*each.linear].input)
                       : ArrayRef<unsigned>(each.sources);
  };
  llvm::DenseSet<unsigned> seen{to};
  std::vector<unsigned> between{to};
  bool isReached = false;
  for (size_t next = 0; next < between.size(); ++next)
    for (unsigned source : sourcesOf(between[next])) {
      isReached |= source == from;
      if (source > from && seen.insert(source).second)
        between.push_back(source);
    }
  if (!isReached)
    return false;
  llvm::sort(between);
  llvm::DenseSet<unsigned> reached{from}, byLinear;
  for (unsigned node : between) {
    bool isHere = false, isBehind = false;
    for (unsigned source : sourcesOf(node)) {
      isHere |= reached.contains(source);
      isBehind |= byLinear.contains(source);
    }
    if (isHere)
      reached.insert(node);
    if (isHere && (isBehind || nodes[node].linear))
      byLinear.insert(node);
  }
  return byLinear.contains(to);
}

llvm::BitVector ActivationGraph::reaching(const llvm::BitVector &to) const {
  llvm::BitVector found = to;
  for (unsigned node = nodes.size(); node-- > 0;)
    if (found[node])
      for (unsigned source : nodes[node].sources)
        found.set(source);
  return found;
}

unsigned ActivationGraph::unviewed(unsigned node) const {
  while (Operation *op = nodes[node].op) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!viewSource(op) &&
        (!linalgOp || linalgOp.getNumParallelLoops() != linalgOp.getNumLoops()))
      return node;
    std::optional<unsigned> only;
    for (unsigned source : nodes[node].sources)
      if (nodes[source].isActivation) {
        if (only)
          return node;
        only = source;
      }
    Value from = only ? value(*only) : Value(), made = value(node);
    auto fromType = from ? dyn_cast<RankedTensorType>(from.getType()) : nullptr;
    auto type = made ? dyn_cast<RankedTensorType>(made.getType()) : nullptr;
    if (!fromType || !type ||
        fromType.getNumElements() != type.getNumElements())
      return node;
    node = *only;
  }
  return node;
}
