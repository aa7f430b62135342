//===- AtomicDims.cpp - the finest dimensions of a function ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AtomicDims.h"
#include <numeric>

using namespace mlir;
using namespace tp;

/// The largest number all offsets and sizes of a cut of `size` elements at
/// `offset` out of `whole` are multiples of.
static int64_t overlapDivisor(int64_t whole, int64_t offset, int64_t size) {
  return std::gcd(std::gcd(whole, offset), size);
}

/// For each dimension of a whole the dimension of its slice, -1 where the
/// slice drops it.
template <typename OpTy> static SmallVector<int64_t> dimsOfSlice(OpTy op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t> dims;
  int64_t next = 0;
  for (unsigned i = 0; i < dropped.size(); ++i)
    dims.push_back(dropped[i] ? -1 : next++);
  return dims;
}

/// Whether the slice has all of dimension `dim` of a whole of `size`. Of a
/// single element there is no other place.
static bool takesAll(OffsetSizeAndStrideOpInterface op, unsigned dim,
                     int64_t size) {
  return op.getStaticSizes()[dim] == size &&
         (op.getStaticOffsets()[dim] == 0 || size == 1);
}

/// Whether a cut of dimension `dim` of the whole may cut the slice too.
static bool overlaps(OffsetSizeAndStrideOpInterface op, unsigned dim) {
  return !op.isDynamicOffset(dim) && op.getStaticStrides()[dim] == 1;
}

//===----------------------------------------------------------------------===//
// What is understood
//===----------------------------------------------------------------------===//

bool AtomicDims::isSupported(linalg::GenericOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type && map.getNumResults() != 0)
      return false;
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      auto constant = dyn_cast<AffineConstantExpr>(expr);
      bool zero = constant && constant.getValue() == 0;
      if (!isa<AffineDimExpr>(expr) && !(zero && type.getDimSize(i) == 1))
        return false;
    }
  }
  for (int64_t range : op.getStaticLoopRanges())
    if (range < 1)
      return false;
  WalkResult walk = op.getRegion().walk([&](Operation *inner) {
    if (inner->getParentOp() != op)
      return isa<tensor::ExtractOp, linalg::IndexOp>(inner)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    for (Value operand : inner->getOperands())
      if (isa<ShapedType>(operand.getType()) && !isa<tensor::ExtractOp>(inner))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return !walk.wasInterrupted();
}

static bool isStaticSlice(OffsetSizeAndStrideOpInterface op) {
  return !ShapedType::isDynamicShape(op.getStaticSizes()) &&
         !ShapedType::isDynamicShape(op.getStaticStrides());
}

bool AtomicDims::isSupported(tensor::ExtractSliceOp op) {
  return isStaticSlice(op);
}

bool AtomicDims::isSupported(tensor::InsertSliceOp op) {
  return isStaticSlice(op);
}

//===----------------------------------------------------------------------===//
// Which dimensions are one thing
//===----------------------------------------------------------------------===//

AtomicDims::AtomicDims(func::FuncOp function) {
  for (Value argument : function.getArguments())
    addValue(argument);
  Block &block = function.getBody().front();
  for (Operation &op : block)
    for (Value result : op.getResults())
      addValue(result);
  for (Operation &op : block)
    addOp(&op);
  classes.solve();
}

void AtomicDims::addValue(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return;
  SmallVector<DimId> &list = dims[value];
  for (int64_t size : type.getShape())
    list.push_back(classes.add(size));
}

void AtomicDims::uniteAll(Value left, Value right) {
  for (auto [a, b] : llvm::zip_equal(dims[left], dims[right]))
    classes.unite(a, b);
}

void AtomicDims::addOp(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (isSupported(generic))
      addGeneric(generic);
  } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    uniteAll(fill.getOutputs()[0], fill.getResult(0));
  } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    classes.reshape(dims[op->getOperand(0)], dims[op->getResult(0)]);
  } else if (auto pin = dyn_cast<ConstrainOp>(op)) {
    uniteAll(pin.getSource(), pin.getResult());
    classes.view(dims[pin.getSource()], pin.getView());
  } else if (auto kept = dyn_cast<KeptOp>(op)) {
    uniteAll(kept.getSource(), kept.getResult());
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (isSupported(slice))
      addSlice(slice, slice.getSource(), slice.getResult());
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    uniteAll(insert.getDest(), insert.getResult());
    if (isSupported(insert))
      addSlice(insert, insert.getDest(), insert.getSource());
  } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    addConcat(concat);
  } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (cast.getSource().getType() == cast.getType())
      uniteAll(cast.getSource(), cast.getDest());
  }
}

void AtomicDims::addGeneric(linalg::GenericOp op) {
  SmallVector<DimId> &loopDims = loops[op];
  for (int64_t range : op.getStaticLoopRanges())
    loopDims.push_back(classes.add(range));
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::zip(dims[operand.get()], map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        classes.unite(dim, loopDims[loop.getPosition()]);
  }
  for (auto [init, result] : llvm::zip(op.getOutputs(), op.getResults()))
    uniteAll(init, result);
  // A table read at a loop's own index has that loop as a dimension.
  for (auto extract : op.getBlock()->getOps<tensor::ExtractOp>()) {
    auto it = dims.find(extract.getTensor());
    if (it == dims.end())
      continue;
    for (auto [dim, index] : llvm::zip(it->second, extract.getIndices()))
      if (auto loop = index.getDefiningOp<linalg::IndexOp>())
        if (classes.size(dim) == classes.size(loopDims[loop.getDim()]))
          classes.unite(dim, loopDims[loop.getDim()]);
  }
}

template <typename OpTy>
void AtomicDims::addSlice(OpTy op, Value whole, Value part) {
  for (auto [i, target] : llvm::enumerate(dimsOfSlice(op))) {
    if (target < 0)
      continue;
    DimId from = dims[whole][i], to = dims[part][target];
    if (takesAll(op, i, classes.size(from)))
      classes.unite(from, to);
    else if (overlaps(op, i))
      classes.overlap(from, to,
                      overlapDivisor(classes.size(from),
                                     op.getStaticOffsets()[i],
                                     op.getStaticSizes()[i]));
  }
}

void AtomicDims::addConcat(tensor::ConcatOp op) {
  unsigned rank = op.getResultType().getRank();
  for (unsigned i = 0; i < rank; ++i) {
    DimId result = dims[op.getResult()][i];
    SmallVector<DimId> all{result};
    int64_t divisor = 0;
    for (Value input : op.getInputs()) {
      all.push_back(dims[input][i]);
      divisor = std::gcd(divisor, classes.size(all.back()));
    }
    for (DimId dim : ArrayRef(all).drop_front()) {
      if (i == op.getDim())
        classes.overlap(result, dim, divisor);
      else
        classes.unite(result, dim);
    }
  }
}

//===----------------------------------------------------------------------===//
// How finely they are cut
//===----------------------------------------------------------------------===//

Shape AtomicDims::factors(Value value, unsigned dim) const {
  return classes.factors(dims.at(value)[dim]);
}

Shape AtomicDims::refinedShape(Value value) const {
  Shape shape;
  for (DimId dim : dims.at(value))
    llvm::append_range(shape, classes.factors(dim));
  return shape;
}

Shape AtomicDims::loopFactors(linalg::GenericOp op, unsigned loop) const {
  return classes.factors(loops.at(op)[loop]);
}

SmallVector<int64_t> AtomicDims::commonCuts(ArrayRef<DimId> dims,
                                            int64_t divisor) const {
  SmallVector<int64_t> common;
  for (int64_t at : classes.cuts(dims.front()))
    if (divisor % at == 0 && llvm::all_of(dims, [&](DimId dim) {
          return classes.size(dim) == at ||
                 llvm::is_contained(classes.cuts(dim), at);
        }))
      common.push_back(at);
  return common;
}

template <typename OpTy>
OverlapShapes AtomicDims::shapesOfSlice(OpTy op, Value whole,
                                        Value part) const {
  OverlapShapes shapes;
  shapes.operands.resize(1);
  ArrayRef<DimId> from = dims.at(whole), to = dims.at(part);
  for (auto [i, target] : llvm::enumerate(dimsOfSlice(op))) {
    int64_t all = classes.size(from[i]), size = op.getStaticSizes()[i];
    if (takesAll(op, i, all)) {
      llvm::append_range(shapes.operands[0], classes.factors(from[i]));
      llvm::append_range(shapes.result, classes.factors(from[i]));
      shapes.unit.push_back(0);
      continue;
    }
    SmallVector<int64_t> cuts;
    if (target >= 0 && overlaps(op, i))
      cuts = commonCuts({from[i], to[target]},
                        overlapDivisor(all, op.getStaticOffsets()[i], size));
    llvm::append_range(shapes.operands[0], factorsOf(all, cuts, true));
    llvm::append_range(shapes.result, factorsOf(size, cuts, true));
    shapes.unit.push_back(cuts.empty() ? 1 : cuts.back());
  }
  return shapes;
}

OverlapShapes AtomicDims::shapesOf(tensor::ExtractSliceOp op) const {
  return shapesOfSlice(op, op.getSource(), op.getResult());
}

OverlapShapes AtomicDims::shapesOf(tensor::InsertSliceOp op) const {
  return shapesOfSlice(op, op.getDest(), op.getSource());
}

OverlapShapes AtomicDims::shapesOf(tensor::ConcatOp op) const {
  OverlapShapes shapes;
  shapes.operands.resize(op.getInputs().size());
  ArrayRef<DimId> result = dims.at(op.getResult());
  for (auto [i, dim] : llvm::enumerate(result)) {
    SmallVector<DimId> all{dim};
    int64_t divisor = 0;
    for (Value input : op.getInputs()) {
      all.push_back(dims.at(input)[i]);
      divisor = std::gcd(divisor, classes.size(all.back()));
    }
    bool joined = i == op.getDim();
    SmallVector<int64_t> cuts(joined ? commonCuts(all, divisor)
                                     : SmallVector<int64_t>(classes.cuts(dim)));
    for (auto [shape, inputDim] :
         llvm::zip(shapes.operands, ArrayRef(all).drop_front()))
      llvm::append_range(shape,
                         factorsOf(classes.size(inputDim), cuts, joined));
    llvm::append_range(shapes.result,
                       factorsOf(classes.size(dim), cuts, joined));
    shapes.unit.push_back(cuts.empty() ? 1 : cuts.back());
  }
  return shapes;
}
