//===- NeededElements.cpp - which elements are used -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NeededElements.h"
#include "Elements/ViewAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tp::target;

void Needed::join(const Needed &other) {
  if (kind == Kind::None)
    *this = other;
  else if (other.kind != Kind::None && !(*this == other))
    *this = all();
}

std::optional<Condition> tp::target::conditionOf(linalg::LinalgOp op,
                                                 arith::SelectOp select) {
  auto argument = dyn_cast<BlockArgument>(select.getCondition());
  if (!argument || argument.getOwner() != op.getBlock() ||
      isa<ShapedType>(select.getType()))
    return std::nullopt;
  OpOperand *operand = operandOfArgument(op, argument);
  if (!op.isDpsInput(operand) ||
      !isa<RankedTensorType>(operand->get().getType()))
    return std::nullopt;
  Condition condition{operand->get(), op.getMatchingIndexingMap(operand)};
  // One condition may be read through several views.
  while (std::optional<View> view = viewOf(condition.value)) {
    if (!view->symbols.values.empty())
      break;
    condition.value = view->source;
    condition.place = view->map.compose(condition.place);
  }
  return condition;
}

namespace {
class NeedFinder {
public:
  llvm::DenseMap<Value, Needed> run(func::FuncOp function);

private:
  void addOp(Operation &op);
  void addLinalg(linalg::LinalgOp op);
  bool addView(Operation &op);
  /// Notes that `value` is needed as `need` says.
  void add(Value value, const Needed &need) { needs[value].join(need); }
  void addAll(Operation &op);

  llvm::DenseMap<Value, Needed> needs;
};
} // namespace

/// `need` is over what `exprs` are functions of. It over the indices
/// `exprs` themselves; all where they do not tell it.
static Needed overIndices(Needed need, ArrayRef<AffineExpr> exprs,
                          unsigned numDims, MLIRContext *context) {
  if (!need.isSome())
    return need;
  SmallVector<AffineExpr> places(numDims);
  for (auto [dim, expr] : llvm::enumerate(exprs))
    if (auto old = dyn_cast<AffineDimExpr>(expr))
      places[old.getPosition()] = getAffineDimExpr(dim, context);
  for (auto [dim, place] : llvm::enumerate(places)) {
    if (!place && need.condition.place.isFunctionOfDim(dim))
      return Needed::all();
    if (!place)
      place = getAffineConstantExpr(0, context);
  }
  AffineMap &place = need.condition.place;
  place = place.replaceDimsAndSymbols(places, {}, exprs.size(), 0);
  return need;
}

void NeedFinder::addAll(Operation &op) {
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      add(operand, Needed::all());
  });
}

/// What is needed of the scalars in the body, over the op's loops: a select
/// takes one of two, and what is computed without effect is needed as its
/// result.
void NeedFinder::addLinalg(linalg::LinalgOp op) {
  MLIRContext *context = op.getContext();
  Block *body = op.getBlock();
  llvm::DenseMap<Value, Needed> scalars;
  for (auto [yielded, result] : llvm::zip_equal(
           body->getTerminator()->getOperands(), op->getResults())) {
    Needed need = needs.lookup(result);
    AffineMap map = op.getIndexingMapMatchingResult(cast<OpResult>(result));
    if (need.isSome())
      need.condition.place = need.condition.place.compose(map);
    scalars[yielded].join(need);
  }
  auto neededBy = [&](arith::SelectOp select, bool wanted) {
    std::optional<Condition> condition = conditionOf(op, select);
    if (!condition)
      return Needed::all();
    condition->wanted = wanted;
    return Needed{Needed::Kind::Some, *condition};
  };
  for (Operation &inner : llvm::reverse(body->without_terminator())) {
    Needed need;
    for (Value result : inner.getResults())
      need.join(scalars.lookup(result));
    if (!isPure(&inner) || inner.getNumRegions())
      need = Needed::all();
    for (OpOperand &operand : inner.getOpOperands()) {
      Needed own = need;
      auto select = dyn_cast<arith::SelectOp>(inner);
      if (select && operand.getOperandNumber() > 0 &&
          need.kind == Needed::Kind::All)
        own = neededBy(select, operand.getOperandNumber() == 1);
      scalars[operand.get()].join(own);
      // A tensor that an op of the body reads somewhere.
      if (isa<RankedTensorType>(operand.get().getType()))
        add(operand.get(), Needed::all());
    }
    for (Region &region : inner.getRegions())
      for (Operation &nested : region.getOps())
        addAll(nested);
  }
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    add(operand.get(),
        overIndices(scalars.lookup(op.getMatchingBlockArgument(&operand)),
                    map.getResults(), map.getNumDims(), context));
  }
}

/// Whether a source that is needed as `need` says has elements beside those of
/// a view that `map` describes, for which there is no condition.
static bool hasOthers(const Needed &need, AffineMap map, Value view,
                      Value source) {
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (auto own = dyn_cast<AffineDimExpr>(expr))
      if (need.condition.place.isFunctionOfDim(dim) &&
          shapeOf(source)[dim] != shapeOf(view)[own.getPosition()])
        return true;
  return false;
}

/// What is needed of a view is needed of its source.
bool NeedFinder::addView(Operation &op) {
  if (op.getNumResults() != 1)
    return false;
  std::optional<View> view = viewOf(op.getResult(0));
  if (!view || !view->symbols.values.empty() || isa<linalg::LinalgOp>(op))
    return false;
  for (Value operand : op.getOperands())
    if (operand != view->source)
      add(operand, Needed::all());
  Value result = op.getResult(0);
  Needed need = overIndices(needs.lookup(result), view->map.getResults(),
                            view->map.getNumDims(), op.getContext());
  if (need.isSome() && hasOthers(need, view->map, result, view->source))
    need = Needed::all();
  add(view->source, need);
  return true;
}

void NeedFinder::addOp(Operation &op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (linalgOp && linalgOp.hasPureTensorSemantics())
    addLinalg(linalgOp);
  else if (!addView(op))
    addAll(op);
}

llvm::DenseMap<Value, Needed> NeedFinder::run(func::FuncOp function) {
  for (Operation &op : llvm::reverse(function.front()))
    addOp(op);
  return std::move(needs);
}

llvm::DenseMap<Value, Needed>
tp::target::neededElements(func::FuncOp function) {
  return NeedFinder().run(function);
}
