//===- LaneStores.cpp - masked stores of one element ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneStores.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// The only lane that a mask lets through, if it is a constant with one.
static std::optional<unsigned> onlyLane(Value *mask) {
  auto *constant = dyn_cast<Constant>(mask);
  auto *type = dyn_cast<FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  std::optional<unsigned> found;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    Constant *bit = constant->getAggregateElement(lane);
    // An undefined bit may be 0.
    if (!bit || isa<UndefValue>(bit) || bit->isNullValue())
      continue;
    if (found || !bit->isOneValue())
      return std::nullopt;
    found = lane;
  }
  return found;
}

void tp::target::expandLaneStores(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      for (Instruction &instruction : make_early_inc_range(block)) {
        auto *store = dyn_cast<IntrinsicInst>(&instruction);
        if (!store || store->getIntrinsicID() != Intrinsic::masked_store)
          continue;
        Value *vector = store->getArgOperand(0),
              *address = store->getArgOperand(1);
        std::optional<unsigned> lane = onlyLane(store->getArgOperand(2));
        if (!lane)
          continue;
        IRBuilder<> builder(store);
        Type *type = cast<VectorType>(vector->getType())->getElementType();
        uint64_t bytes = module.getDataLayout().getTypeStoreSize(type);
        Align align = commonAlignment(store->getParamAlign(1).valueOrOne(),
                                      *lane * bytes);
        builder.CreateAlignedStore(
            builder.CreateExtractElement(vector, *lane),
            builder.CreateConstInBoundsGEP1_64(type, address, *lane), align);
        store->eraseFromParent();
      }
}
