//===- ContractionBody.cpp - which linalg ops are contractions ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopMask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tp::target;

/// The select by which a term is added or left out, as an element of an operand
/// says.
static arith::SelectOp termsSelect(linalg::LinalgOp op, Value sum) {
  auto select = sum.getDefiningOp<arith::SelectOp>();
  auto argument =
      select ? dyn_cast<BlockArgument>(select.getCondition()) : BlockArgument();
  if (!argument || argument.getOwner() != op.getBlock() ||
      select.getFalseValue() !=
          op.getMatchingBlockArgument(op.getDpsInitOperand(0)))
    return {};
  OpOperand *operand = operandOfArgument(op, argument);
  return isa<RankedTensorType>(operand->get().getType()) ? select
                                                         : arith::SelectOp();
}

std::optional<Contraction> tp::target::contractionOf(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
      op->getNumResults() != 1 || linalgOp.getNumReductionLoops() == 0)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type ||
      !(type.getElementType().isF32() || type.getElementType().isF64()))
    return std::nullopt;
  Block *body = linalgOp.getBlock();
  Operation *yield = body->getTerminator();
  Value accumulator =
      linalgOp.getMatchingBlockArgument(linalgOp.getDpsInitOperand(0));
  Contraction contraction;
  contraction.op = linalgOp;
  contraction.result = op->getResult(0);
  // All that the body does; anything else would be lost.
  llvm::SmallPtrSet<Operation *, 16> matched = {yield};
  Value sum = yield->getOperand(0);
  if (auto select = termsSelect(linalgOp, sum)) {
    contraction.terms =
        operandOfArgument(linalgOp, cast<BlockArgument>(select.getCondition()));
    matched.insert(select);
    sum = select.getTrueValue();
  }
  if (auto select = sum.getDefiningOp<arith::SelectOp>()) {
    auto prefixes = prefixesOf(linalgOp, select.getCondition(), matched);
    if (select.getFalseValue() != accumulator || !prefixes)
      return std::nullopt;
    matched.insert(select);
    contraction.prefixes = std::move(*prefixes);
    sum = select.getTrueValue();
  }
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add || (add.getLhs() != accumulator && add.getRhs() != accumulator))
    return std::nullopt;
  Value product = add.getLhs() == accumulator ? add.getRhs() : add.getLhs();
  auto mul = product.getDefiningOp<arith::MulFOp>();
  if (!mul || mul->getBlock() != body)
    return std::nullopt;
  matched.insert_range(ArrayRef<Operation *>{add, mul});
  auto operandOf = [&](Value factor) -> OpOperand * {
    if (auto extension = factor.getDefiningOp<arith::ExtFOp>()) {
      contraction.widens = true;
      matched.insert(extension);
      factor = extension.getIn();
    }
    auto argument = dyn_cast<BlockArgument>(factor);
    if (!argument || argument == accumulator || argument.getOwner() != body)
      return nullptr;
    OpOperand *operand = operandOfArgument(linalgOp, argument);
    return isa<RankedTensorType>(operand->get().getType()) ? operand : nullptr;
  };
  contraction.lhs = operandOf(mul.getLhs());
  contraction.rhs = operandOf(mul.getRhs());
  if (!contraction.lhs || !contraction.rhs ||
      matched.size() != body->getOperations().size())
    return std::nullopt;
  // Without a loop of one operand alone every element is used once: products of
  // vectors, which a kernel adds up beside what else is done with them.
  AffineMap lhs = linalgOp.getMatchingIndexingMap(contraction.lhs),
            rhs = linalgOp.getMatchingIndexingMap(contraction.rhs);
  if (contraction.terms) {
    AffineMap terms = linalgOp.getMatchingIndexingMap(contraction.terms);
    for (unsigned loop : llvm::seq(terms.getNumDims()))
      if (terms.isFunctionOfDim(loop) &&
          !(lhs.isFunctionOfDim(loop) && rhs.isFunctionOfDim(loop)))
        return std::nullopt;
  }
  for (auto [loop, extent] : llvm::enumerate(linalgOp.getStaticLoopRanges()))
    if (extent > 1 && lhs.isFunctionOfDim(loop) != rhs.isFunctionOfDim(loop))
      return contraction;
  return std::nullopt;
}

static Type elementTypeOf(const OpOperand *operand) {
  return cast<RankedTensorType>(operand->get().getType()).getElementType();
}

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

bool tp::target::hasFactorsOfGemm(const Contraction &contraction,
                                  const TargetTraits &traits) {
  if (!contraction.widens)
    return true;
  Type lhs = elementTypeOf(contraction.lhs),
       rhs = elementTypeOf(contraction.rhs);
  if (lhs == rhs)
    return isNarrow(lhs);
  return traits.multipliesMixed &&
         ((lhs.isF32() && isNarrow(rhs)) || (isNarrow(lhs) && rhs.isF32()));
}
