//===- FreeParameters.cpp - parameters whose layout tp chooses ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan with `auto` leaves parameters that it does not name to tp-propagate. A
// weight, what is contracted or looked up in, or slices of it, is sharded in
// any case: tensor parallelism is there to split it, and bytes alone never
// would.
//
//===----------------------------------------------------------------------===//

#include "Binder.h"

using namespace mlir;
using namespace tp;

void Binder::freeParameters() {
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    auto type =
        dyn_cast<RankedTensorType>(function.getArgument(number).getType());
    if (!type || argumentNames.kind(number) != "parameter" ||
        argumentPins.contains(number))
      continue;
    BlockArgument argument = function.getArgument(number);
    auto isProduct = [](const ParameterUse *use) {
      return !use->isPartOfWeight;
    };
    bool isWeight = type.getRank() > 1 &&
                    (llvm::any_of(usesOf.lookup(argument), isProduct) ||
                     stackedUses.contains(argument));
    freeArguments.insert(
        {number, isWeight ? FreePort::Sharded : FreePort::Any});
  }
}
