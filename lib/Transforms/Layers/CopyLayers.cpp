//===- CopyLayers.cpp - copies of a layer's ops ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnfoldedNames.h"
#include "Unfolder.h"
#include "mlir/IR/IRMapping.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::layers;

/// The number of an attention that `op` is a step of.
static std::optional<int64_t> attentionOf(Operation *op) {
  auto tag = op->getAttrOfType<DictionaryAttr>(attr::attention);
  auto number =
      tag ? tag.getAs<IntegerAttr>(attr::attentionNumber) : IntegerAttr();
  return number ? std::optional(number.getInt()) : std::nullopt;
}

/// Makes `op` a step of attention `number`.
static void setAttention(Operation *op, int64_t number) {
  NamedAttrList tag(op->getAttrOfType<DictionaryAttr>(attr::attention));
  tag.set(attr::attentionNumber,
          IntegerAttr::get(IntegerType::get(op->getContext(), 64), number));
  op->setAttr(attr::attention, tag.getDictionary(op->getContext()));
}

void Unfolder::findCopiedOps() {
  llvm::DenseSet<unsigned> descending, ascending;
  for (Operation &op : block.without_terminator()) {
    if (std::optional<int64_t> number = attentionOf(&op))
      numAttentions = std::max(numAttentions, *number + 1);
    std::optional<Place> place = layers.placeOf(&op);
    if (!place || place->layer != copied)
      continue;
    NamedAttrList attributes(op.getDiscardableAttrDictionary());
    attributes.erase(attr::values);
    CopiedOp entry{&op,
                   place->correspondence,
                   attributes.getDictionary(op.getContext()),
                   inputsOf(&op),
                   {}};
    // What is computed again belongs to the backward pass, as do gathers for
    // it, though neither needs anything of the next layer.
    auto gather = op.getAttrOfType<StringAttr>(attr::gather);
    bool descends =
        isa<KeptOp>(op) || (gather && gather == attr::backwardGather);
    for (Value input : entry.inputs) {
      entry.sources.push_back(layers.sourceOf(input, copied));
      const Source &source = entry.sources.back();
      descends |=
          source.shift > 0 || (source.correspondence &&
                               descending.contains(*source.correspondence));
      entry.ascends |=
          source.shift < 0 ||
          (source.correspondence && ascending.contains(*source.correspondence));
    }
    if (entry.ascends)
      ascending.insert(place->correspondence);
    if (descends)
      descending.insert(place->correspondence);
    (descends ? down : up).push_back(std::move(entry));
  }
  newOps.resize(layers.correspondences().size());
  for (const CopiedOp &entry : llvm::concat<const CopiedOp>(up, down))
    newOps[entry.correspondence].resize(copies);
}

void Unfolder::hoistShared(Operation *place) {
  llvm::SetVector<Operation *> late;
  auto add = [&](Value input) {
    if (Operation *maker = input.getDefiningOp();
        maker && !maker->isBeforeInBlock(place))
      late.insert(maker);
  };
  for (const CopiedOp &entry : llvm::concat<const CopiedOp>(up, down))
    for (Value input : entry.inputs)
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

void Unfolder::insertCopies() {
  // Up: before the next layer; what needs no other layer may stand anywhere.
  bool anyAscends =
      llvm::any_of(up, [](const CopiedOp &entry) { return entry.ascends; });
  Operation *next = nullptr;
  for (const CopiedOp &entry : up) {
    Operation *like =
        layers.correspondences()[entry.correspondence].op(copied + 1);
    if (entry.ascends == anyAscends && (!next || like->isBeforeInBlock(next)))
      next = like;
  }
  // Down: before the layer itself, from the last.
  Operation *itself = down.empty() ? nullptr : down.front().op;
  Operation *earliest = next;
  if (itself && (!next || itself->isBeforeInBlock(next)))
    earliest = itself;
  if (!earliest)
    return;
  hoistShared(earliest);
  IRMapping inside;
  auto copyLayer = [&](ArrayRef<CopiedOp> entries, int64_t copy,
                       Operation *before) {
    for (const CopiedOp &entry : entries) {
      Operation *made = entry.op->clone(inside);
      inside.clear();
      made->setDiscardableAttrs(entry.attributes);
      if (std::optional<int64_t> number = attentionOf(made))
        setAttention(made, *number + copy * numAttentions);
      block.getOperations().insert(before->getIterator(), made);
      newOps[entry.correspondence][copy - 1] = made;
    }
  };
  for (int64_t copy = 1; copy <= copies; ++copy)
    copyLayer(up, copy, next);
  for (int64_t copy = copies; copy >= 1; --copy)
    copyLayer(down, copy, itself);
}

/// `sources`: what the inputs of `op`, which is in `layer` of the whole
/// program, are.
void Unfolder::rewire(Operation *op, ArrayRef<Value> inputs,
                      ArrayRef<Source> sources, int64_t layer) {
  llvm::SmallDenseMap<Value, Value> captured;
  for (auto [i, source] : llvm::enumerate(sources)) {
    if (!source.correspondence)
      continue;
    Value value =
        valueAt(*source.correspondence, layer + source.shift, source.result);
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

void Unfolder::rewireAll() {
  for (const CopiedOp &entry : llvm::concat<const CopiedOp>(up, down)) {
    for (int64_t copy = 1; copy <= copies; ++copy)
      rewire(newOps[entry.correspondence][copy - 1], entry.inputs,
             entry.sources, copied + copy);
    // The layers on both sides do the same, so they have the same sources.
    Operation *after =
        layers.correspondences()[entry.correspondence].op(copied + 1);
    rewire(after, inputsOf(after), entry.sources, copied + copies + 1);
    rewire(entry.op, entry.inputs, entry.sources, copied);
  }
}

void Unfolder::renameCopies() {
  UnfoldedNames names(program.layers, copied, copies);
  for (auto [number, correspondence] :
       llvm::enumerate(layers.correspondences())) {
    if (correspondence.ops.empty())
      continue;
    // Before anything is renamed.
    bool isNamedByLayer = correspondence.covers(copied) &&
                          correspondence.covers(copied + 1) &&
                          correspondence.op(copied)->getLoc() !=
                              correspondence.op(copied + 1)->getLoc();
    for (auto [i, made] : llvm::enumerate(newOps[number]))
      names.rename(made, copied, copied + 1 + static_cast<int64_t>(i),
                   isNamedByLayer);
    for (auto [i, op] : llvm::enumerate(correspondence.ops)) {
      int64_t layer = correspondence.first + static_cast<int64_t>(i);
      names.rename(op, layer, layer <= copied ? layer : layer + copies,
                   isNamedByLayer);
    }
  }
}

void Unfolder::copyOps() {
  findCopiedOps();
  insertCopies();
  rewireAll();
  renameCopies();
}
