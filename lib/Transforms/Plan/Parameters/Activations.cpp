//===- Activations.cpp - what the inputs of a program reach ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters/Activations.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/IR/Entries.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

/// An argument that calls of the program give, or another part.
static bool isGiven(func::FuncOp function, BlockArgument argument) {
  auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    attr::kind);
  if (kind && kind.getValue() == attr::carriedKind)
    // The number of an iteration is no data.
    return !getElementTypeOrSelf(argument.getType()).isIndex();
  return !kind || kind.getValue() == "user_input";
}

Activations::Activations(func::FuncOp function,
                         const llvm::SmallDenseSet<BlockArgument> &weights)
    : block(&function.getBody().front()) {
  for (BlockArgument argument : block->getArguments())
    if (isGiven(function, argument) && !weights.contains(argument))
      values.insert(argument);
  for (Operation &op : *block) {
    llvm::SetVector<Value> read(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), read);
    if (llvm::any_of(read, [&](Value value) { return values.contains(value); }))
      values.insert(op.result_begin(), op.result_end());
  }
}
