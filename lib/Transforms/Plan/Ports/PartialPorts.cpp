//===- PartialPorts.cpp - which ports may be partial ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks' numbers of a partial port are one array only together. What files
// have, and what goes on from step to step, is an array of its own on every
// rank.
//
//===----------------------------------------------------------------------===//

#include "Ports/PartialPorts.h"
#include "tp/IR/PortAttributes.h"
#include "tp/Interfaces/BodyLinearity.h"

using namespace mlir;
using namespace tp;

/// What to write where an array is one on every rank.
static constexpr llvm::StringLiteral instead = ": write replicate or shard<d>";

/// Of an element type that `kind` does not combine, what it combines.
static StringRef expectedElements(ReductionKind kind, Type element,
                                  bool isUnsigned) {
  bool isBool = element.isInteger(1);
  switch (kind) {
  case ReductionKind::Avg:
    return isa<FloatType>(element) ? "" : "floats";
  case ReductionKind::Sum:
  case ReductionKind::Product:
    return identityOf(kind, element) ? "" : "floats or integers";
  case ReductionKind::Max:
  case ReductionKind::Min:
    // Programs compare integers as signed ones.
    return isUnsigned && !isBool       ? "floats, signed integers or i1"
           : identityOf(kind, element) ? ""
                                       : "floats or integers";
  }
  llvm_unreachable("unknown reduction kind");
}

static std::string nameOf(const PortNames &names, unsigned port) {
  return names.name(port).empty() ? "#" + std::to_string(port)
                                  : "'" + names.name(port).str() + "'";
}

std::string tp::whyNotPartial(func::FuncOp function, PortSide side,
                              unsigned port, StringRef axis,
                              const Placement &placement) {
  if (!placement.isPartial())
    return "";
  bool isArgument = side == PortSide::Argument;
  PortNames arguments(function, PortSide::Argument);
  PortNames results(function, PortSide::Result);
  if (isArgument) {
    StringRef kind = arguments.kind(port);
    if (arguments.isParameterOrState(port) || kind == "buffer" ||
        kind == "constant_tensor")
      return "files have one array of a port of kind '" + kind.str() + "'" +
             instead.str();
    auto updates = updatesOf(function);
    if (const auto *update = updates.find(port); update != updates.end())
      return "result " + nameOf(results, update->second) +
             " updates it, and a state is one array on every rank" +
             instead.str();
  } else if (std::optional<unsigned> updated =
                 arguments.updatedBy(results, port)) {
    return "it updates argument " + nameOf(arguments, *updated) +
           ", and a state is one array on every rank" + instead.str();
  }
  DictionaryAttr attributes = isArgument ? function.getArgAttrDict(port)
                                         : function.getResultAttrDict(port);
  auto pins = attributes ? attributes.getAs<DictionaryAttr>(attr::pin)
                         : DictionaryAttr();
  for (NamedAttribute pin : pins ? pins.getValue() : ArrayRef<NamedAttribute>())
    if (auto other = dyn_cast<PlacementAttr>(pin.getValue());
        other && pin.getName() != axis && other.getValue().isPartial() &&
        other.getValue().reduction != placement.reduction)
      return "on axis '" + pin.getName().str() + "' it is " +
             toString(other.getValue()) +
             ": expected one reduction kind on all axes on which it is "
             "partial";
  Type element =
      getElementTypeOrSelf(isArgument ? function.getArgumentTypes()[port]
                                      : function.getResultTypes()[port]);
  bool isUnsigned = attributes && attributes.contains(attr::unsignedPort);
  StringRef expected =
      expectedElements(placement.reduction, element, isUnsigned);
  if (expected.empty())
    return "";
  std::string got;
  llvm::raw_string_ostream(got) << (isUnsigned ? "unsigned " : "") << element;
  return "expected elements that are " + expected.str() + ", got " + got;
}
