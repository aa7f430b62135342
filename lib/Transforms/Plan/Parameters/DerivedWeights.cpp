//===- DerivedWeights.cpp - weights computed from parameters --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters/DerivedWeights.h"
#include "ParameterUse.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tp;

static bool isElementwise(linalg::LinalgOp op) {
  return op && op->getNumResults() == 1 && op.hasPureTensorSemantics() &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation();
}

/// The parameter behind views and slices of it, or null.
static BlockArgument parameterBehind(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      value = slice.getSource();
    else if (Value source = viewSource(op))
      value = source;
    else
      return {};
  }
  return cast<BlockArgument>(value);
}

/// The loop that gives the place along each dimension of the view; none where
/// the place is computed.
using Places = SmallVector<std::optional<unsigned>>;

static Places placesOf(OpOperand *input, linalg::LinalgOp op) {
  Places places;
  for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    places.push_back(loop ? std::optional(loop.getPosition()) : std::nullopt);
  }
  return places;
}

static Places placesOf(tensor::ExtractOp extract, linalg::LinalgOp op) {
  Places places;
  for (Value index : extract.getIndices()) {
    auto loop = index.getDefiningOp<linalg::IndexOp>();
    bool isOwn = loop && loop->getParentOp() == op.getOperation();
    places.push_back(isOwn ? std::optional<unsigned>(loop.getDim())
                           : std::nullopt);
  }
  return places;
}

/// Whether an op joins parts of several parameters: its result is of none.
static bool joinsParameters(linalg::LinalgOp op) {
  llvm::SmallDenseSet<Value> parameters;
  op->walk([&](tensor::ExtractOp extract) {
    if (BlockArgument parameter = parameterBehind(extract.getTensor()))
      parameters.insert(parameter);
  });
  return parameters.size() > 1;
}

std::optional<ParameterView> tp::followDerived(const ParameterView &view,
                                               OpOperand &operand,
                                               const Activations &activations) {
  auto extract = dyn_cast<tensor::ExtractOp>(operand.getOwner());
  auto op = dyn_cast<linalg::LinalgOp>(extract ? extract->getParentOp()
                                               : operand.getOwner());
  if (!isElementwise(op) || activations.contains(op->getResult(0)) ||
      (extract ? joinsParameters(op) : !op.isDpsInput(&operand)))
    return std::nullopt;
  Places places = extract ? placesOf(extract, op) : placesOf(&operand, op);
  llvm::SmallBitVector free(op.getNumLoops(), true);
  std::optional<unsigned> computed;
  for (auto [dim, loop] : llvm::enumerate(places)) {
    if (loop ? !free.test(*loop) : computed.has_value())
      return std::nullopt;
    if (loop)
      free.reset(*loop);
    else
      computed = dim;
  }
  ParameterView next{op->getResult(0), {}, view.stackedDim, view.partOf};
  int64_t stack = computed ? view.dims[*computed] : -1;
  if (computed) {
    // Rows of a matrix in another order are no weight of a layer.
    if (places.size() < 3 || stack < 0 ||
        next.stackedDim.value_or(stack) != stack ||
        next.partOf.value_or(stack) != stack)
      return std::nullopt;
    (free.any() ? next.partOf : next.stackedDim) = stack;
  }
  if (free.count() > (computed ? 1 : 0))
    return std::nullopt;
  AffineMap to = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (AffineExpr expr : to.getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    const auto *dim = llvm::find(places, std::optional(loop));
    next.dims.push_back(dim == places.end() ? stack
                                            : view.dims[dim - places.begin()]);
  }
  return next;
}

/// What a lookup makes of matrices that it selects, each whole: the weights of
/// the experts of a token.
static std::optional<ParameterView> followSelection(const ParameterView &view,
                                                    OpOperand &operand) {
  auto extract = dyn_cast<tensor::ExtractOp>(operand.getOwner());
  auto op = extract ? dyn_cast<linalg::LinalgOp>(extract->getParentOp())
                    : linalg::LinalgOp();
  if (!op || op->getNumResults() != 1 || view.dims.size() < 3)
    return std::nullopt;
  AffineMap to = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  ParameterView next{op->getResult(0),
                     SmallVector<int64_t>(to.getNumResults(), -1),
                     view.stackedDim};
  unsigned followed = 0;
  for (auto [dim, index] : llvm::zip(view.dims, extract.getIndices())) {
    auto loop = index.getDefiningOp<linalg::IndexOp>();
    if (!loop || loop->getParentOp() != op.getOperation())
      continue;
    if (std::optional<unsigned> position = to.getResultPosition(
            getAffineDimExpr(loop.getDim(), op.getContext()))) {
      next.dims[*position] = dim;
      ++followed;
    }
  }
  return followed >= 2 ? std::optional(std::move(next)) : std::nullopt;
}

static std::optional<ParameterView>
nextView(const ParameterView &view, OpOperand &operand, const ViewWalk &walk) {
  if (auto next = followDerived(view, operand, walk.activations)) {
    if (walk.derived)
      walk.derived->insert(next->value);
    return next;
  }
  // Which experts are read depends on what tokens are.
  if (walk.throughSelections)
    if (auto next = followSelection(view, operand))
      return next;
  return follow(view, operand.getOwner());
}

void tp::forEachUse(
    const ParameterView &start, const ViewWalk &walk,
    llvm::function_ref<void(const ParameterView &, OpOperand &)> visit) {
  SmallVector<ParameterView> worklist{start};
  // An op may read a parameter twice.
  llvm::SmallDenseSet<Value> seen;
  while (!worklist.empty()) {
    ParameterView view = worklist.pop_back_val();
    for (OpOperand &operand : view.value.getUses()) {
      std::optional<ParameterView> next = nextView(view, operand, walk);
      if (!next)
        visit(view, operand);
      else if (seen.insert(next->value).second)
        worklist.push_back(std::move(*next));
    }
  }
}

bool tp::isPartOfWeight(linalg::LinalgOp product,
                        const llvm::DenseSet<Value> &derived,
                        const Activations &activations) {
  Value value = product->getResult(0);
  while (!activations.contains(value) && value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    auto elementwise = dyn_cast<linalg::LinalgOp>(user);
    if (user->getNumResults() != 1 ||
        !(viewSource(user) || isElementwise(elementwise)))
      return false;
    value = user->getResult(0);
    if (derived.contains(value))
      return true;
  }
  return false;
}
