//===- AxisModel.cpp - the assignment problem of one axis part ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisModelBuilder.h"
#include "tp/IR/ElementBytes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

Strategy Decisions::strategyWith(const AssignmentGraph &graph, unsigned node,
                                 unsigned part, const Choice &choice) const {
  Strategy strategy;
  for (unsigned other = 0; other < graph.parts.size(); ++other) {
    if (other == part)
      strategy.entries.push_back({graph.parts[other], choice});
    else if (const std::optional<Decision> &earlier = of[node][other];
             earlier && earlier->choice.kind != ChoiceKind::Replicate)
      strategy.entries.push_back({graph.parts[other], earlier->choice});
  }
  return strategy;
}

AxisModelBuilder::AxisModelBuilder(const AssignmentGraph &graph,
                                   unsigned partNumber,
                                   const Decisions &decided,
                                   const AssignmentOptions &options,
                                   ArrayRef<bool> relaxed)
    : graph(graph), partNumber(partNumber), part(graph.parts[partNumber]),
      decided(decided), options(options), relaxed(relaxed),
      makers(makersOf(graph)), readsData(dividesData(graph, partNumber)),
      partialKinds(graph.values.size(), 0),
      pendingKinds(graph.values.size(), 0) {
  model.problem.costs.ranks = part.size;
  model.problem.costs.machine =
      options.hardware.machineAlong(graph.mesh(), part);
  model.problem.costs.objective = options.objective;
  for (unsigned value = 0; value < graph.values.size(); ++value)
    bytes.push_back(bytesOf(value));
}

void Decisions::recordReductions(unsigned part,
                                 ArrayRef<PlannedCollective> made) {
  for (auto &ofValue : reduced)
    ofValue[part].reset();
  for (const PlannedCollective &collective : made)
    if (collective.from.placement.isPartial() &&
        !reduced[collective.value][part])
      reduced[collective.value][part] = collective.kind;
}

std::vector<std::pair<unsigned, unsigned>>
AxisModelBuilder::makersOf(const AssignmentGraph &graph) {
  std::vector<std::pair<unsigned, unsigned>> makers(graph.values.size());
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    for (auto [result, value] : llvm::enumerate(node.results))
      makers[value] = {static_cast<unsigned>(number),
                       static_cast<unsigned>(result)};
  return makers;
}

/// Bytes of the value on one rank as the parts solved so far lay it out.
int64_t AxisModelBuilder::bytesOf(unsigned value) const {
  RankedTensorType type = graph.type(value);
  double bytes = static_cast<double>(type.getNumElements()) *
                 static_cast<double>(elementBytes(type.getElementType()));
  auto [number, result] = makers[value];
  const Node &node = graph.nodes[number];
  auto isShard = [&, result = result](const Decision &made) {
    if (node.isPort())
      return made.port.isShard();
    return made.choice.kind == ChoiceKind::Split &&
           llvm::any_of(node.rule.resultFactors[result],
                        [&](const DimFactors &dim) {
                          return llvm::is_contained(dim, made.choice.factor);
                        });
  };
  for (auto [other, made] : llvm::enumerate(decided.of[number]))
    if (made && isShard(*made))
      bytes /= static_cast<double>(graph.parts[other].size);
  return std::max<int64_t>(1, saturatingRound(bytes));
}

SmallVector<int64_t, 1>
AxisModelBuilder::dimsShardedByMinor(unsigned value) const {
  auto [number, result] = makers[value];
  const Node &node = graph.nodes[number];
  SmallVector<int64_t, 1> dims;
  for (unsigned minor = partNumber + 1; minor < graph.parts.size(); ++minor) {
    const std::optional<Decision> &made = decided.of[number][minor];
    if (!made || graph.parts[minor].size == 1)
      continue;
    Placement placement = made->port;
    if (!node.isPort()) {
      Strategy strategy;
      strategy.entries.push_back({graph.parts[minor], made->choice});
      placement =
          node.rule.resultPlacement(result, strategy, graph.parts[minor])
              .value_or(Placement());
    }
    if (placement.isShard() && !llvm::is_contained(dims, placement.dim))
      dims.push_back(placement.dim);
  }
  return dims;
}

std::optional<AxisModelBuilder::Placements>
AxisModelBuilder::placementsOf(unsigned number, const Choice &choice) const {
  const Node &node = graph.nodes[number];
  Strategy strategy = decided.strategyWith(graph, number, partNumber, choice);
  if (choice.kind == ChoiceKind::Split) {
    const Factor &factor = node.rule.factors[choice.factor];
    int64_t ranks = 1;
    for (AxisPart other : strategy.partsSplitting(choice.factor))
      ranks *= other.size;
    bool agree = llvm::all_of(strategy.entries, [&](const AxisChoice &entry) {
      return entry.choice.kind != ChoiceKind::Split ||
             entry.choice.factor != choice.factor ||
             entry.choice.segments == choice.segments;
    });
    if (!agree || (!factor.allowsUneven && factor.size % ranks != 0))
      return std::nullopt;
  }
  Placements found;
  // Sums of maxima are not maxima of sums: one tensor is partial of one kind.
  auto addTo = [&](SmallVectorImpl<Placement> &placements, auto onPart) {
    std::optional<Placement> here = onPart(part);
    if (!here)
      return false;
    auto agrees = [&](const AxisChoice &entry) {
      std::optional<Placement> there = onPart(entry.part);
      return there && (!there->isPartial() || *there == *here);
    };
    if (here->isPartial() && !llvm::all_of(strategy.entries, agrees))
      return false;
    placements.push_back(std::move(*here));
    return true;
  };
  for (unsigned slot = 0; slot < node.slots.size(); ++slot)
    if (!addTo(found.slots, [&](AxisPart on) {
          return node.rule.slotPlacement(slot, strategy, on);
        }))
      return std::nullopt;
  for (unsigned result = 0; result < node.results.size(); ++result)
    if (!addTo(found.results, [&](AxisPart on) {
          return node.rule.resultPlacement(result, strategy, on);
        }))
      return std::nullopt;
  return found;
}

/// What an op computes with: the numbers it takes (of a product that adds up in
/// more bits, what is multiplied), or else makes.
static NumberClass numbersOf(const AssignmentGraph &graph, const Node &node) {
  std::optional<NumberClass> found;
  for (unsigned value :
       llvm::concat<const unsigned>(node.slots, node.results)) {
    Type type = graph.type(value).getElementType();
    if (auto complex = dyn_cast<ComplexType>(type))
      type = complex.getElementType();
    if (auto real = dyn_cast<FloatType>(type))
      return numberClass(true, real.getWidth());
    found = NumberClass::Integer;
  }
  return found.value_or(NumberClass::F32);
}

Cost AxisModelBuilder::costOf(unsigned number, const Choice &choice) const {
  std::optional<Placements> placements = placementsOf(number, choice);
  return placements ? costOf(number, choice, *placements) : Cost();
}

Cost AxisModelBuilder::costOf(unsigned number, const Choice &choice,
                              const Placements &placements) const {
  const Node &node = graph.nodes[number];
  if (node.rule.work == 0)
    return {};
  double work = node.rule.work, touched = 0;
  auto share = [](int64_t size, int64_t ranks) {
    return size ? static_cast<double>(llvm::divideCeil(size, ranks)) /
                      static_cast<double>(size)
                : 1;
  };
  auto divide = [&](const Choice &made, AxisPart over) {
    if (made.kind != ChoiceKind::Split)
      return;
    const Factor &factor = node.rule.factors[made.factor];
    // Of a split table every rank still looks up all indices.
    if (factor.kind != FactorKind::Indexed)
      work *= share(factor.size, over.size);
  };
  divide(choice, part);
  for (auto [other, earlier] : llvm::enumerate(decided.of[number]))
    if (earlier)
      divide(earlier->choice, graph.parts[other]);
  auto touch = [&](unsigned value, const Placement &placement) {
    double all = static_cast<double>(bytes[value]);
    touched += placement.isShard()
                   ? all * share(graph.type(value).getDimSize(placement.dim),
                                 part.size)
                   : all;
  };
  for (auto [value, placement] : llvm::zip(node.slots, placements.slots))
    touch(value, placement);
  for (auto [value, placement] : llvm::zip(node.results, placements.results))
    touch(value, placement);
  NumberClass numbers = numbersOf(graph, node);
  Cost cost = model.problem.costs.compute(work, touched, numbers);
  // What computes indices and masks is little work.
  if (readsData[number] && choice.kind != ChoiceKind::Split &&
      numbers != NumberClass::Integer)
    cost.primary = saturatingAdd(cost.primary, repeatedWorkPenalty);
  return cost.times(graph.callsOf(node));
}

bool propagate::isAutoAxis(const AssignmentGraph &graph, unsigned axis) {
  func::FuncOp function = graph.func;
  auto axes = function->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(
      attr::autoAxes);
  auto name =
      StringAttr::get(function.getContext(), graph.mesh().axes[axis].name);
  return axes && llvm::is_contained(axes, Attribute(name));
}

std::vector<double> propagate::sharesOfStep(const AssignmentGraph &graph) {
  std::vector<double> shares(graph.values.size(), 0);
  double steps = static_cast<double>(graph.nodes.size());
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    for (unsigned value : node.results) {
      unsigned last = number;
      for (SlotUse use : graph.uses[value])
        last = std::max(last, use.node);
      bool isNothing = node.kind == Node::Kind::Op && isFreeProducer(node.op);
      shares[value] = node.kind == Node::Kind::Argument ? 1
                      : isNothing ? 0
                                  : (last - number) / steps;
    }
  return shares;
}

/// What fully sharded parameters make without data: a plan asks for their
/// gathers, so that these cost what they send.
static std::vector<bool> fullyShardedWeights(const AssignmentGraph &graph,
                                             unsigned part) {
  std::vector<bool> found(graph.values.size());
  for (const Node &node : graph.nodes) {
    bool isSharded = node.kind == Node::Kind::Argument
                         ? node.free[part] == FreePort::FullySharded
                         : llvm::any_of(node.slots, [&](unsigned slot) {
                             return found[slot];
                           });
    for (unsigned value : node.results)
      found[value] = isSharded && graph.isWeight[value];
  }
  return found;
}

/// Parameters that are whole become so again where their states, and so their
/// updates, are sharded: no data moves.
static std::vector<bool> updatesOfWhole(const AssignmentGraph &graph,
                                        unsigned part) {
  std::vector<bool> found(graph.values.size());
  if (llvm::any_of(graph.nodes, [&](const Node &node) {
        return node.kind == Node::Kind::Argument &&
               node.free[part] == FreePort::FullySharded;
      }))
    for (const Node &node : graph.nodes)
      if (node.kind == Node::Kind::Result && node.tiedTo &&
          graph.isWeight[graph.nodes[*node.tiedTo].results.front()])
        found[node.slots.front()] = true;
  return found;
}

AxisModel AxisModelBuilder::build() {
  model.problem.costs.countsHalves = isAutoAxis(graph, part.axis);
  model.decisions.resize(graph.nodes.size());
  model.problem.ops.resize(graph.nodes.size());
  int64_t gatherPenalty =
      isDataParallel(graph, partNumber) ? dataMovementPenalty : 0;
  std::vector<bool> gathered = fullyShardedWeights(graph, partNumber);
  std::vector<bool> updated = updatesOfWhole(graph, partNumber);
  int64_t perCollective =
      model.problem.costs.collective(CollectiveKind::AllGather, 0, part.size)
          .primary;
  std::vector<double> held = options.bytePrice > 0
                                 ? sharesOfStep(graph)
                                 : std::vector<double>(graph.values.size());
  for (unsigned value = 0; value < graph.values.size(); ++value) {
    AxisValue &costs = model.problem.values.emplace_back();
    costs.bytes = bytes[value];
    costs.calls = graph.calls[value];
    costs.shardedByMinor = dimsShardedByMinor(value);
    costs.bytePrice = options.bytePrice * held[value];
    if (graph.movesWeights(value))
      costs.collectiveFactor = gathered[value] ? 1 : weightPenalty;
    else if (!graph.isWeight[value] && !updated[value])
      costs.gatherPenalty = gatherPenalty;
    // Iterations gather the slices that they take: as many bytes, less memory.
    if (int64_t more = graph.slices[value] - 1)
      costs.gatherPenalty = saturatingAdd(
          costs.gatherPenalty,
          saturatingRound(static_cast<double>(costs.collectiveFactor) *
                              static_cast<double>(more) *
                              static_cast<double>(perCollective) +
                          1));
    for (auto [other, kind] : llvm::enumerate(decided.reduced[value]))
      if (kind && other != partNumber) {
        costs.reducedOver *= graph.parts[other].size;
        costs.reducedBy = *kind;
      }
  }
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    AxisOp &op = model.problem.ops[number];
    op.slots = node.slots;
    op.results = node.results;
    op.key = node.key;
    switch (node.kind) {
    case Node::Kind::Argument:
      addArgument(number);
      break;
    case Node::Kind::Op:
      addOp(number);
      break;
    case Node::Kind::Constrain:
      addConstrain(number);
      break;
    case Node::Kind::Result:
      addResult(number);
      break;
    }
  }
  for (unsigned number = 0; number < graph.nodes.size(); ++number) {
    addTiedPort(number);
    addSharedPort(number);
  }
  return std::move(model);
}

AxisModel propagate::buildAxisModel(const AssignmentGraph &graph, unsigned part,
                                    const Decisions &decided,
                                    const AssignmentOptions &options,
                                    ArrayRef<bool> relaxed) {
  return AxisModelBuilder(graph, part, decided, options, relaxed).build();
}
