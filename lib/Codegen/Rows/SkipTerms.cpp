//===- SkipTerms.cpp - terms of products that are zero --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of an expert's weights is a sum over all tokens. Those that have
// not chosen the expert are zero in both factors, in what enters the expert and
// in the gradient of what leaves it, because both are selected by one
// condition. A factor that may be infinite is not enough: infinity times zero
// is no number.
//
//===----------------------------------------------------------------------===//

#include "SkipTerms.h"
#include "NeededElements.h"
#include "Storage/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/IR/CodegenAttributes.h"

using namespace mlir;
using namespace tp::target;

/// Whether all elements are +0.
static bool areZeros(Value value) {
  std::optional<Splat> splat = splatOf(value);
  auto number =
      splat ? dyn_cast_if_present<FloatAttr>(splat->constant) : FloatAttr();
  return number && number.getValue().isPosZero();
}

static bool isZero(linalg::LinalgOp op, Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (argument && argument.getOwner() == op.getBlock())
    return areZeros(operandOfArgument(op, argument)->get());
  return matchPattern(scalar, m_PosZeroFloat());
}

/// Where elements that `op` makes are other than zero: where it selects what it
/// computes; over its loops.
static std::optional<Condition> selectedBy(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      !isElementwise(op))
    return std::nullopt;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  while (
      isa_and_present<arith::TruncFOp, arith::ExtFOp>(yielded.getDefiningOp()))
    yielded = yielded.getDefiningOp()->getOperand(0);
  auto select = yielded.getDefiningOp<arith::SelectOp>();
  if (!select || select->getBlock() != op.getBlock() ||
      !isZero(op, select.getFalseValue()))
    return std::nullopt;
  return conditionOf(op, select);
}

/// Where elements of `value` are other than zero; over its indices.
static std::optional<Condition> otherThanZero(Value value) {
  MLIRContext *context = value.getContext();
  AffineMap index =
      AffineMap::getMultiDimIdentityMap(shapeOf(value).size(), context);
  for (;;) {
    if (auto op = value.getDefiningOp<linalg::LinalgOp>())
      if (std::optional<Condition> condition = selectedBy(op)) {
        std::optional<Indices> loops =
            loopsOfElement(op, 0, index.getResults());
        if (!loops)
          return std::nullopt;
        AffineMap map = AffineMap::get(index.getNumDims(), 0, *loops, context);
        return Condition{condition->value, condition->place.compose(map)};
      }
    std::optional<View> view = viewOf(value);
    if (!view || !view->symbols.values.empty())
      return std::nullopt;
    index = view->map.compose(index);
    value = view->source;
  }
}

/// The condition without which a term of `contraction` is zero times zero; over
/// its loops.
static std::optional<Condition> termsOf(const Contraction &contraction) {
  linalg::LinalgOp op = contraction.op;
  // The sum of -0 and +0 is +0.
  if (contraction.terms || !areZeros(op.getDpsInitOperand(0)->get()))
    return std::nullopt;
  std::optional<Condition> found;
  OpOperand *factors[] = {contraction.lhs, contraction.rhs};
  for (OpOperand *factor : factors) {
    std::optional<Condition> condition = otherThanZero(factor->get());
    if (!condition)
      return std::nullopt;
    condition->place =
        condition->place.compose(op.getMatchingIndexingMap(factor));
    if (found && !(*found == *condition))
      return std::nullopt;
    found = condition;
  }
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  bool isOfSum = llvm::any_of(llvm::seq(loops.size()), [&](size_t loop) {
    return loops[loop] == utils::IteratorType::reduction &&
           found->place.isFunctionOfDim(loop);
  });
  return isOfSum ? found : std::nullopt;
}

/// The loops that a list of `terms` has: those of the condition, then all of
/// the sum as the first factor has them, so that they are one loop where a
/// product of matrices has one.
static SmallVector<unsigned> loopsOf(const Contraction &contraction,
                                     const Condition &terms) {
  linalg::LinalgOp op = contraction.op;
  SmallVector<unsigned> loops;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  AffineMap lhs = op.getMatchingIndexingMap(contraction.lhs);
  for (bool isOfSum : {false, true})
    for (AffineExpr expr : lhs.getResults())
      for (unsigned loop : llvm::seq(lhs.getNumDims())) {
        bool isReduction = kinds[loop] == utils::IteratorType::reduction;
        if (expr.isFunctionOfDim(loop) && isReduction == isOfSum &&
            (isReduction || terms.place.isFunctionOfDim(loop)) &&
            !llvm::is_contained(loops, loop))
          loops.push_back(loop);
      }
  return loops;
}

/// `terms` as a tensor of `loops`.
static Value listOf(OpBuilder &builder, linalg::LinalgOp op,
                    const Condition &terms, ArrayRef<unsigned> loops) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges(), shape;
  SmallVector<AffineExpr> places(extents.size(),
                                 builder.getAffineConstantExpr(0));
  for (auto [dim, loop] : llvm::enumerate(loops)) {
    shape.push_back(extents[loop]);
    places[loop] = builder.getAffineDimExpr(dim);
  }
  AffineMap place =
      terms.place.replaceDimsAndSymbols(places, {}, shape.size(), 0);
  AffineMap identity = builder.getMultiDimIdentityMap(shape.size());
  if (place == identity && shapeOf(terms.value) == ArrayRef(shape))
    return terms.value;
  Value empty =
      tensor::EmptyOp::create(builder, op.getLoc(), shape, builder.getI1Type());
  SmallVector<utils::IteratorType> kinds(shape.size(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, op.getLoc(), empty.getType(), terms.value, empty,
             ArrayRef{place, identity}, kinds,
             [](OpBuilder &inner, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(inner, loc, arguments[0]);
             })
      .getResult(0);
}

/// The product with an operand that says which terms count.
static void rewrite(const Contraction &contraction, const Condition &terms) {
  linalg::LinalgOp op = contraction.op;
  IRRewriter rewriter(op.getContext());
  rewriter.setInsertionPoint(op);
  SmallVector<unsigned> loops = loopsOf(contraction, terms);
  SmallVector<AffineExpr> places;
  for (unsigned loop : loops)
    places.push_back(rewriter.getAffineDimExpr(loop));
  SmallVector<Value> inputs = op.getDpsInputs();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned number = inputs.size();
  maps.insert(maps.begin() + number,
              AffineMap::get(op.getNumLoops(), 0, places, op.getContext()));
  inputs.push_back(listOf(rewriter, op, terms, loops));
  auto generic = linalg::GenericOp::create(
      rewriter, op.getLoc(), op->getResultTypes(), inputs, op.getDpsInits(),
      maps, op.getIteratorTypesArray());
  generic->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Region &region = generic.getRegion();
  region.takeBody(op->getRegion(0));
  Block &body = region.front();
  Value counts = body.insertArgument(number, rewriter.getI1Type(), op.getLoc());
  Operation *yield = body.getTerminator();
  rewriter.setInsertionPoint(yield);
  Value sum = arith::SelectOp::create(rewriter, op.getLoc(), counts,
                                      yield->getOperand(0),
                                      body.getArgument(number + 1));
  yield->setOperand(0, sum);
  rewriter.replaceOp(op, generic);
}

unsigned tp::target::skipTerms(func::FuncOp function) {
  unsigned count = 0;
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    std::optional<Contraction> contraction =
        op.hasAttr(tp::attr::attention) ? std::nullopt : contractionOf(&op);
    if (!contraction)
      continue;
    std::optional<Condition> terms = termsOf(*contraction);
    if (!terms)
      continue;
    rewrite(*contraction, *terms);
    ++count;
  }
  return count;
}
