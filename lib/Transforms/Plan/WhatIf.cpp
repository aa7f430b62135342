//===- WhatIf.cpp - one value pinned differently from the plan ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WhatIf.h"
#include "Binder.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Text in quotes.
static std::string quoted(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << '"';
  llvm::printEscapedString(text, os);
  os << '"';
  return result;
}

FailureOr<WhatIfPin> tp::readWhatIfPin(StringRef text, const PlanFile &file) {
  MLIRContext *context = file.mesh.getContext();
  Location here = FileLineColLoc::get(context, "what-if", 1, 1);
  auto [value, layout] = text.split('=');
  auto [name, axis] = value.trim().split('@');
  if (name.empty() || layout.trim().empty())
    return emitError(here)
           << "expected VALUE=LAYOUT or VALUE@AXIS=LAYOUT, got '" << text
           << "'";
  WhatIfPin pin;
  if (axis.empty() && file.plans.size() == 1)
    pin.axis = PlanOp(file.plans.front()).getAxis().str();
  else if (axis.empty())
    return emitError(here) << "the plan file has plans for "
                           << file.plans.size()
                           << " axes, expected VALUE@AXIS=LAYOUT";
  else
    pin.axis = axis.str();
  if (llvm::none_of(file.plans,
                    [&](PlanOp plan) { return plan.getAxis() == pin.axis; }))
    return emitError(here) << "there is no plan for axis '" << pin.axis << "'";

  // A layout is spelled as in a plan.
  std::string entry;
  llvm::raw_string_ostream(entry)
      << "tp.plan @what_if on " << file.mesh << "[" << quoted(pin.axis)
      << "] {\n  tp.argument " << quoted(name) << " " << layout.trim()
      << "\n}\n";
  pin.file = parseSourceString<ModuleOp>(entry, context, "what-if");
  if (!pin.file)
    return failure();
  SmallVector<Operation *> entries;
  for (auto plan : pin.file->getOps<PlanOp>())
    for (Operation &op : plan.getBody().front())
      entries.push_back(&op);
  if (entries.size() != 1 || !isa<ArgumentOp>(entries.front()))
    return emitError(here) << "expected one layout, got '" << layout.trim()
                           << "'";
  pin.entry = cast<ArgumentOp>(entries.front());
  return pin;
}

//===----------------------------------------------------------------------===//
// Pinning
//===----------------------------------------------------------------------===//

namespace {
/// The pins at one port of a module on one axis.
struct PortPins {
  SmallVector<ConstrainOp> all;
  bool has(Operation *op) const {
    return op && llvm::is_contained(all, dyn_cast<ConstrainOp>(op));
  }
  bool feedsAnother(ConstrainOp pin) const {
    return llvm::any_of(pin->getUsers(),
                        [&](Operation *user) { return has(user); });
  }
};
} // namespace

LogicalResult Binder::pinWhatIf(ArgumentOp entry) {
  StringRef name = cast<StringAttr>(entry.getPort()).getValue();
  const Placement &placement = entry.getPlacement().getValue();
  auto [before, after] = name.split(':');
  auto pinOne = [&](unsigned number, TypeRange types, PortSide side,
                    llvm::MapVector<unsigned, PortPin> &pins) -> LogicalResult {
    StringRef what = side == PortSide::Argument ? "argument" : "result";
    auto type = dyn_cast<RankedTensorType>(types[number]);
    if (!type)
      return entry.emitError()
             << what << " '" << name << "' is no tensor, got " << types[number];
    FailureOr<Placement> resolved =
        resolve(entry, placement, PortView{llvm::to_vector(type.getShape())},
                (what + " '" + name + "'").str());
    if (failed(resolved) ||
        failed(checkPartial(side, number, (what + " '" + name + "'").str(),
                            *resolved, entry)))
      return failure();
    pins[number] = {*resolved, entry};
    return success();
  };
  ArrayRef<unsigned> arguments = argumentNames.find(name);
  if (arguments.size() == 1)
    return pinOne(arguments.front(), function.getArgumentTypes(),
                  PortSide::Argument, argumentPins);
  SmallVector<unsigned> matched =
      matching(argumentNames, function.getNumArguments(), name);
  for (unsigned number : matched)
    if (failed(pinOne(number, function.getArgumentTypes(), PortSide::Argument,
                      argumentPins)))
      return failure();
  if (!matched.empty())
    return success();
  StringRef resultName = before == "result" ? after : name;
  ArrayRef<unsigned> results = resultNames.find(resultName);
  unsigned position;
  bool isPosition = before == "result" && !after.getAsInteger(10, position) &&
                    position < function.getNumResults();
  if (results.size() == 1 || isPosition)
    return pinOne(results.size() == 1 ? results.front() : position,
                  function.getResultTypes(), PortSide::Result, resultPins);

  StringRef port = after.empty() ? "output" : after;
  SmallVector<StringRef> modules = tree.match(before);
  if (modules.empty()) {
    InFlightDiagnostic diag = entry.emitError()
                              << "no argument, result or module is called '"
                              << name << "'";
    for (const Suggestion &near : tree.nearest(before))
      diag.attachNote() << "did you mean '" << near.name << "'?";
    return diag;
  }
  for (StringRef module : modules)
    if (failed(pinWhatIf(entry, module, port)))
      return failure();
  return success();
}

LogicalResult Binder::pinWhatIf(ArgumentOp entry, StringRef module,
                                StringRef port) {
  bool isInput = port.consume_front("input");
  unsigned number = 0;
  if ((!isInput && !port.consume_front("output")) ||
      (!port.empty() && (!port.consume_front(" ") ||
                         port.getAsInteger(10, number) || number == 0)))
    return entry.emitError()
           << "expected the port of module '" << module
           << "' to be input or output, or one with a number, as in 'input 1'";
  std::string name = isInput ? "input" : "output";
  if (number)
    name += " " + std::to_string(number);
  std::string what = "the " + name + " of module '" + module.str() + "'";
  const Placement &placement = entry.getPlacement().getValue();

  // The plan's own pin at the outer side is what is pinned otherwise.
  PortPins pins;
  function.walk([&](ConstrainOp pin) {
    if (pin.getModule() == module && pin.getPort() == name &&
        pin.getAxis() == plan.getAxis())
      pins.all.push_back(pin);
  });
  auto change = [&](ConstrainOp pin) -> LogicalResult {
    FailureOr<Placement> resolved = resolve(
        entry, placement, PortView{llvm::to_vector(pin.getView())}, what);
    if (failed(resolved))
      return failure();
    pin.setPlacementAttr(PlacementAttr::get(plan.getContext(), *resolved));
    pin.setLazy(false);
    pin->setLoc(entry.getLoc());
    return success();
  };
  auto addBefore = [&](Value value, ArrayRef<OpOperand *> uses,
                       const PortView &view) -> LogicalResult {
    FailureOr<Placement> resolved = resolve(entry, placement, view, what);
    if (failed(resolved))
      return failure();
    OpBuilder builder(plan.getContext());
    builder.setInsertionPointAfterValue(value);
    auto pin = ConstrainOp::create(
        builder, entry.getLoc(), value.getType(), value, mesh, plan.getAxis(),
        PlacementAttr::get(plan.getContext(), *resolved), view.shape, module,
        name, /*lazy=*/false, /*dims=*/DenseI64ArrayAttr());
    if (failed(verify(pin)))
      return failure();
    index.addPin(pin);
    for (OpOperand *use : uses)
      use->set(pin);
    return success();
  };
  for (ConstrainOp pin : pins.all) {
    bool follows = pins.has(pin.getSource().getDefiningOp());
    bool isOuter = isInput ? !follows : !pins.feedsAnother(pin);
    if (!isOuter)
      continue;
    // What stands alone at an input is the layout that the module runs with.
    bool isInner = isInput && !pins.feedsAnother(pin);
    PortView view{llvm::to_vector(pin.getView())};
    if (failed(isInner
                   ? addBefore(pin.getSource(), {&pin.getSourceMutable()}, view)
                   : change(pin)))
      return failure();
  }
  if (!pins.all.empty())
    return success();
  FailureOr<Port> found = isInput ? ports.input(module, number, entry)
                                  : ports.output(module, number, entry);
  return failure(failed(found) ||
                 failed(addBefore(found->value, found->uses, found->view)));
}
