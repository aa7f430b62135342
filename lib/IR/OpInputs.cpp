//===- OpInputs.cpp - the values an op takes ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/OpInputs.h"

using namespace mlir;

static bool anyCaptured(Operation *op, Region &region,
                        llvm::function_ref<bool(Value)> visit) {
  for (Block &block : region)
    for (Operation &inner : block) {
      for (Region &nested : inner.getRegions())
        if (anyCaptured(op, nested, visit))
          return true;
      for (Value operand : inner.getOperands()) {
        // Nearly all come from next to it.
        Region *from = operand.getParentRegion();
        if (from != &region && !op->isAncestor(from->getParentOp()) &&
            visit(operand))
          return true;
      }
    }
  return false;
}

bool tp::anyInput(Operation *op, llvm::function_ref<bool(Value)> visit) {
  return llvm::any_of(op->getOperands(), visit) ||
         llvm::any_of(op->getRegions(), [&](Region &region) {
           return anyCaptured(op, region, visit);
         });
}

SmallVector<Value> tp::inputsOf(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  for (Region &region : op->getRegions())
    anyCaptured(op, region, [&](Value value) {
      inputs.push_back(value);
      return false;
    });
  return inputs;
}

bool tp::isAfterInputs(Operation *op) {
  return !anyInput(op, [&](Value input) {
    Operation *maker = input.getDefiningOp();
    return maker && maker->getBlock() == op->getBlock() &&
           !maker->isBeforeInBlock(op);
  });
}
