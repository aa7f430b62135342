//===- BindNamed.cpp - entries that name parameters -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "Parameters/ConvolvedWeights.h"

using namespace mlir;
using namespace tp;

LogicalResult Binder::verifyOfParameter(ParallelizeOp entry, unsigned number) {
  StringRef name = argumentNames.name(number);
  std::string owner =
      (" module '" + (name.contains('.') ? name.rsplit('.').first : "") + "'")
          .str();
  const StyleName *style = lookupStyle(entry.getStyle());
  if (!bindsParameters(style->kind))
    return entry.emitError()
           << "'" << name << "' is a parameter, style " << entry.getStyle()
           << " is for modules: name" << owner;
  if (style->replicatedInput || style->replicatedOutput)
    return entry.emitError()
           << "'" << name << "' is a parameter, and style " << entry.getStyle()
           << " lays out what a module takes or returns too: write "
           << toString(style->kind) << ", or name" << owner;
  for (StringRef option : {"input_layouts", "output_layouts"})
    if (entry.getOptions().get(option))
      return entry.emitError() << "'" << name << "' is a parameter and has no '"
                               << option << "': they belong to" << owner;
  return success();
}

FailureOr<unsigned> Binder::namedDim(Item &item, unsigned number) {
  bool colwise = shardsOutputs(item);
  // It has its channels first, not last as the weight of a product.
  if (auto channels = convolvedChannels(function.getArgument(number), colwise))
    return channels->dim;
  int64_t rank =
      cast<RankedTensorType>(function.getArgument(number).getType()).getRank();
  auto [use, dim] =
      tp::namedDim(entryUses.of(function, argumentNames.name(number)), rank,
                   colwise, item.style->ofTable, tree.hasTable());
  if (dim)
    return *dim;
  bool isLookup = use && use->isGather;
  InFlightDiagnostic diag =
      item.entry.emitError()
      << (!use       ? "no product and no lookup reads '"
          : isLookup ? "the lookup that reads '"
                     : "the product that reads '")
      << item.module << "'"
      << (use ? (" has no dimension of it that style " + item.entry.getStyle() +
                 " shards")
                    .str()
              : (", which would tell the dimension that style " +
                 item.entry.getStyle() + " shards")
                    .str())
      << ": write " << argumentEntry(item.module, rank - 1)
      << " with the dimension to shard";
  if (use)
    diag.attachNote(use->op->getLoc()) << "it is read here";
  return diag;
}

LogicalResult Binder::bindParameter(Item &item, unsigned number) {
  BlockArgument argument = function.getArgument(number);
  if (argument.use_empty()) {
    if (isDead(argument))
      item.entry.emitWarning() << "nothing reads '" << item.module
                               << "', the entry has no effect on it";
    return success();
  }
  switch (*parameterSharding(item.style->kind)) {
  case ParameterSharding::Experts:
    return shardExperts(item, argument);
  case ParameterSharding::Nothing:
    return pinParameter(item, "parameter", argument, Placement::replicate());
  case ParameterSharding::Outputs:
  case ParameterSharding::Inputs:
    break;
  }
  int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
  bool colwise = shardsOutputs(item);
  if (colwise && rank == 0)
    return item.entry.emitError()
           << "'" << item.module << "' has no dimension for style "
           << item.entry.getStyle() << " to shard: write replicate";
  Placement placement = Placement::replicate();
  if (rank > 1) {
    FailureOr<unsigned> dim = namedDim(item, number);
    if (failed(dim))
      return failure();
    placement = Placement::shard(*dim);
  } else if (colwise) {
    // A vector belongs to what is made.
    placement = Placement::shard(0);
  }
  return pinParameter(item, "parameter", argument, placement);
}
