//===- ViewAnalysis.cpp - elements of values without a buffer -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ViewAnalysis.h"
#include "Floats/Float8Casts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

ArrayRef<int64_t> tp::target::shapeOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

int64_t tp::target::numElements(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
}

bool tp::target::isStorableElement(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  return isFloat8(type) || type.isF16() || type.isBF16() || type.isF32() ||
         type.isF64() || type.isIndex();
}

int64_t tp::target::elementBytes(Type type) { return tp::elementBytes(type); }

bool tp::target::isElementwise(linalg::LinalgOp op) {
  return op.getNumLoops() == op.getNumParallelLoops();
}

OpOperand *tp::target::operandOfArgument(linalg::LinalgOp op,
                                         BlockArgument argument) {
  for (OpOperand &operand : op->getOpOperands())
    if (op.getMatchingBlockArgument(&operand) == argument)
      return &operand;
  return nullptr;
}

std::optional<Indices> tp::target::loopsOfElement(linalg::LinalgOp op,
                                                  unsigned result,
                                                  ArrayRef<AffineExpr> index) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  Indices loops(op.getNumLoops(), AffineExpr());
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (loops[dim.getPosition()])
        return std::nullopt;
      loops[dim.getPosition()] = index[position];
    } else if (!isa<AffineConstantExpr>(expr)) {
      return std::nullopt;
    }
  }
  for (auto [loop, extent] : llvm::zip_equal(loops, extents)) {
    if (loop)
      continue;
    if (extent != 1)
      return std::nullopt;
    loop = getAffineConstantExpr(0, op.getContext());
  }
  return loops;
}

static View reshapeView(Value source, ArrayRef<ReassociationIndices> groups,
                        ArrayRef<int64_t> fine, bool expand) {
  // Coarse dims are split over, or joined from, the fine dims of their group.
  MLIRContext *context = source.getContext();
  Indices coarseOfFine, fineOfCoarse(fine.size(), AffineExpr());
  for (auto [coarse, group] : llvm::enumerate(groups)) {
    AffineExpr joined = getAffineConstantExpr(0, context);
    int64_t stride = 1;
    for (int64_t dim : llvm::reverse(group)) {
      joined = getAffineDimExpr(dim, context) * stride + joined;
      AffineExpr part = getAffineDimExpr(coarse, context).floorDiv(stride);
      fineOfCoarse[dim] = dim == group.front() ? part : part % fine[dim];
      stride *= std::max<int64_t>(fine[dim], 1);
    }
    coarseOfFine.push_back(joined);
  }
  View view;
  view.source = source;
  view.bijective = true;
  // A scalar expands to, and collapses from, dims of size one in no group.
  for (AffineExpr &expr : fineOfCoarse)
    if (!expr)
      expr = getAffineConstantExpr(0, context);
  view.map = expand ? AffineMap::get(fine.size(), 0, coarseOfFine, context)
                    : AffineMap::get(groups.size(), 0, fineOfCoarse, context);
  return view;
}

/// Adds `value` as a symbol in [0, highest]; constants become expressions.
static AffineExpr offsetExpr(OpFoldResult value, int64_t highest,
                             ScalarSymbols &symbols, MLIRContext *context) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return getAffineConstantExpr(*constant, context);
  symbols.values.push_back(cast<Value>(value));
  symbols.ranges.push_back({0, std::max<int64_t>(highest, 0)});
  return getAffineSymbolExpr(symbols.values.size() - 1, context);
}

static std::optional<View> sliceView(tensor::ExtractSliceOp op) {
  MLIRContext *context = op.getContext();
  View view;
  view.source = op.getSource();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Indices exprs;
  unsigned position = 0;
  ArrayRef<int64_t> shape = op.getSourceType().getShape();
  for (auto [i, offset] : llvm::enumerate(op.getMixedOffsets())) {
    int64_t size = op.getStaticSizes()[i], stride = op.getStaticStrides()[i];
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(stride))
      return std::nullopt;
    AffineExpr expr = offsetExpr(
        offset, shape[i] - std::max<int64_t>(size - 1, 0) * stride - 1,
        view.symbols, context);
    if (!dropped.test(i))
      expr = expr + getAffineDimExpr(position++, context) * stride;
    exprs.push_back(expr);
  }
  view.map =
      AffineMap::get(position, view.symbols.values.size(), exprs, context);
  return view;
}

static std::optional<View> genericView(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || !isElementwise(op) ||
      op->getNumResults() != 1 || !llvm::hasSingleElement(*op.getBlock()))
    return std::nullopt;
  auto argument =
      dyn_cast<BlockArgument>(op.getBlock()->getTerminator()->getOperand(0));
  if (!argument || argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *operand = operandOfArgument(op, argument);
  if (!operand || !isa<RankedTensorType>(operand->get().getType()))
    return std::nullopt;
  unsigned rank = shapeOf(op->getResult(0)).size();
  std::optional<Indices> loops =
      loopsOfElement(op, 0, identityIndices(rank, op.getContext()));
  if (!loops)
    return std::nullopt;
  View view;
  view.source = operand->get();
  AffineMap map = op.getMatchingIndexingMap(operand);
  Indices exprs;
  for (AffineExpr expr : map.getResults())
    exprs.push_back(expr.replaceDims(*loops));
  view.map = AffineMap::get(rank, 0, exprs, op.getContext());
  view.bijective = view.map.isPermutation();
  return view;
}

std::optional<View> tp::target::viewOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return reshapeView(expand.getSrc(), expand.getReassociationIndices(),
                       expand.getResultType().getShape(), /*expand=*/true);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return reshapeView(collapse.getSrc(), collapse.getReassociationIndices(),
                       collapse.getSrcType().getShape(), /*expand=*/false);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return sliceView(slice);
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (cast.getSource().getType() != cast.getType())
      return std::nullopt;
    View view;
    view.source = cast.getSource();
    view.map = AffineMap::getMultiDimIdentityMap(shapeOf(value).size(),
                                                 value.getContext());
    view.bijective = true;
    return view;
  }
  if (auto kept = dyn_cast<tp::KeptOp>(op)) {
    View view;
    view.source = kept.getSource();
    view.map = AffineMap::getMultiDimIdentityMap(shapeOf(value).size(),
                                                 value.getContext());
    view.bijective = true;
    return view;
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return genericView(linalgOp);
  return std::nullopt;
}

AffineMap tp::target::inverseOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return reshapeView(expand.getSrc(), expand.getReassociationIndices(),
                       expand.getResultType().getShape(), /*expand=*/false)
        .map;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return reshapeView(collapse.getSrc(), collapse.getReassociationIndices(),
                       collapse.getSrcType().getShape(), /*expand=*/true)
        .map;
  return inversePermutation(viewOf(value)->map);
}

/// A scalar of the function that a body yields as it is for every element; null
/// if there is none.
static Value yieldedScalar(linalg::GenericOp generic, OpResult result) {
  // A body that does more may check something.
  Block *body = generic.getBlock();
  OpOperand *init = generic.getDpsInitOperand(result.getResultNumber());
  if (body->getOperations().size() != 1 ||
      generic.getNumLoops() != generic.getNumParallelLoops() ||
      !generic.getMatchingIndexingMap(init).isPermutation())
    return Value();
  Value yielded = body->getTerminator()->getOperand(result.getResultNumber());
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (!argument || argument.getOwner() != body)
    return yielded;
  Value operand = operandOfArgument(generic, argument)->get();
  return isa<RankedTensorType>(operand.getType()) ? Value() : operand;
}

std::optional<Splat> tp::target::splatOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<RankedTensorType>(value.getType()))
    return std::nullopt;
  Splat splat;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!elements)
      return std::nullopt;
    splat.constant = cast<TypedAttr>(elements.getSplatValue<Attribute>());
    return splat;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    if (fill.value().getType() !=
        cast<RankedTensorType>(value.getType()).getElementType())
      return std::nullopt;
    splat.scalar = fill.value();
  } else if (auto tensorSplat = dyn_cast<tensor::SplatOp>(op)) {
    splat.scalar = tensorSplat.getInput();
  } else if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    if (elements.getElements().empty() ||
        !llvm::all_equal(elements.getElements()))
      return std::nullopt;
    splat.scalar = elements.getElements().front();
  } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    splat.scalar = yieldedScalar(generic, cast<OpResult>(value));
  }
  if (!splat.scalar)
    return std::nullopt;
  TypedAttr constant;
  if (matchPattern(splat.scalar, m_Constant(&constant)))
    splat = {constant, Value()};
  return splat;
}

static Indices constantOffsets(ArrayRef<int64_t> offsets,
                               MLIRContext *context) {
  Indices exprs;
  for (int64_t offset : offsets)
    exprs.push_back(getAffineConstantExpr(offset, context));
  return exprs;
}

static std::optional<PiecewiseSource> insertPieces(tensor::InsertSliceOp op) {
  MLIRContext *context = op.getContext();
  ArrayRef<int64_t> shape = op.getDestType().getShape();
  PiecewiseSource result;
  SourceBox box;
  box.source = op.getSource();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Indices sourceIndex;
  for (auto [i, offset] : llvm::enumerate(op.getMixedOffsets())) {
    int64_t size = op.getStaticSizes()[i];
    if (ShapedType::isDynamic(size) || op.getStaticStrides()[i] != 1)
      return std::nullopt;
    box.offsets.push_back(
        offsetExpr(offset, shape[i] - size, result.symbols, context));
    box.sizes.push_back(size);
    if (!dropped.test(i))
      sourceIndex.push_back(getAffineDimExpr(i, context));
  }
  box.map = AffineMap::get(shape.size(), 0, sourceIndex, context);
  SourceBox rest;
  rest.source = op.getDest();
  SmallVector<int64_t> zeros(shape.size(), 0);
  rest.offsets = constantOffsets(zeros, context);
  rest.sizes.assign(shape.begin(), shape.end());
  rest.map = AffineMap::getMultiDimIdentityMap(shape.size(), context);
  result.boxes = {box, rest};
  return result;
}

static std::optional<PiecewiseSource> padPieces(tensor::PadOp op) {
  MLIRContext *context = op.getContext();
  Value padding = op.getConstantPaddingValue();
  auto type = dyn_cast<RankedTensorType>(op.getResult().getType());
  if (!padding || !type.hasStaticShape() ||
      llvm::any_of(op.getStaticLow(), ShapedType::isDynamic) ||
      llvm::any_of(op.getStaticLow(), [](int64_t low) { return low < 0; }) ||
      llvm::any_of(op.getStaticHigh(), [](int64_t high) { return high < 0; }))
    return std::nullopt;
  SourceBox box;
  box.source = op.getSource();
  box.offsets = constantOffsets(op.getStaticLow(), context);
  ArrayRef<int64_t> sizes = op.getSourceType().getShape();
  box.sizes.assign(sizes.begin(), sizes.end());
  box.map = AffineMap::getMultiDimIdentityMap(type.getRank(), context);
  SourceBox rest;
  rest.scalar = padding;
  SmallVector<int64_t> zeros(type.getRank(), 0);
  rest.offsets = constantOffsets(zeros, context);
  rest.sizes.assign(type.getShape().begin(), type.getShape().end());
  PiecewiseSource result;
  result.boxes = {box, rest};
  return result;
}

/// Every element a box of its own.
static std::optional<PiecewiseSource> elementPieces(tensor::FromElementsOp op) {
  constexpr size_t most = 64;
  if (op.getElements().size() > most || op.getElements().empty())
    return std::nullopt;
  ArrayRef<int64_t> shape = op.getType().getShape();
  PiecewiseSource result;
  for (auto [number, scalar] : llvm::enumerate(op.getElements())) {
    SmallVector<int64_t> offsets(shape.size());
    int64_t rest = number;
    for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
      offsets[dim] = rest % shape[dim];
      rest /= shape[dim];
    }
    SourceBox piece;
    piece.offsets = constantOffsets(offsets, op.getContext());
    piece.sizes.assign(shape.size(), 1);
    piece.scalar = scalar;
    result.boxes.push_back(piece);
  }
  return result;
}

std::optional<PiecewiseSource> tp::target::piecewiseSourceOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return insertPieces(insert);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return padPieces(pad);
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
    return elementPieces(elements);
  auto concat = dyn_cast<tensor::ConcatOp>(op);
  if (!concat)
    return std::nullopt;
  MLIRContext *context = op->getContext();
  PiecewiseSource result;
  SmallVector<int64_t> offsets(shapeOf(value).size(), 0);
  auto isEmpty = [&](Value input) {
    return shapeOf(input)[concat.getDim()] == 0;
  };
  bool allEmpty = llvm::all_of(concat.getInputs(), isEmpty);
  for (Value input : concat.getInputs()) {
    // An empty operand would win as the last piece.
    if (isEmpty(input) && !allEmpty)
      continue;
    SourceBox piece;
    piece.source = input;
    piece.offsets = constantOffsets(offsets, context);
    piece.sizes.assign(shapeOf(input).begin(), shapeOf(input).end());
    piece.map = AffineMap::getMultiDimIdentityMap(offsets.size(), context);
    offsets[concat.getDim()] += piece.sizes[concat.getDim()];
    result.boxes.push_back(piece);
  }
  return result;
}

Value tp::target::rootOf(Value value) {
  while (std::optional<View> view = viewOf(value))
    value = view->source;
  return value;
}
