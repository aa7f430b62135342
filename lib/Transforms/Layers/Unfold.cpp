//===- Unfold.cpp - copies of a layer for those left out ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unfolder.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Verifier.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::layers;

std::vector<Correspondence>
Unfolder::argumentCorrespondences(const LayerFolding &program,
                                  func::FuncOp folded) {
  std::vector<Correspondence> correspondences;
  for (const Correspondence &correspondence :
       program.layers.correspondences()) {
    if (correspondence.arguments.empty())
      break;
    Correspondence &kept = correspondences.emplace_back();
    kept.first = correspondence.first;
    for (BlockArgument argument : correspondence.arguments)
      if (!program.isOut(argument))
        kept.arguments.push_back(folded.getArgument(
            program.arguments[argument.getArgNumber()].number));
  }
  return correspondences;
}

/// Only the layers beside the place take anything from across it.
bool Unfolder::crossesOnlyBetweenNeighbours() const {
  for (const Correspondence &correspondence : layers.correspondences())
    for (auto [i, op] : llvm::enumerate(correspondence.ops)) {
      int64_t layer = correspondence.first + static_cast<int64_t>(i);
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
  for (const LayerFolding::Port &port : program.results) {
    std::optional<Place> place =
        layers.placeOf(terminator->getOperand(port.number));
    // Without a place it is itself, which no copy is.
    if (!place && port.further != 0 && port.further != copies)
      return false;
    if (!place)
      continue;
    const Correspondence &correspondence =
        layers.correspondences()[place->correspondence];
    int64_t layer = place->layer + port.further;
    bool isThere = layer > copied + copies
                       ? correspondence.covers(layer - copies)
                   : layer > copied ? correspondence.covers(copied)
                                    : correspondence.covers(layer);
    if (!isThere)
      return false;
  }
  return true;
}

Value Unfolder::valueAt(unsigned correspondence, int64_t layer,
                        unsigned result) const {
  const Correspondence &kept = layers.correspondences()[correspondence];
  if (layer <= copied)
    return kept.value(layer, result);
  if (layer > copied + copies)
    return kept.value(layer - copies, result);
  size_t copy = layer - copied - 1;
  return kept.ops.empty() ? newArguments[correspondence][copy]
                          : newOps[correspondence][copy]->getResult(result);
}

/// The value that result `port` of the whole program returns.
Value Unfolder::returned(const LayerFolding::Port &port) const {
  Value value = block.getTerminator()->getOperand(port.number);
  std::optional<Place> place = layers.placeOf(value);
  if (!place)
    return value;
  auto result = dyn_cast<OpResult>(value);
  return valueAt(place->correspondence, place->layer + port.further,
                 result ? result.getResultNumber() : 0);
}

/// Puts a block with all arguments in the place of the function's.
void Unfolder::addArguments() {
  func::FuncOp whole = program.layers.function();
  unsigned kept = block.getNumArguments();
  for (const Correspondence &correspondence : layers.correspondences())
    newArguments.emplace_back(correspondence.arguments.empty() ? 0 : copies);
  SmallVector<Attribute> attributes;
  for (auto [argument, port] :
       llvm::zip_equal(whole.getArguments(), program.arguments)) {
    BlockArgument like = block.getArgument(port.number);
    NamedAttrList given(folded.getArgAttrDict(port.number));
    // At the end of the list, all in order; the old ones go below.
    BlockArgument added = block.addArgument(like.getType(), argument.getLoc());
    if (program.isOut(argument)) {
      Place place = *program.layers.placeOf(argument);
      newArguments[layers.placeOf(like)->correspondence]
                  [place.layer - copied - 1] = added;
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
    for (StringRef own : {StringRef(attr::name), StringRef(attr::updates)})
      if (Attribute name = whole.getResultAttr(number, own))
        given.set(own, name);
    attributes.push_back(given.getDictionary(folded.getContext()));
  }
  terminator->setOperands(values);
  for (auto [old, added] : replacements)
    old.replaceAllUsesWith(added);
  block.eraseArguments(0, numOldArguments);
  isSorted =
      llvm::all_of(block, [](Operation &op) { return isAfterInputs(&op); }) ||
      sortTopologically(&block);
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

bool LayerFolding::unfold(func::FuncOp folded) const {
  // Passes may add nothing to a function's ports, and take nothing away.
  func::FuncOp whole = layers.function();
  size_t arguments = llvm::count_if(
      whole.getArguments(), [&](Value argument) { return !isOut(argument); });
  if (folded.getNumArguments() != arguments || !folded.getBody().hasOneBlock())
    return false;
  // The order of what is written to memory is not in its operands.
  if (llvm::any_of(folded.getBody().front(), [](Operation &op) {
        return llvm::any_of(op.getOperandTypes(), llvm::IsaPred<MemRefType>);
      }))
    return false;
  Unfolder unfolder(*this, folded);
  if (!unfolder.canUnfold())
    return false;
  unfolder.unfold();
  return unfolder.isValid();
}
