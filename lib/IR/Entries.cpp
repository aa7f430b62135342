//===- Entries.cpp - the functions that a host can run --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/Entries.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

SmallVector<func::FuncOp> tp::entriesOf(ModuleOp module) {
  SmallVector<func::FuncOp> found;
  llvm::StringSet<> called;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (!function.isPrivate())
      found.push_back(function);
    function.walk([&](func::CallOp call) { called.insert(call.getCallee()); });
  }
  llvm::erase_if(found, [&](func::FuncOp function) {
    return called.contains(function.getSymName());
  });
  return found;
}

int64_t tp::callsOf(func::FuncOp entry) {
  auto calls = entry->getAttrOfType<IntegerAttr>(attr::calls);
  return calls ? calls.getInt() : 1;
}

StringRef tp::wholeEntryOf(func::FuncOp function) {
  auto whole = function->getAttrOfType<StringAttr>(attr::partOf);
  return whole ? whole.getValue() : function.getSymName();
}

bool tp::isPartOfEntry(func::FuncOp function) {
  return function->hasAttr(attr::partOf);
}

int64_t tp::callsOfEntry(func::FuncOp function) {
  auto entry = function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(
      wholeEntryOf(function));
  return callsOf(entry ? entry : function);
}

int64_t tp::timesOf(func::FuncOp function) {
  auto times = function->getAttrOfType<IntegerAttr>(attr::times);
  return times ? times.getInt() : 1;
}

InvariantValues::InvariantValues(func::FuncOp body) {
  if (timesOf(body) <= 1)
    return;
  llvm::MapVector<unsigned, unsigned> updates = updatesOf(body);
  for (BlockArgument argument : body.getArguments())
    if (!updates.contains(argument.getArgNumber()))
      values.insert(argument);
  for (Operation &op : body.front())
    if (isMemoryEffectFree(&op) &&
        !anyInput(&op, [&](Value input) { return !contains(input); }))
      values.insert_range(op.getResults());
}

namespace {
/// The arguments of one name, over all entries.
struct NamedArguments {
  SmallVector<EntryArgument, 2> arguments;
  /// Some of them is a weight, or is updated.
  bool isTensor = false;
};
} // namespace

static bool isWeight(StringRef kind) {
  return kind == "parameter" || kind == "buffer" || kind == "constant_tensor" ||
         kind.starts_with("opt_");
}

/// By name; optimizer states, which have their parameter's name, by kind too.
static llvm::MapVector<StringRef, NamedArguments>
argumentsByName(ArrayRef<func::FuncOp> entries, llvm::StringSet<> &texts) {
  llvm::MapVector<StringRef, NamedArguments> named;
  for (unsigned number = 0; number < entries.size(); ++number) {
    func::FuncOp entry = entries[number];
    PortNames arguments(entry, PortSide::Argument);
    llvm::MapVector<unsigned, unsigned> updates = updatesOf(entry);
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      StringRef name = arguments.name(i);
      if (name.empty())
        continue;
      if (arguments.isOptimizerState(i))
        name = texts.insert(arguments.qualified(i)).first->getKey();
      NamedArguments &tensor = named[name];
      tensor.arguments.push_back({number, i});
      tensor.isTensor |= isWeight(arguments.kind(i)) || updates.contains(i);
    }
  }
  return named;
}

SharedArguments::SharedArguments(ArrayRef<func::FuncOp> entries) {
  if (entries.size() < 2)
    return;
  llvm::StringSet<> texts;
  auto share = [&](const SmallVector<EntryArgument, 2> &arguments) {
    if (arguments.size() < 2)
      return;
    unsigned number = shared.size();
    for (EntryArgument each : arguments)
      numbers.insert({{each.entry, each.argument}, number});
    shared.push_back(arguments);
  };
  for (auto &[name, tensor] : argumentsByName(entries, texts)) {
    if (tensor.isTensor) {
      share(tensor.arguments);
      continue;
    }
    llvm::MapVector<StringRef, SmallVector<EntryArgument, 2>> ofEntries;
    for (EntryArgument each : tensor.arguments)
      ofEntries[wholeEntryOf(entries[each.entry])].push_back(each);
    for (auto &[entry, arguments] : ofEntries)
      share(arguments);
  }
}

std::optional<unsigned> SharedArguments::tensorOf(unsigned entry,
                                                  unsigned argument) const {
  auto found = numbers.find({entry, argument});
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

static InFlightDiagnostic disagree(func::FuncOp entry, unsigned argument,
                                   func::FuncOp first, unsigned other,
                                   StringRef name, const Twine &here,
                                   const Twine &there) {
  InFlightDiagnostic error = emitError(entry.getArgument(argument).getLoc())
                             << "argument #" << argument << " ('" << name
                             << "') of @" << entry.getSymName() << " is "
                             << here.str() << ", in @" << first.getSymName()
                             << " it is " << there.str()
                             << ": expected one tensor, as entries share it; "
                                "give different tensors different names";
  error.attachNote(first.getArgument(other).getLoc())
      << "argument #" << other << " of @" << first.getSymName() << " is here";
  return error;
}

static LogicalResult verifyTensor(ArrayRef<func::FuncOp> entries,
                                  StringRef name,
                                  const NamedArguments &tensor) {
  EntryArgument first = tensor.arguments.front();
  func::FuncOp firstEntry = entries[first.entry];
  auto kindOf = [](func::FuncOp entry, unsigned argument) {
    auto kind = entry.getArgAttrOfType<StringAttr>(argument, attr::kind);
    return kind ? kind.getValue() : StringRef("user_input");
  };
  auto typeOf = [](func::FuncOp entry, unsigned argument) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << entry.getArgument(argument).getType();
    if (entry.getArgAttr(argument, attr::unsignedPort))
      os << " of unsigned numbers";
    return text;
  };
  StringRef kind = kindOf(firstEntry, first.argument);
  std::string type = typeOf(firstEntry, first.argument);
  for (EntryArgument each : ArrayRef(tensor.arguments).drop_front()) {
    func::FuncOp entry = entries[each.entry];
    // Two arguments of one name in one entry are refused by themselves.
    if (each.entry == first.entry)
      continue;
    if (StringRef here = kindOf(entry, each.argument); here != kind)
      return disagree(entry, each.argument, firstEntry, first.argument, name,
                      "of kind '" + here + "'", "of kind '" + kind + "'");
    if (std::string here = typeOf(entry, each.argument); here != type)
      return disagree(entry, each.argument, firstEntry, first.argument, name,
                      "a " + here, "a " + type);
  }
  return success();
}

LogicalResult tp::verifyEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries = entriesOf(module);
  if (entries.size() < 2)
    return success();
  llvm::StringSet<> texts;
  for (auto &[name, tensor] : argumentsByName(entries, texts))
    if (tensor.isTensor && failed(verifyTensor(entries, name, tensor)))
      return failure();
  return success();
}
