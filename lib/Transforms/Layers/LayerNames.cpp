//===- LayerNames.cpp - what a copied layer is called ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerNames.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::layers;

void LayerNames::add(const RepeatedLayers &layers, int64_t from, int64_t to) {
  func::FuncOp func = layers.function();
  for (const Correspondence &correspondence : layers.correspondences()) {
    if (!correspondence.covers(from) || !correspondence.covers(to))
      continue;
    if (correspondence.ops.empty()) {
      auto nameAt = [&](int64_t layer) {
        return func.getArgAttrOfType<StringAttr>(
            correspondence.arguments[layer - correspondence.first]
                .getArgNumber(),
            attr::name);
      };
      if (nameAt(from) && nameAt(to))
        modules.try_emplace(nameAt(from), nameAt(to));
      continue;
    }
    Operation *here = correspondence.op(from), *there = correspondence.op(to);
    add(here->getLoc(), there->getLoc());
    if (auto pin = dyn_cast<ConstrainOp>(here)) {
      modules[pin.getModuleAttr()] = cast<ConstrainOp>(there).getModuleAttr();
      addEntry(here->getLoc(), there->getLoc());
    }
  }
}

/// A plan may name every layer in a line of its own.
void LayerNames::addEntry(Location from, Location to) {
  auto lastWord = [](const std::string &text) {
    return StringRef(text).substr(StringRef(text).rfind(' ') + 1);
  };
  // Reasons name a plan without its folder, causes with it.
  for (auto text : {entryText, shortEntryText}) {
    std::string here = text(from), there = text(to);
    if (!here.empty() && !there.empty())
      modules.try_emplace(StringAttr::get(from.getContext(), lastWord(here)),
                          StringAttr::get(from.getContext(), lastWord(there)));
  }
}

void LayerNames::add(Location from, Location to) {
  if (!locations.try_emplace(from, LocationAttr(to)).second || from == to)
    return;
  auto here = dyn_cast<NameLoc>(LocationAttr(from));
  auto there = dyn_cast<NameLoc>(LocationAttr(to));
  // `"module"("node")`: the module's name stands elsewhere, too.
  if (here && there && isa<NameLoc>(here.getChildLoc()) &&
      here.getName() != there.getName())
    modules.try_emplace(here.getName(), there.getName());
}

Location LayerNames::rename(Location location) {
  if (LocationAttr known = locations.lookup(location))
    return known;
  Location result = location;
  if (auto name = dyn_cast<NameLoc>(location)) {
    StringAttr other = modules.lookup(name.getName());
    result = NameLoc::get(other ? other : name.getName(),
                          rename(name.getChildLoc()));
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    SmallVector<Location> parts;
    for (Location part : fused.getLocations())
      parts.push_back(rename(part));
    result = FusedLoc::get(parts, fused.getMetadata(), location.getContext());
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    result =
        CallSiteLoc::get(rename(call.getCallee()), rename(call.getCaller()));
  }
  locations[location] = result;
  return result;
}

StringAttr LayerNames::rename(StringAttr text) {
  if (StringAttr known = texts.lookup(text))
    return known;
  SmallVector<StringRef> split;
  text.getValue().split(split, ' ');
  std::vector<std::string> words;
  for (StringRef word : split) {
    // A name may be in quotes, or at the end of a sentence.
    StringRef before = word.take_while([](char c) { return c == '"'; });
    StringRef name = word.drop_front(before.size()).rtrim("\",;");
    StringAttr other = modules.lookup(StringAttr::get(text.getContext(), name));
    words.push_back(other ? (before + other.getValue() +
                             word.drop_front(before.size() + name.size()))
                                .str()
                          : word.str());
  }
  return texts[text] =
             StringAttr::get(text.getContext(), llvm::join(words, " "));
}

Attribute LayerNames::rename(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return rename(text);
  if (auto location = dyn_cast<LocationAttr>(attribute))
    return cast<Attribute>(LocationAttr(rename(Location(location))));
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<Attribute> elements;
    for (Attribute element : list)
      elements.push_back(rename(element));
    return ArrayAttr::get(attribute.getContext(), elements);
  }
  auto dictionary = dyn_cast<DictionaryAttr>(attribute);
  if (!dictionary)
    return attribute;
  NamedAttrList entries;
  for (NamedAttribute entry : dictionary)
    entries.set(entry.getName(), rename(entry.getValue()));
  return entries.getDictionary(attribute.getContext());
}
