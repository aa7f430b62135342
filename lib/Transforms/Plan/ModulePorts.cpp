//===- ModulePorts.cpp - values at a module's boundary --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModulePorts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

std::optional<StringRef> ModulePorts::owner(Operation *op) {
  if (auto pin = dyn_cast<ConstrainOp>(op))
    return pin.getModule();
  return modulePathOf(op->getLoc());
}

static bool belongsTo(Operation *op, StringRef module) {
  std::optional<StringRef> owner = ModulePorts::owner(op);
  return owner && isInside(*owner, module);
}

bool ModulePorts::holdsOp(StringRef module) {
  // Constants and inits are shared and stand anywhere.
  WalkResult found = function.walk([&](Operation *op) {
    bool works = !isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp,
                      ConstrainOp, func::FuncOp>(op);
    return works && belongsTo(op, module) ? WalkResult::interrupt()
                                          : WalkResult::advance();
  });
  return found.wasInterrupted();
}

Value ModulePorts::valueOf(StringRef node) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(number, attr::name);
    auto kind = function.getArgAttrOfType<StringAttr>(number, attr::kind);
    if (!name)
      continue;
    std::string mangled = name.getValue().str();
    llvm::replace(mangled, '.', '_');
    StringRef prefix = !kind                            ? ""
                       : kind.getValue() == "parameter" ? "p_"
                       : kind.getValue() == "buffer"    ? "b_"
                                                        : "";
    if (node == (prefix + mangled).str() || node == name.getValue())
      return argument;
  }
  Value value;
  for (Operation &op : function.getBody().front())
    if (op.getNumResults() == 1 && !isa<ConstrainOp>(op) &&
        nodeOf(op.getLoc()) == node && modulePathOf(op.getLoc()) &&
        isa<RankedTensorType>(op.getResult(0).getType()))
      value = op.getResult(0);
  return value;
}

SmallVector<OpOperand *> ModulePorts::usesInside(Value value,
                                                 StringRef module) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    Operation *user = use.getOwner();
    if (belongsTo(user, module)) {
      uses.push_back(&use);
      continue;
    }
    if (viewSource(user) != value)
      continue;
    // A pin of a module around this one leads to this module's uses; any other
    // view was shared by the exporter and is copied.
    SmallVector<OpOperand *> behind = usesInside(user->getResult(0), module);
    if (behind.empty())
      continue;
    if (isa<ConstrainOp>(user)) {
      llvm::append_range(uses, behind);
      continue;
    }
    OpBuilder builder(user);
    builder.setInsertionPointAfter(user);
    Operation *copy = builder.clone(*user);
    for (OpOperand *inner : behind)
      inner->set(copy->getResult(0));
    for (OpOperand &operand : copy->getOpOperands())
      if (operand.get() == value)
        uses.push_back(&operand);
  }
  // Use lists run backwards.
  std::reverse(uses.begin(), uses.end());
  return uses;
}

/// A value that no argument reaches: an iota, a mask.
static bool isIndexComputation(Value value,
                               llvm::SmallDenseMap<Value, bool> &known) {
  if (isa<BlockArgument>(value))
    return !isa<func::FuncOp>(value.getParentBlock()->getParentOp());
  auto [it, isNew] = known.try_emplace(value, true);
  if (!isNew)
    return it->second;
  bool result = true;
  value.getDefiningOp()->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      result = result && isIndexComputation(operand, known);
  });
  return known[value] = result;
}

SmallVector<Value> ModulePorts::crossing(StringRef module, bool inward) {
  llvm::SetVector<Value> values;
  llvm::SmallDenseMap<Value, bool> known;
  function.walk([&](Operation *op) {
    if (op == function)
      return;
    bool inside = belongsTo(op, module);
    if (inside != inward)
      return;
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      Value value = operand;
      // What the module reads is the value, not its own view of it.
      while (Operation *def = value.getDefiningOp()) {
        Value source = viewSource(def);
        if (!source || belongsTo(def, module) != inward)
          break;
        value = source;
      }
      Operation *def = value.getDefiningOp();
      if (isa_and_nonnull<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(
              def))
        continue;
      if (!def) {
        auto kind = function.getArgAttrOfType<StringAttr>(
            cast<BlockArgument>(value).getArgNumber(), attr::kind);
        if (!inward || value.getParentBlock() != &function.getBody().front() ||
            (kind && kind.getValue() != "user_input"))
          continue;
      } else if (belongsTo(def, module) == inward ||
                 isIndexComputation(value, known)) {
        continue;
      }
      values.insert(value);
    }
  });
  return values.takeVector();
}

FailureOr<Value> ModulePorts::resolve(StringRef module, unsigned index,
                                      bool isInput, Operation *entry) {
  const ModuleRow *row = tree.find(module);
  StringRef what = isInput ? "input" : "output";
  ArrayRef<StringRef> nodes = isInput ? row->inputs : row->outputs;
  if (!nodes.empty() && index >= nodes.size())
    return entry->emitError()
           << "module '" << module << "' has " << nodes.size() << " " << what
           << "s, the entry speaks of number " << index;
  if (!nodes.empty() && nodes[index].empty())
    return entry->emitError() << what << " " << index << " of module '"
                              << module << "' is no tensor; its layout is none";
  if (!nodes.empty())
    if (Value value = valueOf(nodes[index]))
      if (!isInput || !usesInside(value, module).empty())
        return value;
  SmallVector<Value> candidates = crossing(module, isInput);
  // Ports the table resolves are no candidates for this one.
  for (auto [i, node] : llvm::enumerate(nodes))
    if (i != index && !node.empty())
      if (Value other = valueOf(node))
        llvm::erase(candidates, other);
  if (candidates.size() == 1)
    return candidates.front();
  if (candidates.empty())
    return entry->emitError() << "found no value that is " << what << " "
                              << index << " of module '" << module << "'";
  InFlightDiagnostic diag = entry->emitError()
                            << what << " " << index << " of module '" << module
                            << "' may be any of " << candidates.size()
                            << " values";
  for (Value candidate : candidates) {
    Diagnostic &note = diag.attachNote();
    if (auto argument = dyn_cast<BlockArgument>(candidate))
      note << "a candidate: argument " << argument.getArgNumber();
    else
      note << "a candidate: node '" << nodeOf(candidate.getLoc())
           << "' of module '" << moduleOf(candidate.getLoc()) << "'";
    note << ", a " << candidate.getType();
  }
  return diag;
}

static PortView wholeView(Value value) {
  return {llvm::to_vector(cast<RankedTensorType>(value.getType()).getShape())};
}

FailureOr<Port> ModulePorts::input(StringRef module, unsigned index,
                                   Operation *entry) {
  FailureOr<Value> value = resolve(module, index, /*isInput=*/true, entry);
  if (failed(value))
    return failure();
  Port port{*value, usesInside(*value, module), wholeView(*value)};
  // Behind the pins of modules around this one.
  if (!port.uses.empty() &&
      isa_and_nonnull<ConstrainOp>(port.uses.front()->get().getDefiningOp())) {
    Value pinned = port.uses.front()->get();
    if (llvm::all_of(port.uses,
                     [&](OpOperand *use) { return use->get() == pinned; }))
      port.value = pinned;
  }
  return port;
}

FailureOr<Port> ModulePorts::output(StringRef module, unsigned index,
                                    Operation *entry) {
  FailureOr<Value> found = resolve(module, index, /*isInput=*/false, entry);
  if (failed(found))
    return failure();
  Value value = *found;
  // Outside the pins of this module and of those in it.
  while (value.hasOneUse()) {
    auto pin = dyn_cast<ConstrainOp>(*value.user_begin());
    if (!pin || !pin.getPort().starts_with("output") ||
        !isInside(pin.getModule(), module))
      break;
    value = pin.getResult();
  }
  Port port{value, {}, wholeView(value)};
  for (OpOperand &use : value.getUses())
    if (!belongsTo(use.getOwner(), module))
      port.uses.push_back(&use);
  return port;
}
