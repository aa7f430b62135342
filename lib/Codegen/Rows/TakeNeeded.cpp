//===- TakeNeeded.cpp - values of which some elements are needed ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Storage/Storage.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

/// Notes of which values some elements are needed. Nothing behind asks the ops.
void StoragePlan::takeNeeded() {
  for (auto op :
       llvm::make_early_inc_range(function.front().getOps<tp::NeededOp>())) {
    Value source = op.getSource(), condition = op.getCondition();
    if (source.hasOneUse() && traits.leavesRows) {
      Indices place = identityIndices(shapeOf(source).size(), op.getContext());
      for (auto [expr, size] : llvm::zip_equal(place, shapeOf(condition)))
        if (size == 1)
          expr = getAffineConstantExpr(0, op.getContext());
      store(rootOf(condition));
      needed[source] = {
          condition, AffineMap::get(place.size(), 0, place, op.getContext())};
    }
    op.getResult().replaceAllUsesWith(source);
    op.erase();
  }
}
