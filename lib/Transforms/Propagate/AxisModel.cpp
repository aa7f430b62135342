//===- AxisModel.cpp - the assignment problem of one axis -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisModel.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

/// Weights are used as they lie: bringing one to another layout has to cost
/// more than anything that can be done with activations instead.
static constexpr int64_t weightFactor = 1000;

namespace {
/// Kinds of partial values, as a set.
using Kinds = unsigned;
Kinds bit(ReductionKind kind) { return 1u << static_cast<unsigned>(kind); }

class ModelBuilder {
public:
  ModelBuilder(const Program &program, unsigned axis, const Decisions &decided,
               const ModelOptions &options, ArrayRef<bool> relaxed)
      : program(program), axis(axis), part(program.mesh().wholeAxis(axis)),
        decided(decided), options(options), relaxed(relaxed),
        partialKinds(program.values.size(), 0),
        pendingKinds(program.values.size(), 0) {}
  AxisModel build();

private:
  const Pin *pinOf(unsigned node) const {
    const std::optional<Pin> &pin = program.nodes[node].pins[axis];
    return pin && (relaxed.empty() || !relaxed[node]) ? &*pin : nullptr;
  }
  int64_t bytesOf(unsigned value) const;
  uint64_t unevenDimsOf(unsigned value) const;
  void addArgument(unsigned number);
  void addResult(unsigned number);
  void addConstrain(unsigned number);
  void addOp(unsigned number);

  bool isPossible(const Node &node, unsigned number,
                  const Choice &choice) const;
  Cost costOf(const Node &node, unsigned number, const Choice &choice) const;
  /// Adds a choice, and where pending partials may come in, its other version
  /// that takes and makes those.
  void add(unsigned number, const Choice &choice, Cost cost);
  void add(unsigned number, const Choice &choice, OpChoice costs);

  const Program &program;
  unsigned axis;
  AxisPart part;
  const Decisions &decided;
  const ModelOptions &options;
  ArrayRef<bool> relaxed;
  AxisModel model;
  /// The maker of every value, as (node, result).
  std::vector<std::pair<unsigned, unsigned>> makers;
  /// Kinds a value can be partial of without having been made so from a
  /// replicated one, and those in which it can be pending.
  std::vector<Kinds> partialKinds, pendingKinds;
};
} // namespace

/// The choice of an argument or result that has `placement`.
static Choice choiceOf(const Placement &placement) {
  if (placement.isShard())
    return Choice::split(placement.dim);
  if (placement.isPartial())
    return Choice::pass(placement.reduction, {});
  return Choice::replicate();
}

static Placement placementOf(const Choice &choice) {
  switch (choice.kind) {
  case ChoiceKind::Replicate:
    return Placement::replicate();
  case ChoiceKind::Split:
    return Placement::shard(choice.factor);
  case ChoiceKind::Pass:
    return Placement::partial(choice.reduction);
  }
  return {};
}

Placement propagate::slotPlacement(const Node &node, unsigned slot,
                                   const Choice &choice) {
  return node.kind == Node::Kind::Result
             ? placementOf(choice)
             : node.rule.slotPlacement(slot, choice);
}

Placement propagate::resultPlacement(const Node &node, unsigned result,
                                     const Choice &choice) {
  return node.kind == Node::Kind::Argument
             ? placementOf(choice)
             : node.rule.resultPlacement(result, choice);
}

/// Bytes of the value on one rank as the axes solved so far lay it out.
int64_t ModelBuilder::bytesOf(unsigned value) const {
  RankedTensorType type = program.type(value);
  Type element = type.getElementType();
  double bytes = static_cast<double>(type.getNumElements()) *
                 (element.isIntOrFloat()
                      ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                      : 8);
  auto [node, result] = makers[value];
  for (auto [other, choice] : llvm::enumerate(decided.choices[node]))
    if (choice &&
        resultPlacement(program.nodes[node], result, *choice).isShard())
      bytes /= program.mesh().axes[other].size;
  return std::max<int64_t>(1, saturatingRound(bytes));
}

uint64_t ModelBuilder::unevenDimsOf(unsigned value) const {
  uint64_t uneven = 0;
  auto [node, result] = makers[value];
  ArrayRef<int64_t> shape = program.type(value).getShape();
  for (auto [dim, size] : llvm::enumerate(shape.take_front(64))) {
    int64_t ranks = part.size;
    for (auto [other, choice] : llvm::enumerate(decided.choices[node]))
      if (choice && resultPlacement(program.nodes[node], result, *choice) ==
                        Placement::shard(dim))
        ranks *= program.mesh().axes[other].size;
    if (size % ranks != 0)
      uneven |= uint64_t(1) << dim;
  }
  return uneven;
}

/// What the axes solved so far leave to a choice.
bool ModelBuilder::isPossible(const Node &node, unsigned number,
                              const Choice &choice) const {
  const Mesh &mesh = program.mesh();
  bool isPort =
      node.kind == Node::Kind::Argument || node.kind == Node::Kind::Result;
  int64_t size = 0;
  if (choice.kind == ChoiceKind::Split) {
    size = isPort ? program
                        .type(node.kind == Node::Kind::Result ? node.slots[0]
                                                              : node.results[0])
                        .getDimSize(choice.factor)
                  : node.rule.factors[choice.factor].size;
    int64_t ranks = part.size;
    for (auto [other, earlier] : llvm::enumerate(decided.choices[number]))
      if (earlier && *earlier == choice)
        ranks *= mesh.axes[other].size;
    // An uneven pin of an argument has been checked against its uses.
    bool allowsUneven = isPort ? ranks == part.size && pinOf(number)
                               : node.rule.factors[choice.factor].allowsUneven;
    if (size % ranks != 0 && !allowsUneven)
      return false;
  }
  // Sums of maxima are not maxima of sums: one tensor is partial of one kind.
  auto agrees = [&](auto placement, unsigned which) {
    Placement here = placement(node, which, choice);
    return llvm::all_of(decided.choices[number],
                        [&](const std::optional<Choice> &earlier) {
                          if (!earlier || !here.isPartial())
                            return true;
                          Placement there = placement(node, which, *earlier);
                          return !there.isPartial() || there == here;
                        });
  };
  for (unsigned slot = 0; slot < node.slots.size(); ++slot)
    if (!agrees(slotPlacement, slot))
      return false;
  for (unsigned result = 0; result < node.results.size(); ++result)
    if (!agrees(resultPlacement, result))
      return false;
  return true;
}

Cost ModelBuilder::costOf(const Node &node, unsigned number,
                          const Choice &choice) const {
  if (node.rule.work == 0)
    return {};
  auto ranks = static_cast<double>(part.size);
  double work = node.rule.work, bytes = 0;
  // Of a split table every rank still looks up all indices.
  auto divides = [&](const Choice &made) {
    return made.kind == ChoiceKind::Split &&
           node.rule.factors[made.factor].kind != FactorKind::Indexed;
  };
  if (divides(choice))
    work /= ranks;
  for (auto [other, earlier] : llvm::enumerate(decided.choices[number]))
    if (earlier && divides(*earlier))
      work /= static_cast<double>(program.mesh().axes[other].size);
  auto touch = [&](unsigned value, const Placement &placement) {
    bytes +=
        static_cast<double>(bytesOf(value)) / (placement.isShard() ? ranks : 1);
  };
  for (auto [slot, value] : llvm::enumerate(node.slots))
    touch(value, slotPlacement(node, slot, choice));
  for (auto [result, value] : llvm::enumerate(node.results))
    touch(value, resultPlacement(node, result, choice));
  return model.layouts.costs.compute(work, bytes);
}

void ModelBuilder::add(unsigned number, const Choice &choice, OpChoice costs) {
  model.layouts.ops[number].choices.push_back(std::move(costs));
  model.choices[number].push_back(choice);
}

void ModelBuilder::add(unsigned number, const Choice &choice, Cost cost) {
  const Node &node = program.nodes[number];
  if (!isPossible(node, number, choice))
    return;
  bool isPin =
      node.kind == Node::Kind::Constrain || node.kind == Node::Kind::Result;
  OpChoice costs;
  costs.cost = cost;
  bool takesPartial = false, takesPending = false;
  for (auto [slot, value] : llvm::enumerate(node.slots)) {
    Placement placement = slotPlacement(node, slot, choice);
    costs.needs.push_back(
        {{placement}, !options.noImplicitCollectives || isPin});
    if (!placement.isPartial())
      continue;
    takesPartial |= (partialKinds[value] & bit(placement.reduction)) != 0;
    takesPending |= (pendingKinds[value] & bit(placement.reduction)) != 0;
  }
  for (unsigned result = 0; result < node.results.size(); ++result)
    costs.makes.push_back({resultPlacement(node, result, choice)});
  // Making partials of replicated values only, to pass them on, gains nothing.
  bool isPass = choice.kind == ChoiceKind::Pass && !choice.slots.empty();
  if (isPass && !takesPartial && !takesPending)
    return;
  auto note = [&](std::vector<Kinds> &kinds) {
    for (auto [result, value] : llvm::enumerate(node.results))
      if (costs.makes[result].placement.isPartial())
        kinds[value] |= bit(costs.makes[result].placement.reduction);
  };
  if (!isPass || takesPartial) {
    if (choice.kind != ChoiceKind::Pass || isPass ||
        node.kind == Node::Kind::Argument)
      note(partialKinds);
    add(number, choice, costs);
  }
  if (!takesPending)
    return;
  note(pendingKinds);
  for (Need &need : costs.needs)
    need.state.pending = need.state.placement.isPartial();
  for (AxisState &state : costs.makes)
    state.pending = state.placement.isPartial();
  add(number, choice, std::move(costs));
}

void ModelBuilder::addArgument(unsigned number) {
  const Node &node = program.nodes[number];
  if (const Pin *pin = pinOf(number))
    return add(number, choiceOf(pin->placement), Cost());
  add(number, Choice::replicate(), Cost());
  unsigned value = node.results.front();
  bool isFree = !relaxed.empty() && relaxed[number];
  if (!isFree && !(options.autoParameters && program.isWeight[value]))
    return;
  for (unsigned dim = 0; dim < program.type(value).getRank(); ++dim)
    add(number, Choice::split(dim), Cost());
}

void ModelBuilder::addResult(unsigned number) {
  const Node &node = program.nodes[number];
  if (const Pin *pin = pinOf(number))
    return add(number, choiceOf(pin->placement), Cost());
  add(number, Choice::replicate(), Cost());
  RankedTensorType type = program.type(node.slots.front());
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) > 1)
      add(number, Choice::split(dim), Cost());
}

void ModelBuilder::addConstrain(unsigned number) {
  const Node &node = program.nodes[number];
  const Pin *pin = pinOf(number);
  if (!pin) {
    for (const Choice &choice : node.rule.legalChoices(part, program.mesh()))
      add(number, choice, Cost());
    return;
  }
  auto pass = [](ReductionKind kind) { return Choice::pass(kind, {0}); };
  const Placement &placement = pin->placement;
  if (placement.isPartial()) {
    OpChoice costs;
    costs.needs.push_back({{placement}});
    costs.makes.push_back({placement});
    partialKinds[node.results[0]] |= bit(placement.reduction);
    add(number, pass(placement.reduction), std::move(costs));
    return;
  }
  add(number, choiceOf(placement), Cost());
  if (!pin->lazy || !placement.isReplicate())
    return;
  unsigned source = node.slots.front();
  for (const PartialPass &known : node.rule.passes) {
    Kinds kind = bit(known.kind);
    if (!((partialKinds[source] | pendingKinds[source]) & kind) ||
        !isPossible(node, number, pass(known.kind)))
      continue;
    bool pending = !options.allowSplitAllReduce;
    (pending ? pendingKinds : partialKinds)[node.results.front()] |= kind;
    AxisState state = {Placement::partial(known.kind), pending};
    OpChoice costs;
    costs.needs.push_back({state});
    costs.makes.push_back(state);
    add(number, pass(known.kind), std::move(costs));
  }
}

void ModelBuilder::addOp(unsigned number) {
  const Node &node = program.nodes[number];
  for (const Choice &choice : node.rule.legalChoices(part, program.mesh())) {
    add(number, choice, costOf(node, number, choice));
    if (node.isTable && options.replicateTables)
      break;
  }
}

AxisModel ModelBuilder::build() {
  model.layouts.costs.ranks = part.size;
  model.layouts.costs.machine = options.machine;
  model.layouts.costs.objective = options.objective;
  model.choices.resize(program.nodes.size());
  model.layouts.ops.resize(program.nodes.size());
  makers.resize(program.values.size());
  for (auto [number, node] : llvm::enumerate(program.nodes))
    for (auto [result, value] : llvm::enumerate(node.results))
      makers[value] = {static_cast<unsigned>(number),
                       static_cast<unsigned>(result)};
  for (unsigned value = 0; value < program.values.size(); ++value)
    model.layouts.values.push_back({bytesOf(value),
                                    program.isWeight[value] ? weightFactor : 1,
                                    unevenDimsOf(value)});
  for (auto [number, node] : llvm::enumerate(program.nodes)) {
    ProgramOp &op = model.layouts.ops[number];
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
  return std::move(model);
}

AxisModel propagate::buildAxisModel(const Program &program, unsigned axis,
                                    const Decisions &decided,
                                    const ModelOptions &options,
                                    ArrayRef<bool> relaxed) {
  return ModelBuilder(program, axis, decided, options, relaxed).build();
}
