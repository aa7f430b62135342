//===- FreeProducers.cpp - ops that make tensors from nothing -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

bool propagate::isFreeProducer(Operation *op) {
  if (!op || op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  auto model = dyn_cast<ShardingRuleOpInterface>(op);
  if (!model)
    return false;
  SmallVector<Value> slots = slotsOf(op);
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  for (Value slot : slots)
    if (!destination || !isFreeProducer(slot.getDefiningOp()) ||
        !llvm::is_contained(destination.getDpsInits(), slot))
      return false;
  return isMemoryEffectFree(op);
}

propagate::CopyGroups propagate::copyFreeProducers(func::FuncOp func) {
  CopyGroups groups;
  Block &block = func.getBody().front();
  // From the last to the first, so that a copied fill gives its empty one use
  // more before the empty is looked at.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isFreeProducer(&op))
      continue;
    llvm::SetVector<Operation *> users;
    for (Operation *user : op.getResult(0).getUsers())
      users.insert(block.findAncestorOpInBlock(*user));
    if (users.size() < 2)
      continue;
    SmallVector<Operation *> ordered = users.takeVector();
    llvm::sort(ordered, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    SmallVector<Operation *, 4> &group = groups.emplace_back();
    group.push_back(&op);
    OpBuilder builder(&op);
    builder.setInsertionPointAfter(&op);
    for (Operation *user : llvm::drop_begin(ordered)) {
      Operation *copy = builder.clone(op);
      op.getResult(0).replaceUsesWithIf(
          copy->getResult(0),
          [&](OpOperand &use) { return user->isAncestor(use.getOwner()); });
      group.push_back(copy);
    }
  }
  // Copies of an empty merge before the fills that use them.
  std::reverse(groups.begin(), groups.end());
  return groups;
}

void propagate::mergeCopies(const CopyGroups &groups) {
  for (const SmallVector<Operation *, 4> &group : groups) {
    SmallVector<Operation *> kept;
    for (Operation *copy : group) {
      auto same = llvm::find_if(kept, [&](Operation *other) {
        return other->getAttrDictionary() == copy->getAttrDictionary() &&
               other->getOperands() == copy->getOperands();
      });
      if (same == kept.end()) {
        kept.push_back(copy);
        continue;
      }
      copy->replaceAllUsesWith(*same);
      copy->erase();
    }
  }
}
