//===- PortChoices.cpp - the layouts that ports and pins may take ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisModelBuilder.h"
#include "Graph/Heads.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

/// Whether the placements of the port on the parts solved so far stay what they
/// are with `port` on this one: all that shard a dimension count it in one
/// unit.
bool AxisModelBuilder::portFits(unsigned number, const Placement &port) const {
  const Node &node = graph.nodes[number];
  unsigned value =
      node.kind == Node::Kind::Result ? node.slots[0] : node.results[0];
  Layout before, after;
  for (auto [other, made] : llvm::enumerate(decided.of[number])) {
    if (!made)
      continue;
    const Placement &there = made->port;
    if (port.isPartial() && there.isPartial() && !(port == there))
      return false;
    if (!port.isShard() || !there.isShard() || there.dim != port.dim)
      continue;
    if (there.segments != port.segments)
      return false;
    before.entries.push_back({graph.parts[other], there});
    after.entries.push_back({graph.parts[other], port});
  }
  if (before.entries.empty())
    return true;
  int64_t size = graph.type(value).getDimSize(port.dim);
  return before.localSize(port.dim, size) == after.localSize(port.dim, size);
}

std::vector<Placement> AxisModelBuilder::shardsOfUses(unsigned value,
                                                      int64_t dim,
                                                      bool cutsHeads) const {
  std::vector<Placement> shards;
  SmallVector<SlotUse> uses = graph.usesOfTensor(value);
  llvm::SmallDenseSet<unsigned> followed = {value};
  for (size_t next = 0; next < uses.size(); ++next) {
    SlotUse use = uses[next];
    const Node &node = graph.nodes[use.node];
    // What a part of a loop hands on is read by the others: as the argument
    // that it becomes.
    if (node.kind == Node::Kind::Result && node.tiedTo)
      if (unsigned argument = graph.nodes[*node.tiedTo].results.front();
          followed.insert(argument).second)
        llvm::append_range(uses, graph.usesOfTensor(argument));
    if (node.isPort())
      continue;
    SmallVector<unsigned> factors = cutsHeads ? factorsOfDim(graph, use, dim)
                                              : wholeFactors(graph, use, dim);
    for (const Choice &choice : node.rule.legalChoices(part, graph.mesh())) {
      if (choice.kind != ChoiceKind::Split ||
          !llvm::is_contained(factors, choice.factor))
        continue;
      std::optional<Placement> taken = node.rule.slotPlacement(
          use.slot, decided.strategyWith(graph, use.node, partNumber, choice),
          part);
      if (taken && taken->isShard() && !llvm::is_contained(shards, *taken))
        shards.push_back(*taken);
    }
  }
  return shards;
}

std::vector<Placement> AxisModelBuilder::shardsOfMaker(unsigned value) const {
  std::vector<Placement> shards;
  auto [node, result] = makers[value];
  for (const OpChoice &choice : model.problem.ops[node].choices) {
    const Placement &made = choice.makes[result].placement;
    if (made.isShard() && !llvm::is_contained(shards, made))
      shards.push_back(made);
  }
  return shards;
}

void AxisModelBuilder::addPort(unsigned number, const Placement &port) {
  if (!portFits(number, port))
    return;
  Placements placements;
  if (graph.nodes[number].kind == Node::Kind::Result)
    placements.slots.push_back(port);
  else
    placements.results.push_back(port);
  addVersions(number, {{}, port}, placements, Cost());
}

Placement AxisModelBuilder::evenShard(unsigned parameter) const {
  const Node &node = graph.nodes[parameter];
  unsigned value = node.results.front();
  RankedTensorType type = graph.type(value);
  auto isFullySharded = [&](unsigned other) {
    return node.free[other] == FreePort::FullySharded;
  };
  // All parts that shard it fully share the chunks of one dimension, so that
  // one gather brings it together.
  std::optional<Placement> ofOtherPart;
  for (auto [other, made] : llvm::enumerate(decided.of[parameter]))
    if (isFullySharded(other) && made && made->port.isShard())
      ofOtherPart = made->port;
  auto isSharedWithOther = [&](int64_t dim) {
    for (unsigned other = 0; other < graph.parts.size(); ++other) {
      if (isFullySharded(other))
        continue;
      const std::optional<Pin> &pin = node.pins[other];
      const std::optional<Decision> &made = decided.of[parameter][other];
      if ((pin && pin->placement.isShard() && pin->placement.dim == dim) ||
          (made && made->port.isShard() && made->port.dim == dim))
        return true;
    }
    return false;
  };
  // As iterations slice it: what each of them takes, or leaves of a gradient,
  // is no shard.
  auto isCutBy = [&](SlotUse use, int64_t dim) {
    const Node &user = graph.nodes[use.node];
    return !user.isPort() && user.rule.slotFactors[use.slot][dim].empty();
  };
  auto isCutByUse = [&](int64_t dim) {
    return llvm::any_of(graph.usesOfTensor(value), [&](SlotUse use) {
      const Node &user = graph.nodes[use.node];
      bool isGathered = user.kind == Node::Kind::Constrain &&
                        timesOf(graph.entryOf(user)) > 1;
      return isCutBy(use, dim) ||
             (isGathered &&
              llvm::any_of(graph.uses[user.results.front()],
                           [&](SlotUse next) { return isCutBy(next, dim); }));
    });
  };
  Placement best;
  std::tuple<bool, bool, bool, bool, double> least;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim);
    std::vector<Placement> shards = shardsOfUses(value, dim);
    if (shards.empty() && size > 1)
      shards.push_back(Placement::shard(dim));
    if (ofOtherPart && ofOtherPart->dim == dim &&
        !llvm::is_contained(shards, *ofOtherPart))
      shards.push_back(*ofOtherPart);
    for (const Placement &shard : shards) {
      if (!portFits(parameter, shard))
        continue;
      Layout layout;
      for (auto [other, otherPart] : llvm::enumerate(graph.parts))
        if (isFullySharded(other))
          layout.entries.push_back({otherPart, shard});
      double share = static_cast<double>(layout.localSize(dim, size)) /
                     static_cast<double>(size);
      bool isTakenByAll = shard.unit > 1 || shards.size() == 1;
      std::tuple rank(ofOtherPart && *ofOtherPart != shard, isCutByUse(dim),
                      isSharedWithOther(dim), !isTakenByAll, share);
      if (best.isShard() && !(rank < least))
        continue;
      best = shard;
      least = rank;
    }
  }
  return best;
}

std::vector<Placement> AxisModelBuilder::freeLayouts(unsigned parameter) const {
  const Node &node = graph.nodes[parameter];
  unsigned value = node.results.front();
  if (node.free[partNumber] == FreePort::FullySharded)
    return {evenShard(parameter)};
  std::vector<Placement> found;
  // Of a weight a minor sub-axis goes on where the major one has cut, or the
  // ranks share the heads. States and what iterations carry may be cut
  // anywhere: query heads in groups, and within a group.
  std::optional<int64_t> cut;
  bool isCutByMinor = false;
  for (auto [other, made] : llvm::enumerate(decided.of[parameter])) {
    if (graph.parts[other].axis != part.axis || !made || !made->port.isShard())
      continue;
    cut = made->port.dim;
    isCutByMinor |= graph.parts[other].major > part.major;
  }
  if (cut && node.free[partNumber] == FreePort::Sharded) {
    HeadSharing sharing = headSharing(graph, value, *cut, part);
    if (!isCutByMinor && sharing == HeadSharing::All)
      return {Placement::replicate()};
    for (const Placement &shard : shardsOfUses(value, *cut))
      if (portFits(parameter, shard))
        found.push_back(shard);
    if (found.empty() || (!isCutByMinor && sharing == HeadSharing::Some))
      found.push_back(Placement::replicate());
    return found;
  }
  bool addsUp = node.free[partNumber] == FreePort::Carried;
  // Of states and what iterations carry, the least that is sent decides.
  bool isAny = node.free[partNumber] == FreePort::Any || addsUp;
  if (isAny)
    found.push_back(Placement::replicate());
  for (int64_t dim = 0; dim < graph.type(value).getRank(); ++dim)
    if (graph.type(value).getDimSize(dim) > 1)
      for (const Placement &shard : shardsOfUses(value, dim, isAny))
        if (portFits(parameter, shard))
          found.push_back(shard);
  Type element = graph.type(value).getElementType();
  if (addsUp && (isa<FloatType>(element) || element.isInteger(32) ||
                 element.isInteger(64)))
    found.push_back(Placement::partial(ReductionKind::Sum));
  if (found.empty())
    found.push_back(Placement::replicate());
  return found;
}

void AxisModelBuilder::addFreePort(unsigned number) {
  const Node &node = graph.nodes[number];
  bool isTied = node.free[partNumber] == FreePort::AsParameter;
  unsigned parameter = number;
  while (graph.nodes[parameter].free[partNumber] == FreePort::AsParameter)
    parameter = *graph.nodes[parameter].tiedTo;
  for (const Placement &placement : freeLayouts(parameter))
    addPort(number, placement);
  if (isTied)
    model.problem.tied.push_back({*node.tiedTo, number});
}

void AxisModelBuilder::addPinnedPorts(unsigned number, const Pin &pin,
                                      const std::vector<Placement> &shards) {
  bool isInChunks = false;
  if (pin.inChunksOfUses)
    for (const Placement &shard : shards) {
      if (!pin.allows(shard))
        continue;
      isInChunks = true;
      addPort(number, shard);
    }
  if (!isInChunks)
    addPort(number, pin.placement);
  if (pin.orReplicate)
    addPort(number, Placement::replicate());
}

void AxisModelBuilder::addArgument(unsigned number) {
  const Node &node = graph.nodes[number];
  unsigned value = node.results.front();
  const Pin *pin = pinOf(number);
  if (node.free[partNumber])
    return addFreePort(number);
  if (!pin) {
    addPort(number, Placement::replicate());
    if (relaxed.empty() || !relaxed[number])
      return;
    for (unsigned dim = 0; dim < graph.type(value).getRank(); ++dim)
      if (graph.type(value).getDimSize(dim) % part.size == 0)
        addPort(number, Placement::shard(dim));
    return;
  }
  std::vector<Placement> shards;
  if (pin->inChunksOfUses)
    shards = shardsOfUses(value, pin->placement.dim);
  addPinnedPorts(number, *pin, shards);
  // No use goes on where the parts solved so far have cut: the chunks that they
  // made are cut on, and uses of other chunks read a redistribution.
  if (!model.decisions[number].empty() || !pin->inChunksOfUses)
    return;
  for (const std::optional<Decision> &earlier : decided.of[number])
    if (earlier && pin->allows(earlier->port)) {
      addPort(number, earlier->port);
      return;
    }
}

void AxisModelBuilder::addResult(unsigned number) {
  const Node &node = graph.nodes[number];
  if (node.free[partNumber])
    return addFreePort(number);
  unsigned value = node.slots.front();
  std::vector<Placement> made = shardsOfMaker(value);
  // The argument that it updates may have the chunks of its readers.
  if (node.tiedTo)
    for (const Decision &argument : model.decisions[*node.tiedTo])
      if (argument.port.isShard() && !llvm::is_contained(made, argument.port))
        made.push_back(argument.port);
  if (const Pin *pin = pinOf(number))
    return addPinnedPorts(number, *pin, made);
  addPort(number, Placement::replicate());
  RankedTensorType type = graph.type(value);
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) > 1 && type.getDimSize(dim) % part.size == 0 &&
        !llvm::is_contained(made, Placement::shard(dim)))
      made.push_back(Placement::shard(dim));
  for (const Placement &shard : made)
    addPort(number, shard);
}

/// A port takes the layout of the parameter that it is tied to, unless none of
/// those that either may have is one of both.
bool AxisModelBuilder::canBeEqual(unsigned one, unsigned other) const {
  return llvm::any_of(model.decisions[one], [&](const Decision &wanted) {
    return llvm::any_of(model.decisions[other], [&](const Decision &made) {
      return made.port == wanted.port;
    });
  });
}

void AxisModelBuilder::addTiedPort(unsigned number) {
  std::optional<unsigned> parameter = graph.nodes[number].tiedTo;
  if (!parameter || !pinOf(number) || !pinOf(*parameter))
    return;
  if (canBeEqual(number, *parameter))
    model.problem.tied.push_back({*parameter, number});
}

void AxisModelBuilder::addSharedPort(unsigned number) {
  std::optional<unsigned> first = graph.nodes[number].sharedWith;
  // Without a pin that has been left out, to find one that conflicts, an
  // argument may have other layouts.
  if (first && (relaxed.empty() || canBeEqual(number, *first)))
    model.problem.tied.push_back({*first, number});
}

void AxisModelBuilder::addConstrain(unsigned number) {
  const Node &node = graph.nodes[number];
  const Pin *pin = pinOf(number);
  SmallVector<Choice> legal = node.rule.legalChoices(part, graph.mesh());
  if (!pin) {
    for (const Choice &choice : legal)
      add(number, choice);
    return;
  }
  auto pass = [](ReductionKind kind) { return Choice::passthrough(kind, {0}); };
  const Placement &placement = pin->placement;
  if (placement.isPartial()) {
    OpChoice costs;
    costs.needs.push_back({{placement}});
    costs.makes.push_back({placement});
    partialKinds[node.results[0]] |= bit(placement.reduction);
    add(number, {pass(placement.reduction), {}}, std::move(costs));
    return;
  }
  if (placement.isShard())
    for (const Choice &choice : legal)
      if (choice.kind == ChoiceKind::Split &&
          !(pin->orReplicate && leavesRanksIdle(number, choice)) &&
          pin->allows(*node.rule.resultPlacement(0, {{{part, choice}}}, part)))
        add(number, choice);
  if (placement.isReplicate() || pin->orReplicate)
    add(number, Choice::replicate());
  if (!pin->lazy || !placement.isReplicate())
    return;
  unsigned source = node.slots.front();
  for (const PartialPassthrough &known : node.rule.passthroughs) {
    Kinds kind = bit(known.kind);
    if (!((partialKinds[source] | pendingKinds[source]) & kind) ||
        !placementsOf(number, pass(known.kind)))
      continue;
    bool pending = !options.allowSplitAllReduce;
    (pending ? pendingKinds : partialKinds)[node.results.front()] |= kind;
    AxisState state = {Placement::partial(known.kind), pending};
    OpChoice costs;
    costs.needs.push_back({state});
    costs.makes.push_back(state);
    add(number, {pass(known.kind), {}}, std::move(costs));
  }
}
