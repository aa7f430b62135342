//===- Epilogue.cpp - what a GEMM does to its sums ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the sum on the values are followed as long as one op, or for a function
// one group of ops, reads them: reshapes, roundings, additions, and the tanh
// form of GELU, which is known by its values.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "ScalarFunction.h"
#include "Storage/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

static Type elementTypeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// An op that computes one tensor element by element.
static linalg::LinalgOp elementwiseOp(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.hasPureTensorSemantics() &&
                 isElementwise(linalgOp) && op->getNumResults() == 1
             ? linalgOp
             : linalg::LinalgOp();
}

static bool keepsOrder(linalg::LinalgOp op, OpOperand *operand) {
  return op.getMatchingIndexingMap(operand).isIdentity() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity();
}

namespace {
class EpilogueFollower {
public:
  EpilogueFollower(const Contraction &contraction,
                   llvm::function_ref<bool(Value)> mayRead)
      : form(contraction), mayRead(mayRead), at(contraction.op->getResult(0)) {
    unsigned rank = shapeOf(at).size();
    index = AffineMap::getMultiDimIdentityMap(rank, at.getContext());
    narrow = elementTypeOf(contraction.lhs->get());
    space = IndexSpace::ofExtents(shapeOf(at));
  }

  std::vector<Contraction> run();

private:
  bool step();
  bool addTerm(Value value, AffineMap map);
  bool passReshape(Operation *user);
  bool passElementwise(OpOperand &use);
  bool passGelu();
  void moveTo(Value next);
  AffineMap compose(AffineMap map) const;

  Contraction form;
  llvm::function_ref<bool(Value)> mayRead;
  /// How far it is followed, and the index there of a sum's index.
  Value at;
  AffineMap index;
  IndexSpace space;
  Type narrow;
  std::vector<Contraction> forms;
};
} // namespace

AffineMap EpilogueFollower::compose(AffineMap map) const {
  return AffineMap::get(index.getNumDims(), 0,
                        applyMap(map, index.getResults(), {}, space),
                        at.getContext());
}

void EpilogueFollower::moveTo(Value next) {
  form.epilogue.within.push_back(at);
  at = next;
}

bool EpilogueFollower::passReshape(Operation *user) {
  if (user->getNumResults() != 1)
    return false;
  std::optional<View> view = viewOf(user->getResult(0));
  if (!view || view->source != at || !view->bijective)
    return false;
  index = compose(inverseOf(user->getResult(0)));
  moveTo(user->getResult(0));
  return true;
}

bool EpilogueFollower::addTerm(Value value, AffineMap map) {
  // cuBLASLt adds one matrix and one vector.
  if (form.epilogue.terms.size() == 2 || splatOf(value) ||
      elementTypeOf(value) != elementTypeOf(at) || !mayRead(value))
    return false;
  form.epilogue.terms.push_back({value, compose(map)});
  return true;
}

/// Passes a rounding to the operands' type, or an addition.
bool EpilogueFollower::passElementwise(OpOperand &use) {
  linalg::LinalgOp op = elementwiseOp(use.getOwner());
  if (!op || !keepsOrder(op, &use) ||
      op.getBlock()->getOperations().size() != 2)
    return false;
  Value element = op.getMatchingBlockArgument(&use);
  Operation *inner = &op.getBlock()->front();
  if (inner->getNumResults() != 1 ||
      op.getBlock()->getTerminator()->getOperand(0) != inner->getResult(0))
    return false;
  if (auto round = dyn_cast<arith::TruncFOp>(inner)) {
    if (round.getIn() != element || round.getType() != narrow || !form.widens)
      return false;
    moveTo(op->getResult(0));
    return true;
  }
  auto add = dyn_cast<arith::AddFOp>(inner);
  if (!add || form.epilogue.gelu || add.getLhs() == add.getRhs() ||
      (add.getLhs() != element && add.getRhs() != element))
    return false;
  auto other = dyn_cast<BlockArgument>(add.getLhs() == element ? add.getRhs()
                                                               : add.getLhs());
  if (!other || other.getOwner() != op.getBlock())
    return false;
  OpOperand *operand = operandOfArgument(op, other);
  if (!isa<RankedTensorType>(operand->get().getType()) ||
      !addTerm(operand->get(), op.getMatchingIndexingMap(operand)))
    return false;
  moveTo(op->getResult(0));
  return true;
}

bool EpilogueFollower::passGelu() {
  // The library has no such function of f64.
  if (form.epilogue.gelu || elementTypeOf(at).isF64())
    return false;
  std::optional<FunctionOfElement> function =
      functionOfElement(at, form.widens ? narrow : Type(), isTanhGelu);
  if (!function)
    return false;
  Type made = elementTypeOf(function->result);
  if (made != elementTypeOf(at) && !(form.widens && made == narrow))
    return false;
  form.epilogue.gelu = true;
  llvm::append_range(form.epilogue.within, function->within);
  at = function->result;
  return true;
}

bool EpilogueFollower::step() {
  if (at.hasOneUse() &&
      (passReshape(*at.user_begin()) || passElementwise(*at.use_begin())))
    return true;
  return passGelu();
}

std::vector<Contraction> EpilogueFollower::run() {
  OpOperand *init = form.op.getDpsInitOperand(0);
  Value start = init->get();
  std::optional<Splat> splat = splatOf(start);
  bool isTerm = !splat && !start.getDefiningOp<tensor::EmptyOp>();
  if (isTerm && addTerm(start, index)) {
    form.epilogue.takesInit = true;
    form.epilogue.resultIndex = index;
    forms.push_back(form);
  }
  while (step()) {
    Operation *producer = at.getDefiningOp();
    // A reshape is left to readers.
    if (viewOf(producer->getResult(0)))
      continue;
    form.result = at;
    form.epilogue.resultIndex = index;
    forms.push_back(form);
  }
  return std::move(forms);
}

std::vector<Contraction>
tp::target::formsWithEpilogue(const Contraction &contraction,
                              llvm::function_ref<bool(Value)> mayRead) {
  return EpilogueFollower(contraction, mayRead).run();
}
