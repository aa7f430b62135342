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

int64_t tp::overlapDivisor(int64_t whole, int64_t offset, int64_t size) {
  return std::gcd(std::gcd(whole, offset), size);
}

SmallVector<int64_t> tp::resultDims(tensor::ExtractSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t> result;
  int64_t next = 0;
  for (unsigned i = 0; i < dropped.size(); ++i)
    result.push_back(dropped[i] ? -1 : next++);
  return result;
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

bool AtomicDims::isSupported(tensor::ExtractSliceOp op) {
  return !ShapedType::isDynamicShape(op.getStaticOffsets()) &&
         !ShapedType::isDynamicShape(op.getStaticSizes()) &&
         !ShapedType::isDynamicShape(op.getStaticStrides());
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
      addSlice(slice);
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

void AtomicDims::addSlice(tensor::ExtractSliceOp op) {
  for (auto [i, target] : llvm::enumerate(resultDims(op))) {
    if (target < 0)
      continue;
    DimId from = dims[op.getSource()][i], to = dims[op.getResult()][target];
    int64_t offset = op.getStaticOffsets()[i], size = op.getStaticSizes()[i];
    if (offset == 0 && size == classes.size(from))
      classes.unite(from, to);
    else if (op.getStaticStrides()[i] == 1)
      classes.overlap(from, to,
                      overlapDivisor(classes.size(from), offset, size));
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

OverlapShapes AtomicDims::shapesOf(tensor::ExtractSliceOp op) const {
  OverlapShapes shapes;
  shapes.operands.resize(1);
  ArrayRef<DimId> source = dims.at(op.getSource());
  ArrayRef<DimId> result = dims.at(op.getResult());
  for (auto [i, target] : llvm::enumerate(resultDims(op))) {
    int64_t whole = classes.size(source[i]);
    int64_t offset = op.getStaticOffsets()[i], size = op.getStaticSizes()[i];
    if (offset == 0 && size == whole) {
      llvm::append_range(shapes.operands[0], classes.factors(source[i]));
      llvm::append_range(shapes.result, classes.factors(source[i]));
      shapes.unit.push_back(0);
      continue;
    }
    SmallVector<int64_t> cuts;
    if (target >= 0 && op.getStaticStrides()[i] == 1)
      cuts = commonCuts({source[i], result[target]},
                        overlapDivisor(whole, offset, size));
    llvm::append_range(shapes.operands[0], factorsOf(whole, cuts, true));
    llvm::append_range(shapes.result, factorsOf(size, cuts, true));
    shapes.unit.push_back(cuts.empty() ? 1 : cuts.back());
  }
  return shapes;
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
