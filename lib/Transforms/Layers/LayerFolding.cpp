//===- LayerFolding.cpp - a function with few of its layers ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerFolding.h"
#include "mlir/IR/IRMapping.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::layers;

/// With fewer left out it is not worth it.
static constexpr int64_t fewestOut = 2;

bool LayerFolding::chooseLayers(int64_t keptAtEnd) {
  const Correspondence &arguments = layers.correspondences().front();
  firstOut = arguments.first + keptAtEnd;
  lastOut = arguments.first + arguments.size() - 1 - keptAtEnd;
  return copies() >= fewestOut && layers.isPeriodic(firstOut - 1, lastOut + 1);
}

void LayerFolding::chooseArguments() {
  func::FuncOp func = layers.function();
  llvm::DenseMap<Value, unsigned> numbers;
  for (Value argument : func.getArguments())
    if (!isOut(argument))
      numbers.insert({argument, numbers.size()});
  for (Value argument : func.getArguments()) {
    std::optional<Place> place = layers.placeOf(argument);
    if (place && isOut(place->layer))
      arguments.push_back(
          {numbers.lookup(layers.correspondences()[place->correspondence].value(
               firstOut - 1, 0)),
           place->layer - firstOut + 1});
    else
      arguments.push_back({numbers.lookup(argument),
                           place && place->layer > lastOut ? copies() : 0});
  }
}

/// A result of a layer left out is one like that of the last layer before it.
bool LayerFolding::chooseResults() {
  func::FuncOp func = layers.function();
  auto returned = func.getBody().front().getTerminator()->getOperands();
  auto attributesOf = [&](unsigned result) {
    NamedAttrList attributes(func.getResultAttrDict(result));
    for (StringRef own : {StringRef(attr::name), StringRef(attr::updates)})
      attributes.erase(own);
    return attributes.getDictionary(func.getContext());
  };
  struct Kept {
    unsigned original, folded;
  };
  llvm::DenseMap<Value, SmallVector<Kept, 1>> keptOf;
  unsigned kept = 0;
  PortNames argumentNames(func, PortSide::Argument);
  PortNames resultNames(func, PortSide::Result);
  for (auto [number, value] : llvm::enumerate(returned)) {
    if (isOut(value))
      continue;
    keptOf[value].push_back({static_cast<unsigned>(number), kept++});
    // What a result updates is there as long as the result is.
    if (!func.getResultAttr(number, attr::updates))
      continue;
    if (std::optional<unsigned> argument =
            argumentNames.updatedBy(resultNames, number);
        argument && isOut(func.getArgument(*argument)))
      return false;
  }
  llvm::DenseMap<Value, unsigned> timesSeen;
  for (auto [number, value] : llvm::enumerate(returned)) {
    std::optional<Place> place = layers.placeOf(value);
    unsigned nth = timesSeen[value]++;
    if (!place || !isOut(place->layer)) {
      results.push_back({keptOf[value][nth].folded,
                         place && place->layer > lastOut ? copies() : 0});
      continue;
    }
    auto result = dyn_cast<OpResult>(value);
    auto like =
        keptOf.find(layers.correspondences()[place->correspondence].value(
            firstOut - 1, result ? result.getResultNumber() : 0));
    if (like == keptOf.end() || nth >= like->second.size() ||
        attributesOf(number) != attributesOf(like->second[nth].original))
      return false;
    results.push_back({like->second[nth].folded, place->layer - firstOut + 1});
  }
  return true;
}

bool LayerFolding::build(ModuleOp into) const {
  func::FuncOp func = layers.function();
  Block &block = func.getBody().front();
  SmallVector<Type> inputTypes, resultTypes;
  SmallVector<Attribute> inputAttributes, resultAttributes;
  SmallVector<Location> locations;
  for (BlockArgument argument : func.getArguments())
    if (!isOut(argument)) {
      inputTypes.push_back(argument.getType());
      locations.push_back(argument.getLoc());
      DictionaryAttr attributes = func.getArgAttrDict(argument.getArgNumber());
      inputAttributes.push_back(
          attributes ? attributes : DictionaryAttr::get(func.getContext()));
    }
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    if (!isOut(value)) {
      resultTypes.push_back(value.getType());
      DictionaryAttr attributes = func.getResultAttrDict(i);
      resultAttributes.push_back(
          attributes ? attributes : DictionaryAttr::get(func.getContext()));
    }
  OpBuilder builder = OpBuilder::atBlockEnd(into.getBody());
  auto folded = cast<func::FuncOp>(builder.cloneWithoutRegions(*func));
  folded.setFunctionType(builder.getFunctionType(inputTypes, resultTypes));
  folded.setAllArgAttrs(inputAttributes);
  folded.setAllResultAttrs(resultAttributes);
  Block *body =
      builder.createBlock(&folded.getBody(), {}, inputTypes, locations);
  IRMapping mapping;
  auto next = body->args_begin();
  for (BlockArgument argument : func.getArguments())
    if (!isOut(argument))
      mapping.map(argument, *next++);
  for (Operation &op : block.without_terminator()) {
    std::optional<Place> place = layers.placeOf(&op);
    if (place && isOut(place->layer))
      continue;
    // What comes from a layer left out comes from the nearest one kept.
    SmallVector<Value> rewired;
    for (Value input : inputsOf(&op)) {
      if (!isOut(input)) {
        if (!mapping.contains(input))
          return false;
        continue;
      }
      if (!place ||
          (place->layer != firstOut - 1 && place->layer != lastOut + 1))
        return false;
      Place from = *layers.placeOf(input);
      const Correspondence &correspondence =
          layers.correspondences()[from.correspondence];
      int64_t layer =
          from.layer + (place->layer < firstOut ? copies() : -copies());
      auto result = dyn_cast<OpResult>(input);
      Value nearest = correspondence.covers(layer)
                          ? correspondence.value(
                                layer, result ? result.getResultNumber() : 0)
                          : Value();
      if (!nearest || !mapping.contains(nearest))
        return false;
      mapping.map(input, mapping.lookup(nearest));
      rewired.push_back(input);
    }
    builder.clone(op, mapping);
    for (Value input : rewired)
      mapping.erase(input);
  }
  SmallVector<Value> returned;
  for (Value value : block.getTerminator()->getOperands())
    if (!isOut(value))
      returned.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, block.getTerminator()->getLoc(), returned);
  return true;
}

std::optional<LayerFolding> LayerFolding::fold(const RepeatedLayers &layers,
                                               int64_t keptAtEnd,
                                               ModuleOp into) {
  LayerFolding folded(layers);
  if (!folded.chooseLayers(keptAtEnd))
    return std::nullopt;
  folded.chooseArguments();
  if (!folded.chooseResults() || !folded.build(into))
    return std::nullopt;
  return folded;
}
