//===- RingMasks.cpp - which keys of a chunk queries see ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks go by the index in the whole sequence, and which keys a chunk has
// depends on the rank that it comes from. A table has that of all ranks, and a
// rank reads in it, with its own position less the number of rotations.
//
//===----------------------------------------------------------------------===//

#include "RingBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

static constexpr utils::IteratorType parallel = utils::IteratorType::parallel;
static constexpr utils::IteratorType reduction = utils::IteratorType::reduction;

/// Of every position of the group the runs of its chunk: local and global
/// beginning, and size.
void RingBuilder::makeTable() {
  size_t most = 1;
  for (ArrayRef<ChunkRun> runs : keys.runs) {
    most = std::max(most, runs.size());
    isPadded |=
        runs.empty() || runs.back().local + runs.back().size != keys.chunk;
  }
  SmallVector<int64_t> numbers;
  for (ArrayRef<ChunkRun> runs : keys.runs)
    for (size_t run = 0; run < most; ++run) {
      ChunkRun each = run < runs.size() ? runs[run] : ChunkRun();
      numbers.append({each.local, each.global, each.size});
    }
  table = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          RankedTensorType::get({ranks, int64_t(most), 3}, integer),
          ArrayRef(numbers)));
}

Value RingBuilder::tableAt(OpBuilder &inner, Value owner, Value run,
                           int64_t column) {
  Value at = arith::ConstantIndexOp::create(inner, loc, column);
  return tensor::ExtractOp::create(inner, loc, table, {owner, run, at});
}

/// The position in the group that this rank's chunk comes from after `step`
/// rotations.
Value RingBuilder::ownerOf(int64_t step) {
  if (step == 0)
    return position;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value moved =
      arith::AddIOp::create(builder, loc, position, index(ranks - step));
  Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      moved, index(ranks));
  Value wrapped = arith::SubIOp::create(builder, loc, moved, index(ranks));
  return arith::SelectOp::create(builder, loc, wraps, wrapped, moved);
}

/// Zeros where a chunk of this rank is padded: the bias masks padding, but it
/// is multiplied.
Value RingBuilder::withoutPadding(Value chunk) {
  auto type = llvm::cast<RankedTensorType>(chunk.getType());
  AffineMap map = builder.getMultiDimIdentityMap(4);
  int64_t runs = llvm::cast<RankedTensorType>(table.getType()).getDimSize(1);
  return generic(
      type.getShape(), type.getElementType(), chunk, {map, map},
      SmallVector<utils::IteratorType>(4, parallel),
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value count;
        for (int64_t run = 0; run < runs; ++run) {
          Value at = arith::ConstantIndexOp::create(inner, loc, run);
          Value size = tableAt(inner, position, at, 2);
          count = count ? arith::AddIOp::create(inner, loc, count, size) : size;
        }
        Value isKey =
            arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt,
                                  asInteger(inner, indexAt(inner, 2)), count);
        Value zero = arith::ConstantOp::create(
            inner, loc, inner.getZeroAttr(type.getElementType()));
        return arith::SelectOp::create(inner, loc, isKey, arguments[0], zero);
      });
}

//===----------------------------------------------------------------------===//
// What the queries see of a chunk
//===----------------------------------------------------------------------===//

/// How many keys of the chunk come before the ones of `global`.
Value RingBuilder::spansIn(Value owner) {
  int64_t queries =
      llvm::cast<RankedTensorType>(global.getType()).getDimSize(0);
  int64_t runs = llvm::cast<RankedTensorType>(table.getType()).getDimSize(1);
  // The loop over runs has no operand that says how often it runs.
  Value count = tensor::EmptyOp::create(builder, loc, {runs}, integer);
  AffineExpr query, side, run;
  bindDims(context, query, side, run);
  AffineMap outer = AffineMap::get(3, 0, {query, side}, context);
  Value made = generic(
      {queries, 2}, integer, {global, count},
      {outer, AffineMap::get(3, 0, run), outer},
      {parallel, parallel, reduction},
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value at = indexAt(inner, 2);
        Value before = arith::SubIOp::create(inner, loc, arguments[0],
                                             tableAt(inner, owner, at, 1));
        before = arith::MaxSIOp::create(inner, loc, before, constant(inner, 0));
        before = arith::MinSIOp::create(inner, loc, before,
                                        tableAt(inner, owner, at, 2));
        return arith::AddIOp::create(inner, loc, arguments[2], before);
      },
      /*isShared=*/true);
  SmallVector<int64_t> shape = {1, 1, queries, 2};
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, integer), made,
      SmallVector<ReassociationIndices>{{0, 1, 2}, {3}});
}

/// Of every element of the chunk the number of its key, from 1 on; 0 of
/// padding.
Value RingBuilder::numbersIn(Value owner) {
  int64_t runs = llvm::cast<RankedTensorType>(table.getType()).getDimSize(1);
  Value count = tensor::EmptyOp::create(builder, loc, {runs}, integer);
  AffineExpr element, run;
  bindDims(context, element, run);
  return generic(
      {keys.chunk}, integer, count,
      {AffineMap::get(2, 0, run), AffineMap::get(2, 0, element)},
      {parallel, reduction},
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value at = indexAt(inner, 1);
        Value offset = arith::SubIOp::create(
            inner, loc, asInteger(inner, indexAt(inner, 0)),
            tableAt(inner, owner, at, 0));
        Value isIn = arith::AndIOp::create(
            inner, loc,
            arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::sge, offset,
                                  constant(inner, 0)),
            arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt, offset,
                                  tableAt(inner, owner, at, 2)));
        Value number = arith::AddIOp::create(
            inner, loc,
            arith::AddIOp::create(inner, loc, offset,
                                  tableAt(inner, owner, at, 1)),
            constant(inner, 1));
        Value kept = arith::SelectOp::create(inner, loc, isIn, number,
                                             constant(inner, 0));
        return arith::AddIOp::create(inner, loc, arguments[1], kept);
      },
      /*isShared=*/true);
}

/// What is added to the scores of a chunk.
Value RingBuilder::biasIn(Value owner) {
  Value numbers = numbersIn(owner);
  uint64_t used = 0;
  for (AffineExpr expr : bias->indices)
    for (unsigned loop = 0; loop < form.graph.numLoops(); ++loop)
      used |= uint64_t(expr.isFunctionOfDim(loop)) << loop;
  bool byHead =
      llvm::any_of(heads, [&](unsigned loop) { return used >> loop & 1; });
  bool byQuery = (used >> form.query & 1) || form.lower || form.upper;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> dims(4);
  llvm::SmallDenseMap<unsigned, unsigned> places;
  auto add = [&](ArrayRef<unsigned> loops, unsigned dim) {
    for (unsigned loop : loops) {
      places[loop] = shape.size();
      dims[dim].push_back(shape.size());
      shape.push_back(loop == form.key ? keys.chunk : form.extent(loop));
    }
    if (loops.empty()) {
      dims[dim].push_back(shape.size());
      shape.push_back(1);
    }
  };
  add(batch, 0);
  add(byHead ? ArrayRef(heads) : ArrayRef<unsigned>(), 1);
  add(byQuery ? ArrayRef(form.query) : ArrayRef<unsigned>(), 2);
  add(form.key, 3);
  unsigned rank = shape.size();
  Value made = generic(
      shape, form.sumType, numbers,
      {AffineMap::get(rank, 0, getAffineDimExpr(rank - 1, context)),
       builder.getMultiDimIdentityMap(rank)},
      SmallVector<utils::IteratorType>(rank, parallel),
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value first = constant(inner, 1);
        Value seen = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::sge, arguments[0], first);
        Value key = arith::SubIOp::create(
            inner, loc, arith::MaxSIOp::create(inner, loc, arguments[0], first),
            first);
        Value at =
            arith::IndexCastOp::create(inner, loc, inner.getIndexType(), key);
        SmallVector<Value> index;
        for (AffineExpr expr : bias->indices) {
          auto loop = dyn_cast<AffineDimExpr>(expr);
          if (!loop)
            index.push_back(arith::ConstantIndexOp::create(
                inner, loc, llvm::cast<AffineConstantExpr>(expr).getValue()));
          else if (loop.getPosition() == form.key)
            index.push_back(at);
          else
            index.push_back(indexAt(inner, places.lookup(loop.getPosition())));
        }
        Value number = cast(
            inner, tensor::ExtractOp::create(inner, loc, bias->tensor, index),
            form.sumType);
        for (auto [bound, predicate] :
             {std::pair(form.lower, arith::CmpIPredicate::sge),
              std::pair(form.upper, arith::CmpIPredicate::sle)}) {
          if (!bound)
            continue;
          Value query =
              asInteger(inner, indexAt(inner, places.lookup(form.query)));
          Value distance = arith::SubIOp::create(inner, loc, key, query);
          Value fits = arith::CmpIOp::create(inner, loc, predicate, distance,
                                             constant(inner, *bound));
          seen = arith::AndIOp::create(inner, loc, seen, fits);
        }
        return arith::SelectOp::create(
            inner, loc, seen, number,
            real(inner, -std::numeric_limits<double>::infinity()));
      },
      /*isShared=*/true);
  if (rank == 4)
    return made;
  return tensor::CollapseShapeOp::create(builder, loc, made, dims);
}
