//===- PortAttributes.cpp - what stands on arguments and results ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

static constexpr std::pair<llvm::StringLiteral, FreePort> freePortNames[] = {
    {"sharded", FreePort::Sharded},
    {"any", FreePort::Any},
    {"carried", FreePort::Carried},
    {"fully_sharded", FreePort::FullySharded},
    {"as_parameter", FreePort::AsParameter}};

StringRef tp::toString(FreePort port) {
  for (const auto &[name, named] : freePortNames)
    if (named == port)
      return name;
  llvm_unreachable("every free port has a name");
}

std::optional<FreePort> tp::freePortOf(Attribute attribute) {
  if (auto text = dyn_cast_or_null<StringAttr>(attribute))
    for (const auto &[name, named] : freePortNames)
      if (text == name)
        return named;
  return std::nullopt;
}

/// What an attribute of this name is, or nothing where the name is not known.
static StringRef expectedOf(NamedAttribute attribute, bool &holds) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto expect = [&](bool isExpected, StringRef what) {
    holds = isExpected;
    return what;
  };
  if (name == attr::name || name == attr::kind || name == attr::updates)
    return expect(isa<StringAttr>(value), "a string");
  if (name == attr::aliases) {
    auto names = dyn_cast<ArrayAttr>(value);
    return expect(names && llvm::all_of(names, llvm::IsaPred<StringAttr>),
                  "a list of strings");
  }
  if (name == attr::layout)
    return expect(isa<LayoutAttr>(value), "a #tp.layout");
  if (name == attr::unsignedPort)
    return expect(isa<UnitAttr>(value), "unit");
  if (name == attr::globalType) {
    auto type = dyn_cast<TypeAttr>(value);
    return expect(type && isa<RankedTensorType>(type.getValue()),
                  "a ranked tensor type");
  }
  if (name == attr::pin) {
    auto pins = dyn_cast<DictionaryAttr>(value);
    return expect(pins && llvm::all_of(pins,
                                       [](NamedAttribute pin) {
                                         return isa<PlacementAttr>(
                                                    pin.getValue()) ||
                                                freePortOf(pin.getValue());
                                       }),
                  "a dictionary of axes and #tp.placement, or \"sharded\", "
                  "\"any\", \"carried\", \"as_parameter\"");
  }
  return "";
}

static LogicalResult verifyPort(Location loc, const Twine &port,
                                ArrayRef<NamedAttribute> attributes) {
  for (NamedAttribute attribute : attributes) {
    if (!isa_and_present<TPDialect>(attribute.getNameDialect()))
      continue;
    bool holds = false;
    StringRef expected = expectedOf(attribute, holds);
    if (expected.empty())
      return emitError(loc) << port << " has an unknown attribute '"
                            << attribute.getName().getValue() << "'";
    if (!holds)
      return emitError(loc) << "attribute '" << attribute.getName().getValue()
                            << "' of " << port << ": expected " << expected
                            << ", got " << attribute.getValue();
  }
  return success();
}

/// An update names one argument, which has the result's type.
static LogicalResult verifyUpdate(func::FuncOp function, unsigned result,
                                  std::optional<PortNames> &arguments) {
  auto update = function.getResultAttrOfType<StringAttr>(result, attr::updates);
  if (!update)
    return success();
  if (!arguments)
    arguments.emplace(function, PortSide::Argument);
  ArrayRef<unsigned> old = arguments->find(update.getValue());
  if (old.size() != 1)
    return emitError(function.getLoc())
           << "result #" << result << " updates " << update
           << ", expected the name (or 'kind:name') of one argument, got "
           << (old.empty() ? "none" : "several") << " of this name";
  return success();
}

static LogicalResult verifyNoAliases(func::FuncOp function, unsigned result) {
  if (!function.getResultAttr(result, attr::aliases))
    return success();
  return emitError(function.getLoc())
         << "result #" << result << " has '" << attr::aliases
         << "', expected it on weights alone";
}

LogicalResult tp::verifyPortAttributes(func::FuncOp function) {
  auto ports = cast<FunctionOpInterface>(function.getOperation());
  llvm::DenseMap<std::pair<Attribute, Attribute>, unsigned> named;
  for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i) {
    Location loc = function.isDeclaration() ? function.getLoc()
                                            : function.getArgument(i).getLoc();
    if (failed(verifyPort(loc, "argument #" + Twine(i), ports.getArgAttrs(i))))
      return failure();
    if (function.getArgAttr(i, attr::updates))
      return emitError(loc) << "argument #" << i << " has '" << attr::updates
                            << "', expected it on results alone";
    Attribute name = function.getArgAttr(i, attr::name);
    if (!name)
      continue;
    auto [it, isNew] =
        named.insert({{name, function.getArgAttr(i, attr::kind)}, i});
    if (!isNew)
      return emitError(loc) << "arguments #" << it->second << " and #" << i
                            << " are both called " << name;
  }
  std::optional<PortNames> arguments;
  for (unsigned i = 0, e = function.getNumResults(); i != e; ++i)
    if (failed(verifyPort(function.getLoc(), "result #" + Twine(i),
                          ports.getResultAttrs(i))) ||
        failed(verifyNoAliases(function, i)) ||
        failed(verifyUpdate(function, i, arguments)))
      return failure();
  return success();
}
