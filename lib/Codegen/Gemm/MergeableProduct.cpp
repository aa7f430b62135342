//===- MergeableProduct.cpp - a product with a weight of its own ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeableProduct.h"
#include "Program/JoinedArguments.h"
#include "Storage/Calls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp::target;

static Type elementTypeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static unsigned loopOf(AffineExpr dim) {
  return cast<AffineDimExpr>(dim).getPosition();
}

/// The loops of `among` in the order in which `place` runs through memory
/// without gaps; loops of one iteration come first. None if it does not.
static std::optional<SmallVector<unsigned>>
orderInMemory(AffineExpr place, ArrayRef<unsigned> among,
              ArrayRef<int64_t> extents) {
  auto form = linearForm(simplify(place, IndexSpace::ofExtents(extents)),
                         extents.size(), 0);
  if (!form || form->constant != 0)
    return std::nullopt;
  SmallVector<unsigned> order(among);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    if ((extents[a] == 1) != (extents[b] == 1))
      return extents[a] == 1;
    return extents[a] != 1 && form->dimStrides[a] > form->dimStrides[b];
  });
  int64_t stride = 1;
  for (unsigned loop : llvm::reverse(order)) {
    if (extents[loop] != 1 && form->dimStrides[loop] != stride)
      return std::nullopt;
    stride *= extents[loop];
  }
  return order;
}

/// The parameter behind `operand`, which nothing else reads, and in it the
/// element of an iteration of `op`.
static std::optional<std::pair<BlockArgument, Indices>>
weightBehind(linalg::LinalgOp op, OpOperand *operand, const IndexSpace &space) {
  AffineMap map = op.getMatchingIndexingMap(operand);
  Indices index(map.getResults());
  Value value = operand->get();
  while (!isa<BlockArgument>(value)) {
    std::optional<View> view = viewOf(value);
    if (!view || !view->bijective || !view->symbols.values.empty() ||
        !value.hasOneUse())
      return std::nullopt;
    index = applyMap(view->map, index, {}, space);
    value = view->source;
  }
  auto weight = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(weight.getOwner()->getParentOp());
  if (!function || !weight.hasOneUse() || !partsOf(weight).empty())
    return std::nullopt;
  auto kind = function.getArgAttrOfType<StringAttr>(weight.getArgNumber(),
                                                    tp::attr::kind);
  if (!kind || kind.getValue() != "parameter")
    return std::nullopt;
  return std::pair(weight, index);
}

namespace {
/// Tells the loops of a contraction apart, with one of its operands as the
/// weight.
class ProductReader {
public:
  ProductReader(const Contraction &contraction, OpOperand *a, OpOperand *b)
      : op(contraction.op), a(a), b(b) {
    product.op = op;
    product.a = a;
    product.b = b;
    product.widens = contraction.widens;
    product.extents = op.getStaticLoopRanges();
  }

  std::optional<MergeableProduct> read();

private:
  bool splitLoops(AffineMap weightMap);
  bool orderWeight(ArrayRef<AffineExpr> index);

  linalg::LinalgOp op;
  OpOperand *a, *b;
  MergeableProduct product;
};
} // namespace

/// Every loop is of m, n or k.
bool ProductReader::splitLoops(AffineMap weightMap) {
  AffineMap left = op.getMatchingIndexingMap(a);
  AffineMap sums = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!left.isProjectedPermutation() || !sums.isProjectedPermutation())
    return false;
  for (unsigned loop = 0; loop < product.extents.size(); ++loop) {
    bool inLeft = left.isFunctionOfDim(loop),
         inSums = sums.isFunctionOfDim(loop);
    bool inWeight = weightMap.isFunctionOfDim(loop);
    if (product.extents[loop] < 1 || inLeft + inSums + inWeight != 2)
      return false;
    if (inWeight)
      (inLeft ? product.k : product.n).push_back(loop);
  }
  for (AffineExpr dim : left.getResults())
    if (!llvm::is_contained(product.k, loopOf(dim)))
      product.m.push_back(loopOf(dim));
  return !product.n.empty() && !product.k.empty();
}

/// The dimensions of the weight are of n or of k, and run through these loops
/// once they lie in this order.
bool ProductReader::orderWeight(ArrayRef<AffineExpr> index) {
  ArrayRef<int64_t> shape = shapeOf(product.weight);
  SmallVector<int64_t> ofN, ofK;
  for (auto [dim, element] : llvm::enumerate(index)) {
    auto uses = [&](ArrayRef<unsigned> loops) {
      return llvm::any_of(loops, [&, &element = element](unsigned loop) {
        return element.isFunctionOfDim(loop);
      });
    };
    if (uses(product.n) && uses(product.k))
      return false;
    (uses(product.k) ? ofK : ofN).push_back(dim);
  }
  auto place = [&](ArrayRef<int64_t> dims) {
    AffineExpr place = getAffineConstantExpr(0, op.getContext());
    for (int64_t dim : dims)
      place = place * shape[dim] + index[dim];
    return place;
  };
  auto n = orderInMemory(place(ofN), product.n, product.extents);
  auto k = orderInMemory(place(ofK), product.k, product.extents);
  if (!n || !k)
    return false;
  product.n = std::move(*n);
  product.k = std::move(*k);
  product.permutation = ofN;
  llvm::append_range(product.permutation, ofK);
  return true;
}

/// The constant that every element of `init` is; null if it is no such value.
static TypedAttr startOf(Value init) {
  Value scalar;
  if (std::optional<Splat> splat = splatOf(init)) {
    if (splat->constant)
      return splat->constant;
    scalar = splat->scalar;
  } else if (auto fill = init.getDefiningOp<linalg::GenericOp>()) {
    // What tp-partition makes of a fill.
    auto element = dyn_cast<BlockArgument>(
        fill.getBlock()->getTerminator()->getOperand(0));
    if (isElementwise(fill) && element && element.getOwner() == fill.getBlock())
      scalar = operandOfArgument(fill, element)->get();
  }
  TypedAttr constant;
  if (!scalar || isa<ShapedType>(scalar.getType()) ||
      !matchPattern(scalar, m_Constant(&constant)))
    return {};
  return constant;
}

std::optional<MergeableProduct> ProductReader::read() {
  IndexSpace space = IndexSpace::ofExtents(product.extents);
  auto weight = weightBehind(op, b, space);
  TypedAttr start = startOf(op.getDpsInitOperand(0)->get());
  if (!weight || !start)
    return std::nullopt;
  product.weight = weight->first;
  product.init = start;
  Indices index = simplify(weight->second, space);
  if (!splitLoops(
          AffineMap::get(product.extents.size(), 0, index, op.getContext())) ||
      !orderWeight(index))
    return std::nullopt;
  return std::move(product);
}

/// The op that rounds `sums` to `type`, if it alone reads them.
static linalg::LinalgOp roundingOf(Value sums, Type type) {
  if (!sums.hasOneUse())
    return {};
  OpOperand &use = *sums.use_begin();
  auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
  if (!op || !isElementwise(op) || op.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1 || !op.hasPureTensorSemantics() ||
      use.getOperandNumber() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return {};
  auto round = dyn_cast<arith::TruncFOp>(op.getBlock()->front());
  if (!round || round.getIn() != op.getBlock()->getArgument(0) ||
      round.getType() != type || round.getRoundingmode() ||
      op.getBlock()->getTerminator()->getOperand(0) != round.getResult())
    return {};
  return op;
}

/// Whether `value` has to lie in memory by itself: for a collective or for the
/// caller.
static bool isAskedFor(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>() || worksOnMemory(user))
      return true;
    if (user->getNumResults() != 1)
      return false;
    std::optional<View> view = viewOf(user->getResult(0));
    return view && view->source == value && isAskedFor(user->getResult(0));
  });
}

/// Whether a GEMM of the target does more with the sums than to round them.
static bool hasEpilogue(const Contraction &contraction, Value result) {
  std::vector<Contraction> forms =
      formsWithEpilogue(contraction, [](Value) { return true; });
  return llvm::any_of(
      forms, [&](const Contraction &form) { return form.result != result; });
}

std::optional<MergeableProduct>
tp::target::mergeableProduct(Operation *op,
                             const llvm::MapVector<unsigned, unsigned> &updated,
                             const TargetTraits &traits) {
  std::optional<Contraction> contraction = contractionOf(op);
  if (!contraction || !contraction->addsAll() ||
      !hasFactorsOfGemm(*contraction, traits))
    return std::nullopt;
  auto product =
      ProductReader(*contraction, contraction->lhs, contraction->rhs).read();
  if (!product)
    product =
        ProductReader(*contraction, contraction->rhs, contraction->lhs).read();
  if (!product || updated.contains(product->weight.getArgNumber()))
    return std::nullopt;
  if (product->widens)
    product->round =
        roundingOf(op->getResult(0), elementTypeOf(product->weight));
  Value result = product->result();
  if (isAskedFor(op->getResult(0)) || isAskedFor(result) ||
      (traits.hasEpilogues && hasEpilogue(*contraction, result)))
    return std::nullopt;
  return product;
}

int64_t MergeableProduct::rows() const {
  int64_t rows = 1;
  for (unsigned loop : n)
    rows *= extents[loop];
  return rows;
}

Value MergeableProduct::result() const {
  return (round ? round : op)->getResult(0);
}

bool MergeableProduct::mergesWith(const MergeableProduct &other) const {
  // Of each dimension of A: which loop of k, or none.
  auto loopsOfA = [](const MergeableProduct &product) {
    SmallVector<std::ptrdiff_t> loops;
    linalg::LinalgOp op = product.op;
    for (AffineExpr dim : op.getMatchingIndexingMap(product.a).getResults())
      loops.push_back(llvm::find(product.k, loopOf(dim)) - product.k.begin());
    return loops;
  };
  return a->get() == other.a->get() && loopsOfA(*this) == loopsOfA(other) &&
         elementTypeOf(weight) == elementTypeOf(other.weight) &&
         elementTypeOf(result()) == elementTypeOf(other.result()) &&
         elementTypeOf(op->getResult(0)) ==
             elementTypeOf(other.op->getResult(0)) &&
         widens == other.widens && init == other.init;
}
