//===- LinalgLocalOp.cpp - the linalg op that one rank runs ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgShardingRules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Interfaces/BodyLinearity.h"

using namespace mlir;
using namespace tp;

namespace {
/// Makes the body of the op that one rank runs speak of what it did globally.
/// Buffers of uneven chunks end in padding that holds anything: it must not get
/// into a reduction, choose an element, divide or fail an assertion.
class LocalBody {
public:
  LocalBody(LocalOpBuilder &local, linalg::LinalgOp op, unsigned numLoops,
            unsigned numOperandSlots)
      : local(local), builder(local.builder), op(op), body(*op.getBlock()),
        numLoops(numLoops), numOperandSlots(numOperandSlots) {}

  /// True if `op` needs to be rewritten beyond its types under this strategy,
  /// `body` being its body.
  static bool isNeeded(LocalOpBuilder &local, linalg::LinalgOp op) {
    Block &body = *op.getBlock();
    bool readsIndex = !body.getOps<linalg::IndexOp>().empty();
    bool hasTables = !body.getOps<tensor::ExtractOp>().empty();
    for (unsigned factor = 0; factor < local.rule.factors.size(); ++factor)
      if (local.isSplit(factor) &&
          (readsIndex || hasTables || local.isUneven(factor)))
        return true;
    return false;
  }

  void rewrite() {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    for (unsigned factor = 0; factor < local.rule.factors.size(); ++factor)
      if (local.isSplit(factor))
        local.prepareIndices(factor);
    auto indices = llvm::to_vector(body.getOps<linalg::IndexOp>());
    builder.setInsertionPointToStart(&body);
    findValidity();
    guardTraps();
    for (unsigned slot = numOperandSlots; slot < local.rule.slots.size();
         ++slot)
      localizeReads(slot);
    maskLookups();
    maskReductions();
    globalize(indices);
  }

private:
  Value indexOf(unsigned loop) {
    return linalg::IndexOp::create(builder, op.getLoc(), loop);
  }

  Value both(Value a, Value b) {
    if (!a || !b)
      return a ? a : b;
    return arith::AndIOp::create(builder, op.getLoc(), a, b);
  }

  Value either(Value a, Value b) {
    if (!a || !b)
      return a ? a : b;
    return arith::OrIOp::create(builder, op.getLoc(), a, b);
  }

  /// Sets `isElement` (the iteration is one of the rank's) and `isReduced` (its
  /// indices of reduction loops are), null where they always are.
  void findValidity() {
    for (unsigned loop = 0; loop < numLoops; ++loop) {
      if (!local.isSplit(loop) || !local.isUneven(loop))
        continue;
      Value valid = local.isValid(loop, indexOf(loop));
      isElement = both(isElement, valid);
      if (local.rule.factors[loop].kind == FactorKind::Reduction)
        isReduced = both(isReduced, valid);
    }
  }

  Value selectOrZero(Value condition, Value index, Location loc) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    return arith::SelectOp::create(builder, loc, condition, index, zero);
  }

  void guardTraps() {
    if (!isElement)
      return;
    body.walk([&](Operation *inner) {
      Location loc = inner->getLoc();
      builder.setInsertionPoint(inner);
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
              arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
              inner)) {
        Value divisor = inner->getOperand(1);
        Value one = arith::ConstantOp::create(
            builder, loc, builder.getOneAttr(divisor.getType()));
        inner->setOperand(
            1, arith::SelectOp::create(builder, loc, isElement, divisor, one));
      } else if (auto read = dyn_cast<tensor::ExtractOp>(inner);
                 read && read->getBlock() != &body) {
        for (OpOperand &index : read.getIndicesMutable())
          index.set(selectOrZero(isElement, index.get(), loc));
      } else if (auto assertion = dyn_cast<cf::AssertOp>(inner)) {
        Value always =
            arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
        assertion.getArgMutable().assign(arith::SelectOp::create(
            builder, loc, isElement, assertion.getArg(), always));
      }
    });
  }

  /// Rewrites the reads of table slot `slot`: indices into a sharded dimension
  /// become the rank's own, and where a computed index lies elsewhere the read
  /// yields the identity. The results then are what the identity makes of
  /// them, which `maskLookups` puts right.
  void localizeReads(unsigned slot) {
    Value readsOwn;
    for (auto read : llvm::to_vector(body.getOps<tensor::ExtractOp>())) {
      if (read.getTensor() != local.slot(slot))
        continue;
      Location loc = read.getLoc();
      builder.setInsertionPoint(read);
      SmallVector<Value> indices(read.getIndices());
      Value isHere;
      for (auto [dim, factors] :
           llvm::enumerate(local.rule.slotFactors[slot])) {
        bool isSplit = !factors.empty() && local.isSplit(factors.front());
        if (isSplit && factors.front() < numLoops) {
          indices[dim] = indexOf(factors.front());
          continue;
        }
        std::optional<unsigned> loop = linalgLoopIndexOf(indices[dim]);
        bool isInside =
            !isElement ||
            (loop && !(local.isSplit(*loop) && local.isUneven(*loop)));
        if (!isInside)
          indices[dim] = selectOrZero(isElement, indices[dim], loc);
        if (!isSplit)
          continue;
        auto [holds, own] = local.ownIndex(factors.front(), indices[dim]);
        indices[dim] = selectOrZero(holds, own, loc);
        isHere = both(isHere, holds);
      }
      read.getIndicesMutable().assign(indices);
      if (!isHere)
        continue;
      builder.setInsertionPointAfter(read);
      Value identity = arith::ConstantOp::create(
          builder, loc, identityOf(ReductionKind::Sum, read.getType()));
      auto masked =
          arith::SelectOp::create(builder, loc, isHere, read, identity);
      read->getResult(0).replaceAllUsesExcept(masked, masked);
      maskedReads.insert(masked);
      readsOwn = either(readsOwn, isHere);
    }
    holdsLookups = both(holdsLookups, readsOwn);
  }

  /// Every result is the identity where the rank holds nothing of what a table
  /// is read at. The body is linear in the table, but only up to the sign of
  /// zero and up to infinities: -0.0 times -1.0 is 0.0, times infinity NaN.
  void maskLookups() {
    if (!holdsLookups)
      return;
    Operation *yield = body.getTerminator();
    builder.setInsertionPoint(yield);
    for (OpOperand &yielded : yield->getOpOperands()) {
      if (maskedReads.contains(yielded.get()))
        continue;
      Value identity = arith::ConstantOp::create(
          builder, op.getLoc(),
          identityOf(ReductionKind::Sum, yielded.get().getType()));
      yielded.set(arith::SelectOp::create(builder, op.getLoc(), holdsLookups,
                                          yielded.get(), identity));
    }
  }

  /// An iteration beyond the rank's end leaves the accumulators as they are.
  void maskReductions() {
    if (!isReduced)
      return;
    Operation *yield = body.getTerminator();
    builder.setInsertionPoint(yield);
    for (auto [i, output] : llvm::enumerate(op.getRegionOutputArgs()))
      yield->setOperand(i,
                        arith::SelectOp::create(builder, op.getLoc(), isReduced,
                                                yield->getOperand(i), output));
  }

  /// linalg.index counts the rank's part; what the body computes with is the
  /// global index.
  void globalize(ArrayRef<linalg::IndexOp> indices) {
    for (linalg::IndexOp index : indices) {
      unsigned loop = index.getDim();
      if (!local.isSplit(loop))
        continue;
      builder.setInsertionPointAfter(index);
      Value own = indexOf(loop);
      index->getResult(0).replaceAllUsesWith(local.globalIndex(loop, own));
      index->erase();
    }
  }

  LocalOpBuilder &local;
  OpBuilder &builder;
  linalg::LinalgOp op;
  Block &body;
  unsigned numLoops, numOperandSlots;
  Value isElement, isReduced;
  /// The reads that yield the identity where another rank holds the element,
  /// and whether the rank holds an element of every table that has such reads.
  llvm::SmallPtrSet<Value, 4> maskedReads;
  Value holdsLookups;
};
} // namespace

FailureOr<SmallVector<Value>> tp::createLocalLinalg(Operation *op,
                                                    LocalOpBuilder &local) {
  OpBuilder &builder = local.builder;
  IRMapping mapping = local.mapping();
  Operation *clone = builder.clone(*op, mapping);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    clone->getResult(i).setType(local.resultType(i));
  auto localOp = cast<linalg::LinalgOp>(clone);
  if (!LocalBody::isNeeded(local, localOp))
    return SmallVector<Value>(clone->getResults());

  // The bodies of named ops are fixed.
  if (!isa<linalg::GenericOp>(clone)) {
    IRRewriter rewriter(builder);
    rewriter.setInsertionPoint(clone);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, localOp);
    if (failed(generic))
      return op->emitOpError("has no general form, which splitting a dimension "
                             "unevenly needs");
    localOp = cast<linalg::LinalgOp>(generic->getOperation());
  }
  auto global = cast<linalg::LinalgOp>(op);
  unsigned numOperandSlots = llvm::count_if(op->getOperands(), [](Value v) {
    return isa<RankedTensorType>(v.getType());
  });
  LocalBody(local, localOp, global.getNumLoops(), numOperandSlots).rewrite();
  return SmallVector<Value>(localOp->getResults());
}
