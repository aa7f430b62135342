//===- OptimizerState.cpp - states lie as their parameters do -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step's results are the next step's arguments: an updated parameter
// or state has the layout of the old one, and a state of a parameter's shape
// the parameter's, where a plan says nothing else. tp-propagate chooses the
// layout of another argument that the step updates, such as a cache, and
// whether the iterations of a loop carry partial sums.
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/Entries.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

/// Whether a value is computed element by element from `argument`, as a sum
/// that grows with each iteration is; with `ofSlices` also by writing slices of
/// it, as the gradients of a stack of layers are made.
static bool isComputedFrom(Value value, BlockArgument argument, bool ofSlices) {
  llvm::SetVector<Value> work;
  work.insert(value);
  for (size_t i = 0; i < work.size(); ++i) {
    if (work[i] == argument)
      return true;
    if (auto slice = work[i].getDefiningOp<tensor::InsertSliceOp>();
        slice && ofSlices)
      work.insert(slice.getDest());
    auto op = work[i].getDefiningOp<linalg::LinalgOp>();
    if (op && op.getNumParallelLoops() == op.getNumLoops())
      work.insert_range(op.getDpsInputs());
  }
  return false;
}

void Binder::pinStates() {
  for (unsigned state = 0; state < function.getNumArguments(); ++state) {
    std::optional<unsigned> parameter =
        parameterOfState(function, argumentNames, state);
    if (!parameter || freeArguments.contains(state))
      continue;
    if (const auto *pin = argumentPins.find(*parameter);
        pin != argumentPins.end()) {
      PortPin copy = pin->second;
      argumentPins.insert({state, copy});
    } else if (freeArguments.contains(*parameter) &&
               !argumentPins.contains(state)) {
      freeArguments.insert({state, FreePort::AsParameter});
    }
  }
  Operation *returned = function.getBody().front().getTerminator();
  // Behind the loop one reduction is enough for the gradients of all layers.
  // Where weights are stored as shards a rank never holds all of them whole.
  bool isFullySharded = !plan.getBody().getOps<FullyShardOp>().empty();
  for (unsigned result = 0; result < function.getNumResults(); ++result) {
    std::optional<unsigned> old = argumentNames.updatedBy(resultNames, result);
    if (!old || resultPins.contains(result) ||
        function.getArgument(*old).getType() !=
            function.getResultTypes()[result])
      continue;
    if (!argumentNames.isParameterOrState(*old) && !argumentPins.contains(*old))
      freeArguments.insert(
          {*old,
           argumentNames.kind(*old) == attr::carriedKind &&
                   isComputedFrom(returned->getOperand(result),
                                  function.getArgument(*old), !isFullySharded)
               ? FreePort::Carried
               : FreePort::Any});
    if (freeArguments.contains(*old)) {
      freeResults.insert({result, FreePort::AsParameter});
      continue;
    }
    const auto *pin = argumentPins.find(*old);
    resultPins.insert({result, pin == argumentPins.end()
                                   ? PortPin{Placement::replicate(), plan}
                                   : pin->second});
  }
}
