//===- BucketCollectives.cpp - tp-bucket-collectives ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two walks over a block, each linear in its size. The first one decides what
// goes together (BucketChooser.h). The second one gives every op a place and
// puts the ops in order of their places.
//
//===----------------------------------------------------------------------===//

#include "BucketBuffer.h"
#include "BucketChooser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "tp/IR/OpInputs.h"
#include "tp/Transforms/Partition/PartitionPasses.h"

namespace tp {
#define GEN_PASS_DEF_BUCKETCOLLECTIVES
#include "tp/Transforms/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Whether every op of `block` comes after what it reads; an error at one that
/// does not.
static LogicalResult verifyOrder(Block &block) {
  for (Operation &op : block)
    if (!isAfterInputs(&op))
      return op.emitOpError("was moved before what it reads");
  return success();
}

/// Puts one collective in the place of the members of every bucket that has
/// several, and what waits for it behind it. What was there before stays as
/// valid as it was; an error where that, or what is new, is not so.
static LogicalResult merge(Block &block, const BucketChooser &chosen) {
  // Of members, and of what waits for them; all others stay.
  llvm::DenseMap<Operation *, unsigned> places;
  SmallVector<const Bucket *> several;
  for (const Bucket &bucket : chosen.buckets)
    if (bucket.members.size() > 1) {
      several.push_back(&bucket);
      for (Operation *member : bucket.members)
        places[member] = bucket.place;
    }
  if (several.empty())
    return success();
  llvm::sort(several, [](const Bucket *a, const Bucket *b) {
    return a->place < b->place;
  });
  SmallVector<Operation *, 0> ops;
  // What waits for a bucket keeps its order: nothing else has its place.
  SmallVector<std::pair<unsigned, size_t>, 0> order;
  for (Operation &op : block) {
    unsigned met = chosen.met[ops.size()];
    auto own = places.find(&op);
    unsigned place = own == places.end() ? met : own->second;
    anyInput(&op, [&](Value value) {
      if (Operation *maker = value.getDefiningOp())
        if (auto it = places.find(maker); it != places.end())
          place = std::max(place, it->second);
      return false;
    });
    if (place != met)
      places[&op] = place;
    order.push_back({place, ops.size()});
    ops.push_back(&op);
  }
  llvm::sort(order);

  OpBuilder builder(block.getParentOp()->getContext());
  auto next = several.begin();
  SmallVector<Operation *> replaced;
  for (auto [place, number] : order) {
    if (next != several.end() && (*next)->place <= place) {
      // All members stand here, before what waits for them.
      ArrayRef<Operation *> members = (*next++)->members;
      builder.setInsertionPointToEnd(&block);
      Operation *last = &block.back();
      SmallVector<Value> results = createBucket(builder, members);
      while ((last = last->getNextNode()))
        if (failed(verify(last)))
          return failure();
      for (auto [member, result] : llvm::zip_equal(members, results))
        member->getResult(0).replaceAllUsesWith(result);
      llvm::append_range(replaced, members);
    }
    ops[number]->moveBefore(&block, block.end());
  }
  for (Operation *op : replaced)
    op->erase();
  return verifyOrder(block);
}

namespace {
struct BucketCollectivesPass
    : tp::impl::BucketCollectivesBase<BucketCollectivesPass> {
  using BucketCollectivesBase::BucketCollectivesBase;

  void runOnOperation() override {
    SourceProblem problem;
    std::optional<Hardware> described = readHardware(hardware, problem);
    if (!described) {
      mlir::emitError(FileLineColLoc::get(&getContext(), hardware, problem.line,
                                          problem.column))
          << problem.message;
      return signalPassFailure();
    }
    if (MeshAttr mesh = meshOf(getOperation()))
      if (std::string unknownAxis = described->unknownAxis(mesh.getValue());
          !unknownAxis.empty()) {
        getOperation().emitError() << unknownAxis;
        return signalPassFailure();
      }
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody()) {
        BucketChooser chooser(*described);
        chooser.choose(block);
        if (failed(merge(block, chooser)))
          return signalPassFailure();
      }
    // What is new was verified when it was made, and all else is as it was but
    // for its place: there is no need to verify the whole program again.
    markAllAnalysesPreserved();
  }
};
} // namespace
