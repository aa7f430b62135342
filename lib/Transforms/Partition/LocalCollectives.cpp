//===- LocalCollectives.cpp - a rank's part of a layout change ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalCollectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/Collectives/CollectiveBytes.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Sharding/LayoutChange.h"
#include "tp/Sharding/ShardBlocks.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

/// `type` with `size` elements in dimension `dim`.
static RankedTensorType resized(RankedTensorType type, int64_t dim,
                                int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return RankedTensorType::get(shape, type.getElementType());
}

static APFloat paddingOf(FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  return APFloat::semanticsHasNaN(semantics) ? APFloat::getNaN(semantics)
                                             : APFloat::getZero(semantics);
}

/// A number that shows if anybody reads it, the same in every run: NaN or the
/// lowest integer. Null for an element type without numbers.
static DenseElementsAttr paddingOf(RankedTensorType type) {
  Type element = type.getElementType();
  if (auto part = dyn_cast<FloatType>(element))
    return DenseElementsAttr::get(type, paddingOf(part));
  if (auto complex = dyn_cast<ComplexType>(element))
    if (auto part = dyn_cast<FloatType>(complex.getElementType()))
      return DenseElementsAttr::get(
          type, std::complex<APFloat>(paddingOf(part), paddingOf(part)));
  if (element.isInteger(1))
    return DenseElementsAttr::get(type, APInt(1, 0));
  if (element.isIntOrIndex()) {
    unsigned width = element.isIndex() ? IndexType::kInternalStorageBitWidth
                                       : element.getIntOrFloatBitWidth();
    return DenseElementsAttr::get(type, APInt::getSignedMinValue(width));
  }
  return {};
}

namespace {
class LocalStep {
public:
  LocalStep(OpBuilder &builder, Operation *op, Value source)
      : builder(builder), op(op), loc(op->getLoc()), source(source),
        global(cast<RankedTensorType>(op->getResult(0).getType())),
        from(LayoutAttr::of(op->getOperand(0).getType())),
        to(LayoutAttr::of(global)) {}

  FailureOr<Value> create();

private:
  ShardBlocks blocks(LayoutAttr layout, int64_t dim, AxesAttr axes) {
    return shardBlocks(layout.getMesh().getValue(), global.getShape(),
                       layout.getValue(), dim, axes.getParts());
  }

  Value slice(Value value, int64_t dim, OpFoldResult offset, int64_t size);
  FailureOr<Value> padding(RankedTensorType type);
  /// A buffer that has `stretches` of `value` along `dim`.
  FailureOr<Value> compose(Value value, int64_t dim,
                           ArrayRef<CopyRun> stretches);
  /// The collective itself, on blocks.
  Value exchange(Value value, RankedTensorType type);
  FailureOr<Value> localSlice(LocalSliceOp slice);
  FailureOr<Value> localPartial(LocalPartialOp partial);

  OpBuilder &builder;
  Operation *op;
  Location loc;
  Value source;
  RankedTensorType global;
  LayoutAttr from, to;
};
} // namespace

Value LocalStep::slice(Value value, int64_t dim, OpFoldResult offset,
                       int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  if (size == type.getDimSize(dim))
    return value;
  RankedTensorType result = resized(type, dim, size);
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  offsets[dim] = offset;
  return tensor::ExtractSliceOp::create(
      builder, loc, result, value, offsets,
      getAsIndexOpFoldResult(builder.getContext(), result.getShape()), strides);
}

FailureOr<Value> LocalStep::padding(RankedTensorType type) {
  DenseElementsAttr numbers = paddingOf(type);
  if (!numbers)
    return op->emitOpError()
           << "cannot pad elements of type " << type.getElementType()
           << " to blocks of one size; split a dimension that divides evenly "
              "over its axes";
  return Value(arith::ConstantOp::create(builder, loc, numbers));
}

FailureOr<Value> LocalStep::compose(Value value, int64_t dim,
                                    ArrayRef<CopyRun> stretches) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Value> pieces;
  for (const CopyRun &stretch : stretches) {
    if (stretch.offset >= 0) {
      pieces.push_back(slice(value, dim, builder.getIndexAttr(stretch.offset),
                             stretch.size));
      continue;
    }
    FailureOr<Value> rest = padding(resized(type, dim, stretch.size));
    if (failed(rest))
      return failure();
    pieces.push_back(*rest);
  }
  if (pieces.size() == 1)
    return pieces.front();
  return Value(tensor::ConcatOp::create(builder, loc, dim, pieces));
}

Value LocalStep::exchange(Value value, RankedTensorType type) {
  Operation *clone = op->clone();
  builder.insert(clone);
  clone->setOperand(0, value);
  clone->getResult(0).setType(type);
  // `tp.values` speaks of the value, which this is only if nothing follows.
  clone->removeAttr(attr::values);
  int64_t larger =
      std::max(cast<RankedTensorType>(value.getType()).getNumElements(),
               type.getNumElements());
  if (int64_t held = payloadElements(op); held < larger)
    clone->setAttr(attr::payload, builder.getI64IntegerAttr(held));
  return clone->getResult(0);
}

FailureOr<Value> LocalStep::localSlice(LocalSliceOp slice) {
  int64_t dim = slice.getDim();
  ShardBlocks shards = blocks(to, dim, slice.getAxes());
  Value index = AxisIndexOp::create(builder, loc, slice.getAxes());
  SmallVector<Value> pieces;
  for (const SegmentBlocks &segment : shards.segments) {
    Value whole =
        this->slice(source, dim, builder.getIndexAttr(segment.bufferStart),
                    segment.bufferSize);
    FailureOr<Value> padded = compose(whole, dim, blocksFromSegment(segment));
    if (failed(padded))
      return failure();
    Value start = arith::MulIOp::create(
        builder, loc, index,
        arith::ConstantIndexOp::create(builder, loc, segment.blockSize));
    pieces.push_back(this->slice(*padded, dim, start, segment.blockSize));
  }
  if (pieces.size() == 1)
    return pieces.front();
  return Value(tensor::ConcatOp::create(builder, loc, dim, pieces));
}

FailureOr<Value> LocalStep::localPartial(LocalPartialOp partial) {
  ReductionKind kind = partial.getReduction().getValue();
  if (combinesCopies(kind))
    return source;
  auto type = cast<RankedTensorType>(source.getType());
  TypedAttr identity = identityOf(kind, type.getElementType());
  if (!identity)
    return op->emitOpError() << "has no identity of " << toString(kind)
                             << " for " << type.getElementType();
  Value index = AxisIndexOp::create(builder, loc, partial.getAxes());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        index, zero);
  Value neutral = arith::ConstantOp::create(builder, loc, identity);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, source, empty, ArrayRef<AffineMap>{map, map},
      iterators, [&](OpBuilder &b, Location l, ValueRange args) {
        Value kept = arith::SelectOp::create(b, l, isFirst, args[0], neutral);
        linalg::YieldOp::create(b, l, kept);
      });
  return generic.getResult(0);
}

FailureOr<Value> LocalStep::create() {
  auto type = cast<RankedTensorType>(source.getType());
  // Nothing is exchanged of a tensor without elements.
  if (global.getNumElements() == 0)
    return padding(to.localType(global));
  return llvm::TypeSwitch<Operation *, FailureOr<Value>>(op)
      .Case<AllReduceOp, PermuteOp>(
          [&](auto) { return exchange(source, type); })
      .Case([&](AllGatherOp gather) {
        int64_t dim = gather.getDim();
        ShardBlocks shards = blocks(from, dim, gather.getAxes());
        Value received = exchange(
            source, resized(type, dim, shards.blockSize * shards.count));
        return compose(received, dim, bufferFromBlocks(shards));
      })
      .Case([&](ReduceScatterOp scatter) -> FailureOr<Value> {
        int64_t dim = scatter.getDim();
        ShardBlocks shards = blocks(to, dim, scatter.getAxes());
        FailureOr<Value> sent = compose(source, dim, blocksFromBuffer(shards));
        if (failed(sent))
          return failure();
        return exchange(*sent, resized(type, dim, shards.blockSize));
      })
      .Case([&](AllToAllOp exchanged) -> FailureOr<Value> {
        int64_t split = exchanged.getSplitDim(), put = exchanged.getConcatDim();
        ShardBlocks sentBlocks = blocks(to, split, exchanged.getAxes());
        ShardBlocks received = blocks(from, put, exchanged.getAxes());
        FailureOr<Value> sent =
            compose(source, split, blocksFromBuffer(sentBlocks));
        if (failed(sent))
          return failure();
        Value blocks =
            exchange(*sent, resized(resized(type, split, sentBlocks.blockSize),
                                    put, received.blockSize * received.count));
        return compose(blocks, put, bufferFromBlocks(received));
      })
      .Case([&](LocalSliceOp slice) { return localSlice(slice); })
      .Case([&](LocalPartialOp partial) { return localPartial(partial); })
      .Case([&](ReinterpretOp) -> FailureOr<Value> { return source; })
      .Default([](Operation *op) -> FailureOr<Value> {
        return op->emitOpError(
            "is left, expected none after tp-insert-collectives");
      });
}

FailureOr<Value> tp::createLocalStep(OpBuilder &builder, Operation *op,
                                     Value source) {
  return LocalStep(builder, op, source).create();
}
