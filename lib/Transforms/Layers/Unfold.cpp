//===- Unfold.cpp - copies of a layer for those left out ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CauseNames.h"
#include "FoldedProgram.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::layers;

namespace tp::layers {
/// Layers of the folded function have the numbers they had up to `copied`, the
/// last one before those left out; the next one is the first one after them.
class Unfolder {
public:
  Unfolder(const FoldedProgram &program, func::FuncOp folded)
      : program(program), folded(folded), block(folded.getBody().front()),
        copied(program.firstOut - 1), copies(program.copies()),
        layers(folded, argumentOrbits(program, folded)) {}

  bool canUnfold() const;
  void unfold();
  /// Whether the function is as valid as it was: ops and their copies take what
  /// has the types of what they took and comes before them.
  bool isValid();

private:
  static std::vector<Orbit> argumentOrbits(const FoldedProgram &program,
                                           func::FuncOp folded);
  bool crossesOnlyBetweenNeighbours() const;
  /// The value of an orbit in a layer of the whole program, layers being
  /// counted as in the folded one as far as `copied`.
  Value valueAt(unsigned orbit, int64_t layer, unsigned result) const;
  Value returned(const FoldedProgram::Port &port) const;
  void addArguments();
  void copyOps();
  /// Copies come early in the block. What they take and all layers share is
  /// moved before `place`, unless it is computed from layers itself.
  void hoistShared(ArrayRef<Value> inputs, Operation *place);
  bool isInOrder() const;
  void rewire(Operation *op, ArrayRef<Value> inputs, ArrayRef<Source> sources,
              int64_t layer);

  const FoldedProgram &program;
  func::FuncOp folded;
  Block &block;
  int64_t copied, copies;
  RepeatedLayers layers;
  /// By orbit: the arguments, or the ops, of layers left out.
  std::vector<SmallVector<Value, 0>> newArguments;
  std::vector<SmallVector<Operation *, 0>> newOps;
  /// Arguments that were kept, and those that stand for them.
  SmallVector<std::pair<BlockArgument, BlockArgument>, 0> replacements;
  SmallVector<Attribute> argumentAttributes;
  unsigned numOldArguments = 0;
  bool isSorted = false, hasSameTypes = true;
};
} // namespace tp::layers

std::vector<Orbit> Unfolder::argumentOrbits(const FoldedProgram &program,
                                            func::FuncOp folded) {
  std::vector<Orbit> orbits;
  for (const Orbit &orbit : program.layers.orbits()) {
    if (orbit.arguments.empty())
      break;
    Orbit &kept = orbits.emplace_back();
    kept.first = orbit.first;
    for (BlockArgument argument : orbit.arguments)
      if (!program.isOut(argument))
        kept.arguments.push_back(folded.getArgument(
            program.arguments[argument.getArgNumber()].number));
  }
  return orbits;
}

/// Only the layers beside the place take anything from across it.
bool Unfolder::crossesOnlyBetweenNeighbours() const {
  for (const Orbit &orbit : layers.orbits())
    for (auto [i, op] : llvm::enumerate(orbit.ops)) {
      int64_t layer = orbit.first + static_cast<int64_t>(i);
      if (layer == copied || layer == copied + 1)
        continue;
      for (Value input : inputsOf(op))
        if (std::optional<Place> place = layers.placeOf(input))
          if ((place->layer <= copied) != (layer <= copied))
            return false;
    }
  return true;
}

bool Unfolder::canUnfold() const {
  Operation *terminator = block.getTerminator();
  if (!layers.isPeriodic(copied, copied + 1) || !crossesOnlyBetweenNeighbours())
    return false;
  for (const FoldedProgram::Port &port : program.results) {
    std::optional<Place> place =
        layers.placeOf(terminator->getOperand(port.number));
    // Without a place it is itself, which no copy is.
    if (!place && port.further != 0 && port.further != copies)
      return false;
    if (!place)
      continue;
    const Orbit &orbit = layers.orbits()[place->orbit];
    int64_t layer = place->layer + port.further;
    bool isThere = layer > copied + copies ? orbit.covers(layer - copies)
                   : layer > copied        ? orbit.covers(copied)
                                           : orbit.covers(layer);
    if (!isThere)
      return false;
  }
  return true;
}

Value Unfolder::valueAt(unsigned orbit, int64_t layer, unsigned result) const {
  const Orbit &kept = layers.orbits()[orbit];
  if (layer <= copied)
    return kept.value(layer, result);
  if (layer > copied + copies)
    return kept.value(layer - copies, result);
  size_t copy = layer - copied - 1;
  return kept.ops.empty() ? newArguments[orbit][copy]
                          : newOps[orbit][copy]->getResult(result);
}

/// The value that result `port` of the whole program returns.
Value Unfolder::returned(const FoldedProgram::Port &port) const {
  Value value = block.getTerminator()->getOperand(port.number);
  std::optional<Place> place = layers.placeOf(value);
  if (!place)
    return value;
  auto result = dyn_cast<OpResult>(value);
  return valueAt(place->orbit, place->layer + port.further,
                 result ? result.getResultNumber() : 0);
}

/// Puts a block with all arguments in the place of the function's.
void Unfolder::addArguments() {
  func::FuncOp whole = program.layers.function();
  unsigned kept = block.getNumArguments();
  for (const Orbit &orbit : layers.orbits())
    newArguments.emplace_back(orbit.arguments.empty() ? 0 : copies);
  SmallVector<Attribute> attributes;
  for (auto [argument, port] :
       llvm::zip_equal(whole.getArguments(), program.arguments)) {
    BlockArgument like = block.getArgument(port.number);
    NamedAttrList given(folded.getArgAttrDict(port.number));
    // At the end of the list, all in order; the old ones go below.
    BlockArgument added = block.addArgument(like.getType(), argument.getLoc());
    if (program.isOut(argument)) {
      Place place = *program.layers.placeOf(argument);
      newArguments[layers.placeOf(like)->orbit][place.layer - copied - 1] =
          added;
      if (Attribute name =
              whole.getArgAttr(argument.getArgNumber(), attr::name))
        given.set(attr::name, name);
    } else {
      replacements.push_back({like, added});
    }
    attributes.push_back(given.getDictionary(folded.getContext()));
  }
  numOldArguments = kept;
  argumentAttributes = std::move(attributes);
}

/// Lets an op of `layer`, a layer of the whole program, take what it takes of
/// the layers of the whole program. `sources`: what its inputs are.
void Unfolder::rewire(Operation *op, ArrayRef<Value> inputs,
                      ArrayRef<Source> sources, int64_t layer) {
  llvm::SmallDenseMap<Value, Value> captured;
  for (auto [i, source] : llvm::enumerate(sources)) {
    if (!source.orbit)
      continue;
    Value value = valueAt(*source.orbit, layer + source.shift, source.result);
    hasSameTypes &= value.getType() == inputs[i].getType();
    if (i < op->getNumOperands())
      op->setOperand(i, value);
    else if (value != inputs[i])
      captured[inputs[i]] = value;
  }
  if (captured.empty())
    return;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (Value value = captured.lookup(operand.get()))
          operand.set(value);
    });
}

void Unfolder::hoistShared(ArrayRef<Value> inputs, Operation *place) {
  llvm::SetVector<Operation *> late;
  auto add = [&](Value input) {
    if (Operation *maker = input.getDefiningOp();
        maker && !maker->isBeforeInBlock(place))
      late.insert(maker);
  };
  for (Value input : inputs)
    if (!layers.placeOf(input))
      add(input);
  for (size_t i = 0; i < late.size(); ++i) {
    if (layers.placeOf(late[i]))
      return;
    for (Value input : inputsOf(late[i]))
      add(input);
  }
  SmallVector<Operation *> inOrder = late.takeVector();
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : inOrder)
    op->moveBefore(place);
}

bool Unfolder::isInOrder() const {
  return llvm::none_of(block, [&](Operation &op) {
    return anyInput(&op, [&](Value input) {
      Operation *maker = input.getDefiningOp();
      return maker && !maker->isBeforeInBlock(&op);
    });
  });
}

void Unfolder::copyOps() {
  // Ops that come after their like of the next layer (gradients, and what is
  // made of them) take something of the next layer, or of such an op.
  llvm::DenseSet<unsigned> descending, ascending;
  struct Copied {
    Operation *op;
    unsigned orbit;
    /// Of the copies.
    DictionaryAttr attributes;
    SmallVector<Value> inputs;
    SmallVector<Source> sources;
  };
  std::vector<Copied> up, down;
  for (Operation &op : block.without_terminator()) {
    std::optional<Place> place = layers.placeOf(&op);
    if (!place || place->layer != copied)
      continue;
    NamedAttrList attributes(op.getDiscardableAttrDictionary());
    attributes.erase(attr::values);
    Copied entry{&op,
                 place->orbit,
                 attributes.getDictionary(op.getContext()),
                 inputsOf(&op),
                 {}};
    bool descends = false, ascends = false;
    for (Value input : entry.inputs) {
      entry.sources.push_back(layers.sourceOf(input, copied));
      const Source &source = entry.sources.back();
      descends |= source.shift > 0 ||
                  (source.orbit && descending.contains(*source.orbit));
      ascends |= source.shift < 0 ||
                 (source.orbit && ascending.contains(*source.orbit));
    }
    if (ascends)
      ascending.insert(place->orbit);
    if (descends)
      descending.insert(place->orbit);
    (descends ? down : up).push_back(std::move(entry));
  }
  newOps.resize(layers.orbits().size());
  for (const std::vector<Copied> *entries : {&up, &down})
    for (const Copied &entry : *entries)
      newOps[entry.orbit].resize(copies);

  // Up: before the next layer; down: before the layer itself, from the last.
  Operation *next = nullptr;
  for (const Copied &entry : up) {
    // The others need no other layer and may stand anywhere.
    if (!ascending.empty() && !ascending.contains(entry.orbit))
      continue;
    Operation *like = layers.orbits()[entry.orbit].op(copied + 1);
    if (!next || like->isBeforeInBlock(next))
      next = like;
  }
  Operation *earliest = nullptr;
  for (Operation *place : {next, down.empty() ? nullptr : down.front().op})
    if (place && (!earliest || place->isBeforeInBlock(earliest)))
      earliest = place;
  if (earliest) {
    SmallVector<Value> inputs;
    for (const std::vector<Copied> *entries : {&up, &down})
      for (const Copied &entry : *entries)
        llvm::append_range(inputs, entry.inputs);
    hoistShared(inputs, earliest);
  }
  IRMapping inside;
  auto copyLayer = [&](const std::vector<Copied> &entries, int64_t copy,
                       Operation *before) {
    for (const Copied &entry : entries) {
      Operation *made = entry.op->clone(inside);
      inside.clear();
      made->setDiscardableAttrs(entry.attributes);
      block.getOperations().insert(before->getIterator(), made);
      newOps[entry.orbit][copy - 1] = made;
    }
  };
  for (int64_t copy = 1; copy <= copies; ++copy)
    copyLayer(up, copy, next);
  if (!down.empty())
    for (int64_t copy = copies; copy >= 1; --copy)
      copyLayer(down, copy, down.front().op);

  CauseNames causes(program.layers, copied, copies);
  for (int64_t copy = 1; copy <= copies; ++copy) {
    LayerNames names(program.layers, copied, copied + copy);
    for (const std::vector<Copied> *entries : {&up, &down})
      for (const Copied &entry : *entries) {
        Operation *made = newOps[entry.orbit][copy - 1];
        rewire(made, entry.inputs, entry.sources, copied + copy);
        names.rename(made);
        causes.rename(made, copied, copied + copy);
      }
  }
  for (const std::vector<Copied> *entries : {&up, &down})
    for (const Copied &entry : *entries) {
      // The layers on both sides do the same, so they have the same sources.
      Operation *after = layers.orbits()[entry.orbit].op(copied + 1);
      SmallVector<Value> inputs = inputsOf(after);
      rewire(after, inputs, entry.sources, copied + copies + 1);
      rewire(entry.op, entry.inputs, entry.sources, copied);
    }
  for (const Orbit &orbit : layers.orbits())
    for (auto [i, op] : llvm::enumerate(orbit.ops)) {
      int64_t layer = orbit.first + static_cast<int64_t>(i);
      causes.rename(op, layer, layer <= copied ? layer : layer + copies);
    }
}

void Unfolder::unfold() {
  func::FuncOp whole = program.layers.function();
  Operation *terminator = block.getTerminator();
  addArguments();
  copyOps();
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  for (auto [number, port] : llvm::enumerate(program.results)) {
    values.push_back(returned(port));
    NamedAttrList given(folded.getResultAttrDict(port.number));
    if (Attribute name = whole.getResultAttr(number, attr::name))
      given.set(attr::name, name);
    attributes.push_back(given.getDictionary(folded.getContext()));
  }
  terminator->setOperands(values);
  for (auto [old, added] : replacements)
    old.replaceAllUsesWith(added);
  block.eraseArguments(0, numOldArguments);
  isSorted = isInOrder() || sortTopologically(&block);
  folded.setFunctionType(
      FunctionType::get(folded.getContext(), block.getArgumentTypes(),
                        llvm::to_vector(terminator->getOperandTypes())));
  folded.setAllArgAttrs(argumentAttributes);
  folded.setAllResultAttrs(attributes);
}

bool Unfolder::isValid() {
  // Nothing in the block takes anything from outside of it.
  return isSorted && hasSameTypes && succeeded(verify(block.getTerminator()));
}

bool FoldedProgram::unfold(func::FuncOp folded) const {
  // Passes may add nothing to a function's ports, and take nothing away.
  func::FuncOp whole = layers.function();
  size_t arguments = llvm::count_if(
      whole.getArguments(), [&](Value argument) { return !isOut(argument); });
  if (folded.getNumArguments() != arguments || !folded.getBody().hasOneBlock())
    return false;
  Unfolder unfolder(*this, folded);
  if (!unfolder.canUnfold())
    return false;
  unfolder.unfold();
  return unfolder.isValid();
}
