//===- BindPorts.cpp - entries that name arguments and results ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "Ports/PartialPorts.h"
#include "tp/IR/Entries.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

BlockArgument Binder::argumentNamed(StringRef name) {
  std::optional<unsigned> number = argumentNames.weight(name);
  return number ? function.getArgument(*number) : BlockArgument();
}

SmallVector<unsigned> Binder::parametersNamed(StringRef pattern) {
  SmallVector<unsigned> numbers;
  if (std::optional<unsigned> number = argumentNames.weight(pattern))
    numbers.push_back(*number);
  else
    numbers = matching(argumentNames, function.getNumArguments(), pattern);
  llvm::erase_if(numbers, [&](unsigned number) {
    StringRef kind = argumentNames.kind(number);
    return (kind != "parameter" && kind != "buffer") ||
           !isa<RankedTensorType>(function.getArgument(number).getType());
  });
  return numbers;
}

LogicalResult Binder::pinPort(llvm::MapVector<unsigned, PortPin> &pins,
                              unsigned number, StringRef what,
                              Placement placement, Operation *entry) {
  auto [it, isNew] = pins.insert({number, {placement, entry}});
  if (isNew || it->second.placement == placement)
    return success();
  InFlightDiagnostic diag = entry->emitError()
                            << what << " is pinned to " << toString(placement)
                            << " and to " << toString(it->second.placement);
  diag.attachNote(it->second.entry->getLoc()) << "the other pin is here";
  return diag;
}

LogicalResult Binder::checkPartial(PortSide side, unsigned number,
                                   StringRef what, const Placement &placement,
                                   Operation *entry) {
  std::string why =
      whyNotPartial(function, side, number, plan.getAxis(), placement);
  if (why.empty())
    return success();
  return entry->emitError()
         << what << " cannot be " << toString(placement) << ": " << why;
}

/// Whether the names have the same letters, in any order.
static bool haveSameLetters(StringRef left, StringRef right) {
  std::string first = left.str(), second = right.str();
  llvm::sort(first);
  llvm::sort(second);
  return first == second;
}

/// The name that differs from `text` in fewest letters, if any is near; before
/// those `text` with another prefix, behind them the shortest that begins with
/// `text` or that `text` begins with.
std::string Binder::nearest(const PortNames &names, size_t count,
                            StringRef text) {
  SmallVector<StringRef> all;
  for (unsigned port = 0; port < count; ++port)
    if (!names.isOptimizerState(port))
      all.push_back(names.name(port));
  if (std::vector<Suggestion> moved = otherPrefixes(text, all); !moved.empty())
    return moved.front().name;
  StringRef best;
  unsigned least = text.size() / 3 + 1;
  for (unsigned port = 0; port < count; ++port) {
    StringRef name = names.name(port);
    unsigned distance =
        haveSameLetters(text, name) ? 1 : text.edit_distance(name, true, least);
    if (!name.empty() && distance < least) {
      least = distance;
      best = name;
    }
  }
  constexpr size_t fewestLetters = 3; // Of fewer, many names begin alike.
  if (best.empty() && text.size() >= fewestLetters)
    for (StringRef name : all)
      if (name.size() >= fewestLetters &&
          (name.starts_with(text) || text.starts_with(name)) &&
          (best.empty() || name.size() < best.size()))
        best = name;
  return best.str();
}

/// The names of what calls give and get, where these are few.
static std::string listed(const PortNames &names, size_t count) {
  constexpr size_t most = 5;
  SmallVector<std::string> found;
  for (unsigned port = 0; port < count; ++port)
    if (names.kind(port).starts_with("user_") && !names.name(port).empty())
      found.push_back(("'" + names.name(port) + "'").str());
  return found.size() > most ? "" : llvm::join(found, ", ");
}

SmallVector<unsigned> Binder::matching(const PortNames &names, size_t count,
                                       StringRef pattern) {
  SmallVector<unsigned> found;
  if (!isPattern(pattern))
    return found;
  auto [kind, name] = pattern.contains(':') ? pattern.split(':')
                                            : std::pair(StringRef(), pattern);
  for (unsigned port = 0; port < count; ++port)
    if ((kind.empty() ? !names.isOptimizerState(port)
                      : names.kind(port) == kind) &&
        nameMatches(name, names.name(port)))
      found.push_back(port);
  return found;
}

FailureOr<SmallVector<unsigned>> Binder::portsOf(Operation *entry,
                                                 Attribute port, StringRef what,
                                                 size_t count,
                                                 const PortNames &names) {
  SmallVector<unsigned> numbers;
  std::string name;
  if (auto position = dyn_cast<IntegerAttr>(port)) {
    name = std::to_string(position.getInt());
    if (position.getInt() < static_cast<int64_t>(count))
      numbers.push_back(position.getInt());
  } else {
    StringRef text = cast<StringAttr>(port).getValue();
    name = "'" + text.str() + "'";
    llvm::append_range(numbers, names.find(text));
    // A name alone, as a pattern, is of no optimizer state.
    if (numbers.size() > 1)
      llvm::erase_if(numbers, [&](unsigned number) {
        return names.isOptimizerState(number);
      });
    if (numbers.size() > 1) {
      InFlightDiagnostic diag = entry->emitError()
                                << what << " " << name << " may be any of "
                                << numbers.size() << " " << what << "s: write ";
      llvm::interleave(
          numbers,
          [&](unsigned each) { diag << "'" << names.qualified(each) << "'"; },
          [&] { diag << " or "; });
      return diag;
    }
    if (numbers.empty())
      numbers = matching(names, count, text);
  }
  if (namedEntries && !numbers.empty())
    namedEntries->insert(entry);
  if (namedEntries || !numbers.empty())
    return numbers;
  InFlightDiagnostic diag = entry->emitError()
                            << "the function has no " << what << " " << name
                            << ", it has " << count << " " << what << "s";
  diag.attachNote(function.getLoc()) << "the function is here";
  auto text = dyn_cast<StringAttr>(port);
  std::string near = text ? nearest(names, count, text) : "";
  if (!near.empty())
    diag.attachNote() << "did you mean '" << near << "'?";
  else if (text)
    if (std::string some = listed(names, count); !some.empty())
      diag.attachNote() << (what == "argument" ? "its inputs are "
                                               : "its results are ")
                        << some;
  return diag;
}

LogicalResult Binder::bindPorts() {
  auto bindEntry = [&](auto entry, PortSide side, TypeRange types,
                       const PortNames &names,
                       llvm::MapVector<unsigned, PortPin> &pins) {
    Attribute port = entry.getPort();
    StringRef what = side == PortSide::Argument ? "argument" : "result";
    FailureOr<SmallVector<unsigned>> numbers =
        portsOf(entry, port, what, types.size(), names);
    if (failed(numbers))
      return failure();
    for (unsigned number : *numbers) {
      auto text = dyn_cast<StringAttr>(port);
      // What a pattern names has a name of its own.
      std::string own = !text                      ? std::to_string(number)
                        : names.find(text).empty() ? names.name(number).str()
                                                   : text.getValue().str();
      std::string shown = (what + " " + (text ? "'" + own + "'" : own)).str();
      auto type = dyn_cast<RankedTensorType>(types[number]);
      if (!type)
        return LogicalResult(entry.emitError() << shown << " is no tensor, got "
                                               << types[number]);
      PortView view{llvm::to_vector(type.getShape())};
      FailureOr<Placement> resolved =
          resolve(entry, entry.getPlacement().getValue(), view, shown);
      if (failed(resolved) ||
          failed(checkPartial(side, number, shown, *resolved, entry)))
        return failure();
      Binding binding;
      binding.entry = entry;
      binding.axis = plan.getAxis().str();
      binding.pattern = text ? text.getValue().str() : own;
      binding.style = what.str();
      binding.status = BindingStatus::Bound;
      binding.values.push_back({what.str(), own, view.shape, *resolved});
      bindings.push_back(std::move(binding));
      if (failed(pinPort(pins, number, shown, *resolved, entry)))
        return failure();
    }
    return success();
  };
  for (Operation &op : plan.getBody().front()) {
    LogicalResult bound = success();
    if (auto argument = dyn_cast<ArgumentOp>(op))
      bound =
          bindEntry(argument, PortSide::Argument, function.getArgumentTypes(),
                    argumentNames, argumentPins);
    else if (auto result = dyn_cast<ResultOp>(op))
      // Results of a part are no results of the program.
      bound = bindEntry(result, PortSide::Result,
                        isPartOfEntry(function) ? TypeRange()
                                                : function.getResultTypes(),
                        resultNames, resultPins);
    if (failed(bound))
      return failure();
  }
  return success();
}
