//===- AttentionForm.cpp - a program's attentions -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is compared are elements, so that it does not matter into which ops a
// program is cut, nor where it reshapes, transposes, broadcasts or casts.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tp::target;
using Kind = Element::Kind;

bool AttentionMatcher::match() {
  const Element *element = graph.element(form.result, form.resultIndex);
  return matchOutput(withoutCasts(element));
}

bool AttentionMatcher::matchOutput(const Element *element) {
  // The division may come after the second product.
  const Element *divisor = nullptr;
  if (computes<arith::DivFOp>(element)) {
    divisor = withoutCasts(element->operands[1]);
    element = withoutCasts(element->operands[0]);
  }
  if (element->kind != Kind::Leaf)
    return false;
  std::optional<Contraction> product = plainProduct(element);
  if (!product)
    return false;
  form.output = product->op;
  SmallVector<unsigned> added;
  std::optional<Indices> loops = loopsOf(product->op, element->indices, added);
  if (!loops || added.size() != 1)
    return false;
  form.key = added.front();
  for (auto [p, v] : {std::pair(product->lhs, product->rhs),
                      std::pair(product->rhs, product->lhs)}) {
    auto at = [&](OpOperand *operand) {
      return applyMap(product->op.getMatchingIndexingMap(operand), *loops, {},
                      graph.space());
    };
    terms.clear();
    zeroWithoutKeys = false;
    qElement = nullptr;
    vElement = graph.element(v->get(), at(v));
    Indices weightIndex = at(p);
    const Element *weights = graph.element(p->get(), weightIndex);
    if (!weights || !matchWeights(withoutCasts(weights), divisor))
      continue;
    weightLoops.clear();
    for (AffineExpr expr : weightIndex)
      for (unsigned loop = 0; loop < form.numResultLoops; ++loop)
        if (expr.isFunctionOfDim(loop) &&
            !llvm::is_contained(weightLoops, loop))
          weightLoops.push_back(loop);
    form.vElement = vElement;
    return choosePlaces();
  }
  return false;
}

bool tp::target::usesScoresAlone(const AttentionForm &form) {
  Operation *first = form.scores, *last = form.result.getDefiningOp();
  Block *block = first->getBlock();
  // Ops without use once the result has none.
  llvm::DenseSet<Operation *> dead = {last};
  for (Operation *op = last->getPrevNode(); op; op = op->getPrevNode()) {
    bool unused = llvm::all_of(op->getUsers(), [&](Operation *user) {
      Operation *outer = block->findAncestorOpInBlock(*user);
      return outer && dead.contains(outer);
    });
    if (unused && !op->use_empty() && isMemoryEffectFree(op))
      dead.insert(op);
    if (op == first)
      break;
  }
  return dead.contains(first);
}

/// Whether nothing that the attention reads depends on its scores.
static bool isIndependent(const AttentionForm &form) {
  Operation *first = form.scores, *last = form.result.getDefiningOp();
  llvm::DenseSet<Operation *> dependent = {first};
  for (Operation *op = first->getNextNode(); op && op != last;
       op = op->getNextNode()) {
    bool depends = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        depends |= dependent.contains(operand.getDefiningOp());
    });
    if (depends)
      dependent.insert(op);
  }
  SmallVector<const Element *> work;
  for (const BiasTerm &term : form.bias)
    work.push_back(term.value);
  llvm::DenseSet<const Element *> seen;
  while (!work.empty()) {
    const Element *element = work.pop_back_val();
    if (!seen.insert(element).second)
      continue;
    if (element->value && dependent.contains(element->value.getDefiningOp()))
      return false;
    llvm::append_range(work, element->operands);
  }
  return llvm::none_of(
      ArrayRef<Value>{form.q.tensor, form.k.tensor, form.v.tensor},
      [&](Value tensor) { return dependent.contains(tensor.getDefiningOp()); });
}

/// Values that may be the attention's result: the product, and what casts or a
/// division make of it.
static SmallVector<Value> resultsFrom(Operation *product) {
  SmallVector<Value> found = {product->getResult(0)};
  Value value = product->getResult(0);
  while (value.hasOneUse()) {
    auto user = dyn_cast<linalg::LinalgOp>(*value.user_begin());
    Operation *op = *value.user_begin();
    if (op->getNumResults() != 1 ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      break;
    value = op->getResult(0);
    if (viewOf(value))
      continue;
    if (!user || !user.hasPureTensorSemantics() || !isElementwise(user) ||
        !llvm::all_of(user.getBlock()->without_terminator(), [](Operation &op) {
          return isa<arith::ExtFOp, arith::TruncFOp, arith::DivFOp>(op);
        }))
      break;
    found.push_back(value);
  }
  return found;
}

std::unique_ptr<AttentionForm> tp::target::attentionOf(Operation *op,
                                                       KnownTerms &known) {
  if (!contractionOf(op))
    return nullptr;
  // The last one that is an attention leaves the least to do behind it.
  SmallVector<Value> results = resultsFrom(op);
  for (Value result : llvm::reverse(results)) {
    MLIRContext *context = op->getContext();
    Refinement refinement = Refinement::none(shapeOf(result), context);
    if (llvm::is_contained(refinement.extents, 0))
      return nullptr;
    // Reshapes behind the operands cut loops; what they resolve may cut more.
    bool asTheyAre = false;
    for (int round = 0; round < 6; ++round) {
      if (refinement.extents.size() > ElementGraph::mostLoops / 2)
        break;
      auto form = std::make_unique<AttentionForm>(context);
      form->result = result;
      for (int64_t extent : refinement.extents)
        form->graph.addLoop(extent);
      form->numResultLoops = refinement.extents.size();
      form->resultDims = refinement.owner;
      form->resultIndex = simplify(refinement.old, form->graph.space());
      AttentionMatcher matcher(*form, known, asTheyAre);
      if (matcher.match()) {
        if (form->output == op && isIndependent(*form))
          return form;
        break;
      }
      if (matcher.cuts.empty() || (!refinement.splitAt(matcher.cuts, context) &&
                                   std::exchange(asTheyAre, true)))
        break;
    }
  }
  return nullptr;
}
