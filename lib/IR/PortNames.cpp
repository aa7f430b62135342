//===- PortNames.cpp - what arguments and results are called --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/PortNames.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

PortNames::PortNames(func::FuncOp function, PortSide side) {
  bool ofArguments = side == PortSide::Argument;
  unsigned count =
      ofArguments ? function.getNumArguments() : function.getNumResults();
  for (unsigned port = 0; port < count; ++port) {
    DictionaryAttr attributes = ofArguments ? function.getArgAttrDict(port)
                                            : function.getResultAttrDict(port);
    auto text = [&](StringRef attribute) {
      auto value =
          attributes ? attributes.getAs<StringAttr>(attribute) : StringAttr();
      return value ? value.getValue() : StringRef();
    };
    names.push_back(text(attr::name));
    kinds.push_back(text(attr::kind));
    updates.push_back(text(attr::updates));
    if (names.back().empty())
      continue;
    ports[names.back()].push_back(port);
    if (!kinds.back().empty())
      ports[qualified(port)].push_back(port);
  }
}

ArrayRef<unsigned> PortNames::find(StringRef text) const {
  auto found = ports.find(text);
  return found == ports.end() ? ArrayRef<unsigned>() : found->second;
}

std::optional<unsigned> PortNames::weight(StringRef name) const {
  for (unsigned port : find(name))
    if (!isOptimizerState(port))
      return port;
  return std::nullopt;
}

std::optional<unsigned> PortNames::updatedBy(const PortNames &results,
                                             unsigned result) const {
  if (StringRef named = results.updates[result]; !named.empty()) {
    ArrayRef<unsigned> old = find(named);
    return old.size() == 1 ? std::optional(old.front()) : std::nullopt;
  }
  StringRef resultKind = results.kinds[result], name = results.names[result];
  if (!resultKind.consume_front("new_"))
    return std::nullopt;
  for (StringRef prefix : {"", "opt_"})
    if (ArrayRef<unsigned> old = find((prefix + resultKind + ":" + name).str());
        old.size() == 1)
      return old.front();
  return std::nullopt;
}

llvm::MapVector<unsigned, unsigned> tp::updatesOf(func::FuncOp function) {
  PortNames arguments(function, PortSide::Argument);
  PortNames results(function, PortSide::Result);
  llvm::MapVector<unsigned, unsigned> updates;
  for (unsigned result = 0; result < function.getNumResults(); ++result)
    if (auto argument = arguments.updatedBy(results, result))
      updates.insert({*argument, result});
  return updates;
}

std::optional<unsigned> tp::parameterOfState(func::FuncOp function,
                                             const PortNames &arguments,
                                             unsigned state) {
  if (!arguments.isOptimizerState(state))
    return std::nullopt;
  std::optional<unsigned> parameter = arguments.weight(arguments.name(state));
  auto shapeOf = [&](unsigned argument) {
    auto type =
        dyn_cast<RankedTensorType>(function.getArgument(argument).getType());
    return type ? type.getShape() : ArrayRef<int64_t>();
  };
  if (parameter && shapeOf(*parameter) == shapeOf(state))
    return parameter;
  return std::nullopt;
}
