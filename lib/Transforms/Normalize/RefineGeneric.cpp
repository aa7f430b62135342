//===- RefineGeneric.cpp - linalg.generic on atomic loops -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Refine.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp;

namespace {
/// The factors of one loop and the first of the loops they become.
struct RefinedLoop {
  Shape factors;
  unsigned first;
};
} // namespace

static Value constantIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// The index of the old loop from those of its factors.
static Value linearIndex(OpBuilder &builder, Location loc,
                         const RefinedLoop &loop) {
  if (loop.factors.empty())
    return constantIndex(builder, loc, 0);
  Value index = linalg::IndexOp::create(builder, loc, loop.first);
  for (size_t i = 1; i < loop.factors.size(); ++i) {
    Value scaled = arith::MulIOp::create(
        builder, loc, index, constantIndex(builder, loc, loop.factors[i]));
    Value minor = linalg::IndexOp::create(builder, loc, loop.first + i);
    index = arith::AddIOp::create(builder, loc, scaled, minor);
  }
  return index;
}

/// The indices of the factors from that of the whole dimension.
static SmallVector<Value> splitIndex(OpBuilder &builder, Location loc,
                                     Value index, ArrayRef<int64_t> factors) {
  SmallVector<Value> indices;
  for (int64_t factor : llvm::reverse(factors.drop_front())) {
    Value size = constantIndex(builder, loc, factor);
    indices.push_back(arith::RemUIOp::create(builder, loc, index, size));
    index = arith::DivUIOp::create(builder, loc, index, size);
  }
  indices.push_back(index);
  std::reverse(indices.begin(), indices.end());
  return indices;
}

void Refiner::refineGeneric(linalg::GenericOp op) {
  SmallVector<RefinedLoop> loops;
  SmallVector<utils::IteratorType> iterators;
  for (auto [i, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    RefinedLoop loop{atoms.loopFactors(op, i),
                     static_cast<unsigned>(iterators.size())};
    iterators.append(loop.factors.size(), iterator);
    loops.push_back(std::move(loop));
  }
  SmallVector<AffineMap> maps;
  for (AffineMap map : op.getIndexingMapsArray()) {
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        const RefinedLoop &loop = loops[dim.getPosition()];
        for (size_t i = 0; i < loop.factors.size(); ++i)
          exprs.push_back(builder.getAffineDimExpr(loop.first + i));
      }
    maps.push_back(AffineMap::get(iterators.size(), 0, exprs, op.getContext()));
  }
  SmallVector<Value> inputs, inits;
  for (Value input : op.getInputs())
    inputs.push_back(get(input));
  for (Value init : op.getOutputs())
    inits.push_back(get(init));
  // Captured tensors are reshaped outside of the body.
  for (auto extract : op.getBlock()->getOps<tensor::ExtractOp>())
    get(extract.getTensor());

  IRMapping mapping;
  auto refined = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(ValueRange(inits)), inputs, inits, maps,
      iterators, [&](OpBuilder &nested, Location, ValueRange arguments) {
        for (auto [old, argument] :
             llvm::zip(op.getBlock()->getArguments(), arguments)) {
          argument.setLoc(old.getLoc());
          mapping.map(old, argument);
        }
        for (Operation &inner : *op.getBlock()) {
          Location loc = inner.getLoc();
          if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
            mapping.map(index.getResult(),
                        linearIndex(nested, loc, loops[index.getDim()]));
            continue;
          }
          auto extract = dyn_cast<tensor::ExtractOp>(inner);
          if (!extract || !atoms.knows(extract.getTensor())) {
            for (Value operand : inner.getOperands())
              if (operand.getParentBlock() == &function.getBody().front())
                mapping.map(operand, get(operand));
            nested.clone(inner, mapping);
            continue;
          }
          SmallVector<Value> indices;
          for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
            Shape factors = atoms.factors(extract.getTensor(), dim);
            if (factors.empty())
              continue;
            auto own = index.getDefiningOp<linalg::IndexOp>();
            if (own && loops[own.getDim()].factors == factors) {
              for (size_t i = 0; i < factors.size(); ++i)
                indices.push_back(linalg::IndexOp::create(
                    nested, loc, loops[own.getDim()].first + i));
              continue;
            }
            Value whole = index.getParentBlock() == op.getBlock()
                              ? mapping.lookup(index)
                              : get(index);
            llvm::append_range(indices,
                               splitIndex(nested, loc, whole, factors));
          }
          mapping.map(extract.getResult(),
                      tensor::ExtractOp::create(
                          nested, loc, get(extract.getTensor()), indices)
                          .getResult());
        }
      });
  for (auto [old, result] : llvm::zip(op.getResults(), refined.getResults()))
    set(old, result);
}
