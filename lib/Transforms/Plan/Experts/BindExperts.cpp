//===- BindExperts.cpp - styles that share experts among the ranks --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

/// The lookup that reads the matrix of one expert for each token, where there
/// is one.
static Operation *lookupOfExpert(BlockArgument weight) {
  for (Operation *user : weight.getUsers()) {
    auto read = dyn_cast<tensor::ExtractOp>(user);
    if (!read || read.getIndices().empty())
      continue;
    Value expert = read.getIndices().front();
    if (!expert.getDefiningOp<linalg::IndexOp>() &&
        !matchPattern(expert, m_Constant()))
      return read;
  }
  return nullptr;
}

LogicalResult Binder::shardExperts(Item &item, BlockArgument weight) {
  StringRef name = argumentNames.name(weight.getArgNumber());
  auto shape = cast<RankedTensorType>(weight.getType()).getShape();
  if (shape.empty())
    return item.entry.emitError()
           << "'" << name << "' is one number, style " << item.entry.getStyle()
           << " is for parameters whose first dimension is the experts";
  // Axes that were bound before may shard the experts too.
  auto pins = function.getArgAttrOfType<DictionaryAttr>(weight.getArgNumber(),
                                                        attr::pin);
  int64_t ranks = 1;
  std::vector<std::string> axes;
  for (const MeshAxis &axis : mesh.getValue().axes) {
    auto pin = pins ? pins.getAs<PlacementAttr>(axis.name) : PlacementAttr();
    if (axis.name != plan.getAxis() &&
        (!pin || pin.getValue() != Placement::shard(0)))
      continue;
    ranks *= axis.size;
    axes.push_back("'" + axis.name + "'");
  }
  if (shape.front() < ranks)
    return item.entry.emitError()
           << "'" << name << "' has " << shape.front()
           << (shape.front() == 1 ? " expert, " : " experts, ")
           << (axes.size() == 1 ? "axis " : "axes ") << llvm::join(axes, ", ")
           << (axes.size() == 1 ? " has " : " have ") << ranks
           << " ranks: give it at most one rank for each expert";
  if (Operation *lookup = lookupOfExpert(weight)) {
    InFlightDiagnostic diag =
        item.entry.emitError()
        << "'" << name << "' is looked up for each token, style "
        << item.entry.getStyle()
        << " is for products of all tokens with all experts: export the model "
           "with config._experts_implementation = \"tp_products\"";
    diag.attachNote(lookup->getLoc()) << "it is looked up here";
    return diag;
  }
  return pinParameter(item, "parameter", weight, Placement::shard(0));
}

LogicalResult Binder::bindExperts(Item &item) {
  SmallVector<BlockArgument> own;
  BlockArgument experts;
  std::string prefix = item.module.empty() ? "" : (item.module + ".").str();
  StringRef inside;
  for (BlockArgument argument : function.getArguments()) {
    StringRef name = argumentNames.name(argument.getArgNumber());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || argumentNames.kind(argument.getArgNumber()) != "parameter" ||
        !name.consume_front(prefix))
      continue;
    // The weights of experts that are modules: `experts.0.up.weight`.
    if (inside.empty() && name.contains('.') && llvm::isDigit(name.front()))
      inside = name.split('.').first;
    if (name.contains('.'))
      continue;
    own.push_back(argument);
    if (type.getRank() < 3)
      continue;
    if (!experts)
      experts = argument;
    int64_t count = type.getDimSize(0);
    int64_t other = cast<RankedTensorType>(experts.getType()).getDimSize(0);
    if (count != other)
      return item.entry.emitError()
             << "the parameters of module '" << item.module << "' have "
             << other << " and " << count << " experts: '"
             << argumentNames.name(experts.getArgNumber()) << "' and '"
             << argumentNames.name(argument.getArgNumber()) << "'";
  }
  if (!experts) {
    if (!inside.empty())
      return item.entry.emitError()
             << "the experts of module '" << item.module
             << "' are modules of their own, such as '" << prefix << inside
             << "': ranks share experts whose weights are stacked in one "
                "parameter, as [experts, out, in]";
    std::string others = argumentsOf(item.module);
    return item.entry.emitError()
           << "module '" << item.module << "' has no experts"
           << (others.empty() ? "" : " (its arguments are " + others + ")")
           << ", style " << item.entry.getStyle()
           << " is for modules whose parameters are stacked over experts, as "
              "[experts, out, in]";
  }
  int64_t count = cast<RankedTensorType>(experts.getType()).getDimSize(0);
  bool isAnyRead = false;
  for (BlockArgument argument : own) {
    auto shape = cast<RankedTensorType>(argument.getType()).getShape();
    if (argument.use_empty() || shape.empty() || shape.front() != count)
      continue;
    isAnyRead = true;
    if (failed(shardExperts(item, argument)))
      return failure();
  }
  if (!isAnyRead && isDead(experts))
    item.entry.emitWarning()
        << "nothing reads the experts of module '" << item.module
        << "', the entry has no effect on it";
  return success();
}
