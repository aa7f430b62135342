//===- ModuleIndex.cpp - what of a function is whose ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleIndex.h"
#include "Names/ModuleTree.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

std::optional<StringRef> ModuleIndex::owner(Operation *op) {
  if (auto pin = dyn_cast<ConstrainOp>(op))
    return pin.getModule();
  return modulePathOf(op->getLoc());
}

bool ModuleIndex::belongsTo(Operation *op, StringRef module) {
  std::optional<StringRef> name = owner(op);
  return name && isInside(*name, module);
}

void ModuleIndex::addHolder(StringRef module) {
  while (holders.insert(module).second && !module.empty())
    module = module.contains('.') ? module.rsplit('.').first : StringRef();
}

void ModuleIndex::addOp(Operation *op, StringRef module) {
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ||
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
    ops[module].push_back(op);
}

ModuleIndex::ModuleIndex(func::FuncOp function) : function(function) {
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
    values.try_emplace((prefix + mangled).str(), argument);
    values.try_emplace(name.getValue(), argument);
  }
  Block *body = &function.getBody().front();
  llvm::StringMap<Value> made;
  function.walk([&](Operation *op) {
    if (op == function)
      return;
    std::optional<StringRef> module = owner(op);
    if (!module)
      return;
    addOp(op, *module);
    // Constants and inits are shared and stand anywhere.
    if (!isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp, ConstrainOp>(
            op))
      addHolder(*module);
    if (op->getBlock() == body && op->getNumResults() == 1 &&
        !isa<ConstrainOp>(op) &&
        isa<RankedTensorType>(op->getResult(0).getType()))
      made[nodeOf(op->getLoc())] = op->getResult(0);
  });
  // Of several values of one node the last is what the node returns.
  for (const auto &[node, value] : made)
    values.try_emplace(node, value);
}

SmallVector<Operation *> ModuleIndex::opsIn(StringRef module) const {
  SmallVector<Operation *> found;
  if (module.empty()) {
    for (const auto &[name, of] : ops)
      llvm::append_range(found, of);
    return found;
  }
  if (auto own = ops.find(module); own != ops.end())
    llvm::append_range(found, own->second);
  std::string inner = (module + ".").str();
  for (auto it = ops.lower_bound(inner);
       it != ops.end() && it->first.starts_with(inner); ++it)
    llvm::append_range(found, it->second);
  return found;
}

ModuleIndex::Values ModuleIndex::reachOf(ArrayRef<BlockArgument> arguments) {
  Values reach(arguments.begin(), arguments.end());
  llvm::SmallDenseSet<Operation *> around;
  function.walk([&](Operation *op) {
    if (op == function)
      return;
    // Inner ops come before the op they are in.
    if (!around.erase(op) && llvm::none_of(op->getOperands(), [&](Value value) {
          return reach.contains(value);
        }))
      return;
    reach.insert(op->result_begin(), op->result_end());
    around.insert(op->getParentOp());
  });
  return reach;
}

bool ModuleIndex::isIndexComputation(Value value) {
  if (!reached)
    reached = reachOf(function.getArguments());
  return !reached->contains(value);
}

bool ModuleIndex::isBufferComputation(Value value) {
  if (!reachedByData)
    reachedByData = reachOf(llvm::filter_to_vector(
        function.getArguments(), [&](BlockArgument argument) {
          auto kind = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), attr::kind);
          return !kind || (kind.getValue() != "buffer" &&
                           kind.getValue() != "constant_tensor");
        }));
  return !reachedByData->contains(value);
}

void ModuleIndex::addLike(Value known, Value added) {
  for (std::optional<Values> *reach : {&reached, &reachedByData})
    if (*reach && (*reach)->contains(known))
      (*reach)->insert(added);
}

void ModuleIndex::addPin(Operation *pin) {
  addOp(pin, *owner(pin));
  addLike(pin->getOperand(0), pin->getResult(0));
}

void ModuleIndex::addCopy(Operation *original, Operation *copy) {
  if (std::optional<StringRef> module = owner(copy))
    addOp(copy, *module);
  addLike(original->getResult(0), copy->getResult(0));
  // The copy stands last.
  auto node = values.find(nodeOf(copy->getLoc()));
  if (node != values.end() && node->second == original->getResult(0))
    node->second = copy->getResult(0);
}
