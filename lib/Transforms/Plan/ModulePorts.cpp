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

SmallVector<OpOperand *> ModulePorts::usesInside(Value value,
                                                 StringRef module) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    Operation *user = use.getOwner();
    if (ModuleIndex::belongsTo(user, module)) {
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
    index.addCopy(user, copy);
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

static bool isShared(Operation *op) {
  return isa_and_nonnull<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(
      op);
}

/// The value in front of pins.
static Value unpinned(Value value) {
  while (auto pin = value.getDefiningOp<ConstrainOp>())
    value = pin.getSource();
  return value;
}

SmallVector<Value> ModulePorts::readBy(StringRef module, bool withBuffers) {
  llvm::SetVector<Value> values;
  for (Operation *op : index.opsIn(module))
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      Value value = operand;
      // What the module reads is the value, not its own view of it.
      while (Operation *def = value.getDefiningOp()) {
        Value source = viewSource(def);
        if (!source || !ModuleIndex::belongsTo(def, module))
          break;
        value = source;
      }
      if (Operation *def = value.getDefiningOp()) {
        if (isShared(def) || ModuleIndex::belongsTo(def, module) ||
            index.isIndexComputation(value))
          continue;
      } else {
        unsigned number = cast<BlockArgument>(value).getArgNumber();
        auto kind = function.getArgAttrOfType<StringAttr>(number, attr::kind);
        auto name = function.getArgAttrOfType<StringAttr>(number, attr::name);
        if (value.getParentBlock() != &function.getBody().front())
          continue;
        bool isGivenBuffer = withBuffers && name &&
                             !isInside(name.getValue(), module) &&
                             index.isBufferComputation(value);
        if (kind && kind.getValue() != "user_input" && !isGivenBuffer)
          continue;
      }
      values.insert(value);
    }
  return values.takeVector();
}

/// Whether a module gets the value, or the program returns it. The backward
/// pass and the optimizer of a training step read values inside of modules,
/// and the next value of an argument is no module's result.
static bool isForwardUse(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto back = dyn_cast<func::ReturnOp>(user)) {
    auto kind =
        back->getParentOfType<func::FuncOp>().getResultAttrOfType<StringAttr>(
            use.getOperandNumber(), attr::kind);
    return !kind || !kind.getValue().starts_with("new_");
  }
  return !isOfBackwardPass(user->getLoc()) &&
         !moduleOf(user->getLoc()).starts_with("<optim>");
}

SmallVector<Value> ModulePorts::madeBy(StringRef module) {
  SmallVector<Value> values;
  for (Operation *op : index.opsIn(module)) {
    if (isShared(op))
      continue;
    for (Value value : op->getResults())
      if (isa<RankedTensorType>(value.getType()) &&
          !index.isIndexComputation(value) &&
          llvm::any_of(value.getUses(), [&](OpOperand &use) {
            return !ModuleIndex::belongsTo(use.getOwner(), module) &&
                   isForwardUse(use);
          }))
        values.push_back(value);
  }
  return values;
}

void ModulePorts::sortByPosition(SmallVectorImpl<Value> &values) {
  Block &body = function.getBody().front();
  auto isBefore = [&](Value left, Value right) {
    auto leftArgument = dyn_cast<BlockArgument>(left);
    auto rightArgument = dyn_cast<BlockArgument>(right);
    if (leftArgument && rightArgument)
      return leftArgument.getArgNumber() < rightArgument.getArgNumber();
    if (leftArgument || rightArgument)
      return static_cast<bool>(leftArgument);
    Operation *first = body.findAncestorOpInBlock(*left.getDefiningOp());
    Operation *second = body.findAncestorOpInBlock(*right.getDefiningOp());
    if (first == second)
      return cast<OpResult>(left).getResultNumber() <
             cast<OpResult>(right).getResultNumber();
    return first->isBeforeInBlock(second);
  };
  llvm::sort(values, isBefore);
}

void ModulePorts::dropOtherPorts(SmallVectorImpl<Value> &candidates,
                                 ArrayRef<CallValue> ports, unsigned number) {
  for (auto [i, port] : llvm::enumerate(ports)) {
    if (i == number)
      continue;
    for (StringRef node : port.nodes)
      if (Value other = node.empty() ? Value() : index.valueOf(node))
        llvm::erase_if(candidates, [&](Value candidate) {
          return unpinned(candidate) == unpinned(other);
        });
  }
}

FailureOr<Value> ModulePorts::resolve(StringRef module, unsigned number,
                                      bool isInput, Operation *entry) {
  const ModuleRow *row = tree.find(module);
  StringRef what = isInput ? "input" : "output";
  ArrayRef<CallValue> ports = isInput ? row->arguments : row->results;
  // Empty where the table has no ports of the module.
  StringRef node;
  if (!ports.empty()) {
    if (number >= ports.size())
      return entry->emitError()
             << "module '" << module << "' has " << ports.size() << " " << what
             << "s, the entry speaks of number " << number;
    const CallValue &port = ports[number];
    if (port.nodes.size() > 1)
      return entry->emitError()
             << what << " " << number << " of module '" << module << "'"
             << (port.name.empty() ? "" : ", '" + port.name.str() + "',")
             << " has " << port.nodes.size()
             << " parts, expected one tensor; its layout is none";
    node = port.tensor();
    if (node.empty())
      return entry->emitError()
             << what << " " << number << " of module '" << module
             << "' is no tensor; its layout is none";
    if (Value value = index.valueOf(node))
      if (!isInput || !usesInside(value, module).empty())
        return value;
  }
  SmallVector<Value> candidates =
      isInput ? readBy(module, /*withBuffers=*/false) : madeBy(module);
  sortByPosition(candidates);
  dropOtherPorts(candidates, ports, number);
  // What a model computes from buffers for all of its layers follows the
  // activations in a call.
  if (isInput && number == 0 && ports.empty() &&
      !llvm::all_of(candidates, [&](Value candidate) {
        return index.isBufferComputation(candidate);
      }))
    llvm::erase_if(candidates, [&](Value candidate) {
      return index.isBufferComputation(candidate);
    });
  if (candidates.size() == 1)
    return candidates.front();
  if (candidates.empty())
    return entry->emitError() << "found no value that is " << what << " "
                              << number << " of module '" << module << "'";
  InFlightDiagnostic diag = entry->emitError()
                            << what << " " << number << " of module '" << module
                            << "' may be any of " << candidates.size()
                            << " values";
  if (ports.empty())
    diag << ", and the model file has no row of it that tells";
  else
    diag << ", and node '" << node
         << "', which the model file names, is none of them";
  diag << ": write the layout as " << what
       << "_layouts in the entries of modules inside of it that have one "
       << what;
  for (Value candidate : candidates) {
    Diagnostic &note = diag.attachNote();
    // Pins have the locations of their entries.
    candidate = unpinned(candidate);
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

SmallVector<Port> ModulePorts::sharedInput(StringRef module, unsigned number) {
  ArrayRef<CallValue> arguments = tree.find(module)->arguments;
  if (number >= arguments.size() || arguments[number].tensor().empty())
    return {};
  if (Value value = index.valueOf(arguments[number].tensor()))
    if (!usesInside(value, module).empty())
      return {};
  SmallVector<Value> values = readBy(module, /*withBuffers=*/true);
  llvm::erase_if(
      values, [&](Value value) { return !index.isBufferComputation(value); });
  sortByPosition(values);
  dropOtherPorts(values, arguments, number);
  return llvm::map_to_vector(values, [&](Value value) {
    return Port{value, usesInside(value, module), wholeView(value)};
  });
}

FailureOr<Port> ModulePorts::input(StringRef module, unsigned number,
                                   Operation *entry) {
  FailureOr<Value> value = resolve(module, number, /*isInput=*/true, entry);
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

FailureOr<Port> ModulePorts::output(StringRef module, unsigned number,
                                    Operation *entry) {
  FailureOr<Value> found = resolve(module, number, /*isInput=*/false, entry);
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
    if (!ModuleIndex::belongsTo(use.getOwner(), module))
      port.uses.push_back(&use);
  return port;
}
