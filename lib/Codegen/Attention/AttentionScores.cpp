//===- AttentionScores.cpp - an attention's scores ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp::target;
using Kind = Element::Kind;

bool tp::target::isFreeCast(const Element *element) {
  if (computes<arith::ExtFOp>(element))
    return true;
  if (!computes<arith::TruncFOp>(element))
    return false;
  auto isPlain = [](Type type) {
    return type.isF32() || type.isF16() || type.isBF16();
  };
  const Element *operand = element->operands.front();
  return isPlain(element->type) &&
         (isPlain(operand->type) || operand->kind == Kind::Constant);
}

const Element *tp::target::withoutCasts(const Element *element) {
  while (isFreeCast(element))
    element = element->operands.front();
  return element;
}

std::optional<double> tp::target::constantOf(const Element *element) {
  if (element->kind == Kind::Constant)
    if (auto attribute = dyn_cast<FloatAttr>(element->constant))
      return attribute.getValueAsDouble();
  return std::nullopt;
}

/// The loops of the reduction `op` that computes its element `index`: new ones
/// where it reduces.
std::optional<Indices>
AttentionMatcher::loopsOf(linalg::LinalgOp op, const Indices &index,
                          SmallVectorImpl<unsigned> &added) {
  Indices loops(op.getNumLoops(), AffineExpr());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (auto [expr, at] : llvm::zip_equal(map.getResults(), index)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || loops[dim.getPosition()])
      return std::nullopt;
    loops[dim.getPosition()] = at;
  }
  for (auto [loop, extent, type] :
       llvm::zip_equal(loops, extents, op.getIteratorTypesArray())) {
    if (loop)
      continue;
    if (type != utils::IteratorType::reduction && extent != 1)
      return std::nullopt;
    if (graph.numLoops() >= ElementGraph::mostLoops)
      return std::nullopt;
    if (extent == 1) {
      loop = getAffineConstantExpr(0, op->getContext());
      continue;
    }
    added.push_back(graph.addLoop(extent));
    loop = graph.loop(added.back());
  }
  return loops;
}

static bool isContraction(const Element *element) {
  if (element->kind != Kind::Leaf)
    return false;
  Operation *op = element->value.getDefiningOp();
  return op && contractionOf(op);
}

std::optional<Contraction> tp::target::plainProduct(const Element *element) {
  Operation *op = element->value.getDefiningOp();
  std::optional<Contraction> contraction =
      op ? contractionOf(op) : std::nullopt;
  if (!contraction || !contraction->addsAll() ||
      !startsFrom(element, [](const APFloat &value) { return value.isZero(); }))
    return std::nullopt;
  return contraction;
}

/// Whether a product of two tensors that depends on keys is in it.
bool AttentionMatcher::multiplies(const Element *element) {
  if (!element->dependsOn(form.key))
    return false;
  if (isContraction(element))
    return true;
  auto it = multiplying.find(element);
  if (it != multiplying.end())
    return it->second;
  bool any = false;
  for (const Element *operand : element->operands)
    any |= multiplies(operand);
  return multiplying[element] = any;
}

/// What scores are but for roundings, which are noted.
const Element *AttentionMatcher::withoutRoundings(const Element *scores) {
  for (; isFreeCast(scores); scores = scores->operands.front())
    roundsScores |= computes<arith::TruncFOp>(scores);
  return scores;
}

/// Notes what is added. A finite number may become infinite where the sum is
/// rounded to another type.
bool AttentionMatcher::addTerm(const BiasTerm &term) {
  bool isInfinite = term.isMask && std::isinf(term.factor);
  terms.push_back(term);
  return isInfinite || !roundsScores;
}

/// factor * scores is what goes into the softmax; the product is somewhere in
/// it, and everything else does not depend on it.
bool AttentionMatcher::matchScores(const Element *scores, double factor) {
  scores = withoutRoundings(scores);
  if (isContraction(scores))
    return matchProduct(scores, factor);
  if (scores->kind != Kind::Compute || scores->operands.size() < 2)
    return false;
  SmallVector<bool> inside;
  for (const Element *operand : scores->operands)
    inside.push_back(multiplies(operand));
  if (llvm::count(inside, true) != 1)
    return false;
  unsigned own = llvm::find(inside, true) - inside.begin();
  const Element *inner = scores->operands[own];
  if (auto select = dyn_cast<arith::SelectOp>(scores->op)) {
    if (own == 0)
      return false;
    std::optional<double> masked =
        constantOf(withoutCasts(scores->operands[own == 1 ? 2 : 1]));
    if (!masked)
      return false;
    return addTerm({scores->operands[0], factor * *masked, /*isMask=*/true,
                    /*visible=*/own == 1}) &&
           matchScores(inner, factor);
  }
  const Element *other = scores->operands[1 - own];
  std::optional<double> number = constantOf(withoutCasts(other));
  if (isa<arith::MulFOp>(scores->op))
    return number && matchScores(inner, factor * *number);
  if (isa<arith::DivFOp>(scores->op))
    return own == 0 && number && *number != 0 &&
           matchScores(inner, factor / *number);
  if (isa<arith::AddFOp>(scores->op)) {
    return addTerm({other, factor}) && matchScores(inner, factor);
  }
  if (isa<arith::SubFOp>(scores->op) && own == 0) {
    return addTerm({other, -factor}) && matchScores(inner, factor);
  }
  return false;
}

bool AttentionMatcher::matchProduct(const Element *product, double factor) {
  std::optional<Contraction> contraction = plainProduct(product);
  if (!contraction || !std::isfinite(factor))
    return false;
  form.scores = contraction->op;
  form.scored = product;
  form.headColumns.clear();
  std::optional<Indices> loops =
      loopsOf(contraction->op, product->indices, form.headColumns);
  if (!loops)
    return false;
  const Element *sides[2];
  for (auto [side, operand] : llvm::zip_equal(
           sides, ArrayRef<OpOperand *>{contraction->lhs, contraction->rhs}))
    side =
        graph.element(operand->get(),
                      applyMap(contraction->op.getMatchingIndexingMap(operand),
                               *loops, {}, graph.space()));
  bool first = sides[0]->dependsOn(form.key);
  if (first == sides[1]->dependsOn(form.key))
    return false;
  kElement = sides[first ? 0 : 1];
  qElement = sides[first ? 1 : 0];
  form.qElement = qElement;
  form.kElement = kElement;
  form.scale = factor;
  return true;
}
