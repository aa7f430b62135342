//===- ElementTrace.cpp - where an element of a tensor comes from ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp::legalize;

bool LinearForm::isConstant() const {
  return llvm::all_of(coefficients, [](int64_t c) { return c == 0; });
}

std::optional<unsigned> LinearForm::asCoordinate() const {
  std::optional<unsigned> found;
  for (auto [i, coefficient] : llvm::enumerate(coefficients)) {
    if (coefficient == 0)
      continue;
    if (coefficient != 1 || found)
      return std::nullopt;
    found = i;
  }
  return constant == 0 ? found : std::nullopt;
}

int64_t LinearForm::least(ArrayRef<int64_t> extents) const {
  int64_t sum = constant;
  for (auto [coefficient, extent] : llvm::zip(coefficients, extents))
    sum += std::min<int64_t>(0, coefficient * (extent - 1));
  return sum;
}

int64_t LinearForm::most(ArrayRef<int64_t> extents) const {
  int64_t sum = constant;
  for (auto [coefficient, extent] : llvm::zip(coefficients, extents))
    sum += std::max<int64_t>(0, coefficient * (extent - 1));
  return sum;
}

namespace {
class ElementTracer {
public:
  explicit ElementTracer(ArrayRef<int64_t> extents) : extents(extents) {}

  TracedElement trace(Value tensor, ArrayRef<LinearForm> index) {
    traced.tensor = tensor;
    traced.index.assign(index.begin(), index.end());
    while (!traced.number && step()) {
    }
    return traced;
  }

private:
  LinearForm number(int64_t constant) const {
    return {SmallVector<int64_t>(extents.size(), 0), constant};
  }
  static LinearForm scaled(LinearForm form, int64_t factor) {
    for (int64_t &coefficient : form.coefficients)
      coefficient *= factor;
    form.constant *= factor;
    return form;
  }
  static LinearForm sum(LinearForm a, const LinearForm &b) {
    for (auto [to, add] : llvm::zip(a.coefficients, b.coefficients))
      to += add;
    a.constant += b.constant;
    return a;
  }

  /// Each returns true if `traced` is one op further back, or a number.
  bool step();
  bool through(tensor::ConcatOp op);
  bool through(tensor::ExpandShapeOp op);
  bool through(tensor::CollapseShapeOp op);
  bool through(tensor::ExtractSliceOp op);
  bool through(tensor::InsertSliceOp op);
  bool through(arith::ConstantOp op);
  bool through(linalg::LinalgOp op);

  bool moveTo(Value tensor, SmallVector<LinearForm> index) {
    traced.tensor = tensor;
    traced.index = std::move(index);
    return true;
  }
  bool isNumber(LinearForm form) {
    traced.number = std::move(form);
    return true;
  }
  /// The indices of dimensions of `sizes` that make up `form`.
  std::optional<SmallVector<LinearForm>>
  delinearized(LinearForm form, ArrayRef<int64_t> sizes) const;
  /// A scalar of a body whose loops have these indices, if it is such a form.
  std::optional<LinearForm> scalar(Value value,
                                   ArrayRef<LinearForm> loops) const;

  ArrayRef<int64_t> extents;
  TracedElement traced;
};
} // namespace

bool ElementTracer::step() {
  Operation *op = traced.tensor.getDefiningOp();
  if (!op)
    return false;
  for (Type type : op->getOperandTypes())
    if (auto tensor = dyn_cast<TensorType>(type);
        tensor && !tensor.hasStaticShape())
      return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<tensor::ConcatOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
            tensor::ExtractSliceOp, tensor::InsertSliceOp, arith::ConstantOp,
            linalg::LinalgOp>([&](auto op) { return through(op); })
      .Default([](Operation *) { return false; });
}

bool ElementTracer::through(tensor::ConcatOp op) {
  LinearForm &along = traced.index[op.getDim()];
  int64_t begin = 0;
  for (Value input : op.getInputs()) {
    int64_t end =
        begin + cast<RankedTensorType>(input.getType()).getDimSize(op.getDim());
    if (along.least(extents) >= begin && along.most(extents) < end) {
      along.constant -= begin;
      traced.tensor = input;
      return true;
    }
    begin = end;
  }
  return false;
}

bool ElementTracer::through(tensor::ExpandShapeOp op) {
  SmallVector<LinearForm> index;
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
    LinearForm form = number(0);
    for (int64_t dim : group)
      form = sum(scaled(form, shape[dim]), traced.index[dim]);
    index.push_back(form);
  }
  return moveTo(op.getSrc(), std::move(index));
}

std::optional<SmallVector<LinearForm>>
ElementTracer::delinearized(LinearForm form, ArrayRef<int64_t> sizes) const {
  SmallVector<LinearForm> reversed;
  for (int64_t size : llvm::reverse(sizes.drop_front())) {
    LinearForm inner = number(0), outer = number(0);
    for (auto [i, coefficient] : llvm::enumerate(form.coefficients))
      (coefficient % size ? inner : outer).coefficients[i] = coefficient;
    inner.constant = form.constant % size;
    outer.constant = form.constant - inner.constant;
    if (inner.least(extents) < 0 || inner.most(extents) >= size)
      return std::nullopt;
    for (int64_t &coefficient : outer.coefficients)
      coefficient /= size;
    outer.constant /= size;
    reversed.push_back(inner);
    form = outer;
  }
  reversed.push_back(form);
  return SmallVector<LinearForm>(llvm::reverse(reversed));
}

bool ElementTracer::through(tensor::CollapseShapeOp op) {
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  SmallVector<LinearForm> index;
  for (auto [form, group] :
       llvm::zip(traced.index, op.getReassociationIndices())) {
    ArrayRef<int64_t> sizes = shape.slice(group.front(), group.size());
    auto parts = delinearized(form, sizes);
    if (!parts) {
      std::optional<unsigned> coordinate = form.asCoordinate();
      if (coordinate &&
          extents[*coordinate] == ShapedType::getNumElements(sizes))
        traced.split = {*coordinate, llvm::to_vector(sizes)};
      return false;
    }
    llvm::append_range(index, *parts);
  }
  return moveTo(op.getSrc(), std::move(index));
}

bool ElementTracer::through(tensor::ExtractSliceOp op) {
  if (ShapedType::isDynamicShape(op.getStaticOffsets()) ||
      ShapedType::isDynamicShape(op.getStaticStrides()))
    return false;
  SmallVector<LinearForm> index;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  ArrayRef<LinearForm> rest = traced.index;
  for (auto [dim, offset] : llvm::enumerate(op.getStaticOffsets())) {
    LinearForm at = number(offset);
    if (!dropped.test(dim)) {
      at = sum(at, scaled(rest.front(), op.getStaticStrides()[dim]));
      rest = rest.drop_front();
    }
    index.push_back(at);
  }
  return moveTo(op.getSource(), std::move(index));
}

bool ElementTracer::through(tensor::InsertSliceOp op) {
  if (ShapedType::isDynamicShape(op.getStaticOffsets()) ||
      !llvm::all_of(op.getStaticStrides(), [](int64_t s) { return s == 1; }))
    return false;
  SmallVector<LinearForm> index;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  bool isInside = true;
  for (auto [dim, form] : llvm::enumerate(traced.index)) {
    int64_t begin = op.getStaticOffsets()[dim];
    int64_t end = begin + op.getStaticSizes()[dim];
    int64_t least = form.least(extents), most = form.most(extents);
    if (most < begin || least >= end)
      return moveTo(op.getDest(), traced.index);
    isInside &= least >= begin && most < end;
    if (!dropped.test(dim))
      index.push_back(sum(form, number(-begin)));
  }
  return isInside && moveTo(op.getSource(), std::move(index));
}

bool ElementTracer::through(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseIntElementsAttr>(op.getValue());
  if (!elements)
    return false;
  if (elements.isSplat()) {
    APInt value = elements.getSplatValue<APInt>();
    return value.isSignedIntN(64) && isNumber(number(value.getSExtValue()));
  }
  // An iota.
  int64_t place = 0;
  if (elements.getType().getRank() != 1 ||
      !llvm::all_of(elements.getValues<APInt>(), [&](const APInt &value) {
        return value.isSignedIntN(64) && value.getSExtValue() == place++;
      }))
    return false;
  return isNumber(traced.index.front());
}

/// A scalar without the casts that widen it.
static Value withoutCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      break;
    Type from = op->getOperand(0).getType(), to = value.getType();
    bool widens = from.isIndex()
                      ? to.isInteger(64)
                      : to.isIndex() || to.getIntOrFloatBitWidth() >=
                                            from.getIntOrFloatBitWidth();
    if (!widens)
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::optional<LinearForm>
ElementTracer::scalar(Value value, ArrayRef<LinearForm> loops) const {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isSignedIntN(64)
               ? std::optional(number(constant.getSExtValue()))
               : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return loops[index.getDim()];
  if (!isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return std::nullopt;
  std::optional<LinearForm> form = scalar(op->getOperand(0), loops);
  unsigned width =
      value.getType().isIndex() ? 64 : value.getType().getIntOrFloatBitWidth();
  if (!form || !llvm::isIntN(width, form->least(extents)) ||
      !llvm::isIntN(width, form->most(extents)))
    return std::nullopt;
  return form;
}

bool ElementTracer::through(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      !op.hasPureTensorSemantics())
    return false;
  AffineMap made = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!made.isPermutation())
    return false;
  SmallVector<LinearForm> loops(op.getNumLoops());
  for (auto [dim, form] : llvm::enumerate(traced.index))
    loops[made.getDimPosition(dim)] = form;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  if (std::optional<LinearForm> form = scalar(yielded, loops))
    return isNumber(*form);
  yielded = withoutCasts(yielded);
  if (auto extract = yielded.getDefiningOp<tensor::ExtractOp>()) {
    SmallVector<LinearForm> index;
    for (Value at : extract.getIndices()) {
      std::optional<LinearForm> form = scalar(at, loops);
      if (!form)
        return false;
      index.push_back(*form);
    }
    return moveTo(extract.getTensor(), std::move(index));
  }
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (!argument || argument.getOwner() != op.getBlock())
    return false;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  if (!isa<RankedTensorType>(operand->get().getType())) {
    std::optional<LinearForm> form = scalar(operand->get(), {});
    return form && isNumber(*form);
  }
  SmallVector<LinearForm> index;
  for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      index.push_back(loops[dim.getPosition()]);
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      index.push_back(number(constant.getValue()));
    else
      return false;
  }
  return moveTo(operand->get(), std::move(index));
}

TracedElement tp::legalize::traceElement(Value tensor,
                                         ArrayRef<LinearForm> index,
                                         ArrayRef<int64_t> extents) {
  return ElementTracer(extents).trace(tensor, index);
}
