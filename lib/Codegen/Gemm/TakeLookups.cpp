//===- TakeLookups.cpp - matrices that are looked up ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product with the matrices of a table that an index chooses, as a token's
// with the weights of its experts, reads them where they are. What the index
// is computed from becomes a value of its own: the places.
//
//===----------------------------------------------------------------------===//

#include "Attention/Attention.h"
#include "Program/CommandUses.h"
#include "Storage/Storage.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// A linalg op that takes the elements of a table, of which one index is
/// computed.
struct LookupForm {
  linalg::LinalgOp op;
  Value table;
  /// The dimension that the index is along, and the index.
  unsigned dim = 0;
  Value computed;
  /// The other indices over the loops; 0 along `dim`.
  SmallVector<AffineExpr> indices;
};
} // namespace

/// Whether a tensor is an argument or a constant, which have memory.
static bool isInMemory(Value tensor) {
  return isa<BlockArgument>(tensor) ||
         (tensor.getDefiningOp<arith::ConstantOp>() && !splatOf(tensor));
}

static std::optional<LookupForm> lookupForm(Operation *op) {
  auto linalgOp = dyn_cast_if_present<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
      !isElementwise(linalgOp) || op->getNumResults() != 1 || hasCheck(op) ||
      !linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0))
           .isIdentity())
    return std::nullopt;
  Block *body = linalgOp.getBlock();
  auto extract =
      body->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  if (!extract || extract->getBlock() != body ||
      !isInMemory(extract.getTensor()))
    return std::nullopt;
  LookupForm form{linalgOp, extract.getTensor(), 0, Value(), {}};
  MLIRContext *context = op->getContext();
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    APInt constant;
    if (auto loop = index.getDefiningOp<linalg::IndexOp>()) {
      form.indices.push_back(getAffineDimExpr(loop.getDim(), context));
    } else if (matchPattern(index, m_ConstantInt(&constant))) {
      form.indices.push_back(
          getAffineConstantExpr(constant.getSExtValue(), context));
    } else if (form.computed) {
      return std::nullopt;
    } else {
      form.dim = dim;
      form.computed = index;
      form.indices.push_back(getAffineConstantExpr(0, context));
    }
  }
  return form.computed ? std::optional(std::move(form)) : std::nullopt;
}

/// What the index of `form` is computed from: the ops of the body, and the
/// operands whose elements they read. False if it depends on the loops
/// otherwise.
static bool sliceOf(const LookupForm &form, llvm::SetVector<Operation *> &slice,
                    SmallVectorImpl<OpOperand *> &operands) {
  linalg::LinalgOp op = form.op;
  Block *body = op.getBlock();
  SmallVector<Value> work = {form.computed};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == body) {
      OpOperand *operand = operandOfArgument(op, argument);
      if (!op.isDpsInput(operand) ||
          !isa<RankedTensorType>(operand->get().getType()) ||
          !op.getMatchingIndexingMap(operand).isProjectedPermutation())
        return false;
      operands.push_back(operand);
      continue;
    }
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getBlock() != body)
      continue;
    if (isa<linalg::IndexOp>(maker) || maker->getNumRegions())
      return false;
    slice.insert(maker);
    llvm::append_range(work, maker->getOperands());
  }
  slice = topologicalSort(slice);
  return !operands.empty();
}

/// Makes the places of a lookup in front of it.
static std::optional<Lookup> makePlaces(const LookupForm &form) {
  llvm::SetVector<Operation *> slice;
  SmallVector<OpOperand *> operands;
  if (!sliceOf(form, slice, operands))
    return std::nullopt;
  linalg::LinalgOp op = form.op;
  SmallVector<int64_t> extents = op.getStaticLoopRanges(), shape;
  SmallVector<AffineExpr> loops, places(extents.size());
  OpBuilder builder(op);
  for (auto [loop, extent] : llvm::enumerate(extents)) {
    bool isUsed = llvm::any_of(operands, [&, loop = loop](OpOperand *operand) {
      return op.getMatchingIndexingMap(operand).isFunctionOfDim(loop);
    });
    places[loop] = builder.getAffineConstantExpr(0);
    if (!isUsed)
      continue;
    places[loop] = builder.getAffineDimExpr(shape.size());
    loops.push_back(builder.getAffineDimExpr(loop));
    shape.push_back(extent);
  }
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (OpOperand *operand : operands) {
    inputs.push_back(operand->get());
    maps.push_back(op.getMatchingIndexingMap(operand).replaceDimsAndSymbols(
        places, {}, shape.size(), 0));
  }
  maps.push_back(builder.getMultiDimIdentityMap(shape.size()));
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), shape,
                                        builder.getI64Type());
  auto made = linalg::GenericOp::create(
      builder, op.getLoc(), empty.getType(), inputs, empty, maps,
      SmallVector<utils::IteratorType>(shape.size(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        IRMapping mapping;
        for (auto [operand, argument] : llvm::zip(operands, arguments))
          mapping.map(op.getMatchingBlockArgument(operand), argument);
        for (Operation *each : slice)
          inner.clone(*each, mapping);
        Value place = mapping.lookupOrDefault(form.computed);
        linalg::YieldOp::create(
            inner, loc,
            arith::IndexCastOp::create(inner, loc, inner.getI64Type(), place)
                .getResult());
      });
  MLIRContext *context = op.getContext();
  return Lookup{form.table, form.dim,
                AffineMap::get(extents.size(), 0, form.indices, context),
                made.getResult(0),
                AffineMap::get(extents.size(), 0, loops, context)};
}

/// Notes which operands of products are matrices of a table. Where a product
/// is no GEMM after all, they are copied as any operand.
void StoragePlan::takeLookups() {
  if (!traits.looksUpMatrices)
    return;
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    // An attention reads its keys and values from memory of their own.
    std::optional<Contraction> contraction = contractionOf(&op);
    if (!contraction || contraction->terms || attentionOfStep(&op))
      continue;
    for (OpOperand *operand : {contraction->lhs, contraction->rhs}) {
      Value value = operand->get();
      if (lookups.contains(value) || !value.hasOneUse())
        continue;
      std::optional<LookupForm> form = lookupForm(value.getDefiningOp());
      if (!form)
        continue;
      if (std::optional<Lookup> lookup = makePlaces(*form))
        lookups.insert({value, *lookup});
    }
  }
}
