//===- CarriedWeights.cpp - weights that parts hand on --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters/CarriedWeights.h"
#include "tp/IR/Entries.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tp;

namespace {
/// A view of the parameter of that name, whose value is another one in each
/// function.
struct NamedView {
  StringRef parameter;
  ParameterView view;
};

class CarriedWeights {
public:
  explicit CarriedWeights(StringRef entry) : entry(entry) {}
  /// Takes the results of the entry's parts, in the order of a step.
  void readParts(ModuleOp module);
  std::vector<WeightView> argumentsOf(func::FuncOp function) const;

private:
  void readResults(func::FuncOp part);

  StringRef entry;
  llvm::StringMap<NamedView> views;
  /// How many parts write a value.
  llvm::StringMap<unsigned> writers;
};
} // namespace

static StringRef argumentName(func::FuncOp function, unsigned number) {
  auto name = function.getArgAttrOfType<StringAttr>(number, attr::name);
  return name ? name.getValue() : StringRef();
}

std::vector<WeightView>
CarriedWeights::argumentsOf(func::FuncOp function) const {
  std::vector<WeightView> found;
  llvm::StringMap<BlockArgument> parameters;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto kind = function.getArgAttrOfType<StringAttr>(number, attr::kind);
    StringRef name = argumentName(function, number);
    if (!type || name.empty() ||
        (kind && kind.getValue() != "parameter" && kind.getValue() != "buffer"))
      continue;
    parameters[name] = argument;
    found.push_back(
        {argument,
         {argument, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))}});
  }
  for (BlockArgument argument : function.getArguments()) {
    auto it = views.find(argumentName(function, argument.getArgNumber()));
    if (it == views.end())
      continue;
    if (BlockArgument parameter = parameters.lookup(it->second.parameter)) {
      found.push_back({parameter, it->second.view});
      found.back().view.value = argument;
    }
  }
  return found;
}

/// The name of a value that the part hands on; empty for any other result.
static StringRef carriedName(func::FuncOp part, unsigned result) {
  auto kind = part.getResultAttrOfType<StringAttr>(result, attr::kind);
  auto name = part.getResultAttrOfType<StringAttr>(result, attr::name);
  return kind && name && kind.getValue() == attr::carriedKind ? name.getValue()
                                                              : StringRef();
}

void CarriedWeights::readResults(func::FuncOp part) {
  Operation *terminator = part.getBody().front().getTerminator();
  std::vector<WeightView> weights = argumentsOf(part);
  Activations activations = activationsBeside(weights, part);
  for (const WeightView &weight : weights)
    forEachUse(weight.view, {activations},
               [&](const ParameterView &view, OpOperand &operand) {
                 if (operand.getOwner() != terminator)
                   return;
                 StringRef name = carriedName(part, operand.getOperandNumber());
                 if (writers.lookup(name) == 1)
                   views[name] = {
                       argumentName(part, weight.parameter.getArgNumber()),
                       view};
               });
}

void CarriedWeights::readParts(ModuleOp module) {
  SmallVector<func::FuncOp> parts;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && isPartOfEntry(function) &&
        wholeEntryOf(function) == entry)
      parts.push_back(function);
  for (func::FuncOp part : parts)
    for (unsigned result = 0; result < part.getNumResults(); ++result)
      if (StringRef name = carriedName(part, result); !name.empty())
        ++writers[name];
  for (func::FuncOp part : parts)
    readResults(part);
}

std::vector<WeightView> tp::argumentWeights(func::FuncOp function) {
  CarriedWeights carried(wholeEntryOf(function));
  if (llvm::any_of(llvm::seq(0u, function.getNumArguments()), [&](unsigned i) {
        auto kind = function.getArgAttrOfType<StringAttr>(i, attr::kind);
        return kind && kind.getValue() == attr::carriedKind;
      }))
    carried.readParts(function->getParentOfType<ModuleOp>());
  return carried.argumentsOf(function);
}

Activations tp::activationsBeside(ArrayRef<WeightView> weights,
                                  func::FuncOp function) {
  llvm::SmallDenseSet<BlockArgument> arguments;
  for (const WeightView &weight : weights)
    if (weight.view.value != weight.parameter)
      arguments.insert(cast<BlockArgument>(weight.view.value));
  return Activations(function, arguments);
}
