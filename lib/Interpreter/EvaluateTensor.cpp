//===- EvaluateTensor.cpp - ops that only move elements -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op says where an element of its result comes from, in coordinates of
// the whole tensors. A rank fetches the elements that its part of the result
// holds from its own buffers of the operands.
//
//===----------------------------------------------------------------------===//

#include "EvaluateTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Interpreter/Identity.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

namespace {
/// Where one element comes from: an operand's element, or a number.
struct ElementSource {
  int operand = -1;
  SmallVector<int64_t, 6> index;
  Scalar number;
};

/// Fills one result from its sources.
class ElementMover {
public:
  ElementMover(Operation *op, Frame &frame) : op(op), frame(frame) {
    for (Value operand : op->getOperands()) {
      views.push_back(frame.view(operand));
      strides.push_back(views.back().array.strides());
    }
    Value result = op->getResult(0);
    to = frame.view(result, frame.allocate(result.getType()));
  }

  /// `sourceOf(index, source)` says where the element at `index` comes from.
  template <typename Function> LogicalResult move(Function sourceOf) {
    SmallVector<std::vector<int64_t>> positions;
    SmallVector<int64_t> counts;
    for (const std::vector<Interval> &pieces : to.held) {
      std::vector<int64_t> &list = positions.emplace_back();
      for (const Interval &piece : pieces)
        for (int64_t i = 0; i < piece.size; ++i)
          list.push_back(piece.globalOffset + i);
      counts.push_back(list.size());
    }
    if (!llvm::is_contained(counts, 0)) {
      SmallVector<int64_t> which(counts.size(), 0), index(counts.size(), 0);
      SmallVector<int64_t> toStrides = to.array.strides();
      ElementSource source;
      do {
        for (size_t dim = 0; dim < index.size(); ++dim)
          index[dim] = positions[dim][which[dim]];
        source.index.clear();
        sourceOf(ArrayRef<int64_t>(index), source);
        if (failed(fetch(source, to.offset(index, toStrides))))
          return failure();
      } while (nextIndex(which, counts));
    }
    frame.values[op->getResult(0)] = to.array;
    return success();
  }

private:
  LogicalResult fetch(const ElementSource &source, int64_t offset) {
    if (source.operand < 0) {
      to.array.set(offset, source.number);
      return success();
    }
    const ShardView &from = views[source.operand];
    int64_t fromOffset = from.offset(source.index, strides[source.operand]);
    if (fromOffset < 0)
      return frame.error(op)
             << "reads element " << indexText(source.index) << " of operand "
             << source.operand << ", which it does not hold";
    to.array.copy(offset, from.array, fromOffset);
    if (!from.array.isDefined(fromOffset))
      to.array.setUndefined(offset, true);
    return success();
  }

  Operation *op;
  Frame &frame;
  SmallVector<ShardView> views;
  SmallVector<SmallVector<int64_t>> strides;
  ShardView to;
};
} // namespace

static LogicalResult evaluateReshape(Operation *op, Frame &frame) {
  Value source = op->getOperand(0), result = op->getResult(0);
  auto from = cast<RankedTensorType>(source.getType());
  auto to = cast<RankedTensorType>(result.getType());
  if (!frame.isSharded()) {
    frame.values[result] = frame.values.at(source).reshaped(to.getShape());
    return success();
  }
  SmallVector<int64_t> toStrides = rowMajorStrides(to.getShape());
  SmallVector<int64_t> fromStrides = rowMajorStrides(from.getShape());
  return ElementMover(op, frame).move(
      [&](ArrayRef<int64_t> index, ElementSource &out) {
        int64_t linear = 0;
        for (auto [position, stride] : llvm::zip(index, toStrides))
          linear += position * stride;
        out.operand = 0;
        for (int64_t stride : fromStrides) {
          out.index.push_back(linear / stride);
          linear %= stride;
        }
      });
}

/// The numbers of static and dynamic offsets, sizes or strides.
static SmallVector<int64_t> numbersOf(ArrayRef<OpFoldResult> mixed,
                                      const Frame &frame) {
  SmallVector<int64_t> numbers;
  for (OpFoldResult entry : mixed) {
    if (auto attribute = dyn_cast<Attribute>(entry))
      numbers.push_back(cast<IntegerAttr>(attribute).getInt());
    else
      numbers.push_back(frame.values.at(cast<Value>(entry)).get(0).integer);
  }
  return numbers;
}

/// The whole slice lies in a tensor of shape `shape`.
static LogicalResult checkSlice(Operation *op, const Frame &frame,
                                ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> offsets,
                                ArrayRef<int64_t> sizes,
                                ArrayRef<int64_t> strides) {
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (strides[dim] < 1)
      return frame.error(op)
             << "has stride " << strides[dim] << " in dimension " << dim;
    int64_t last = offsets[dim] + (sizes[dim] - 1) * strides[dim];
    if (sizes[dim] > 0 &&
        (offsets[dim] < 0 || offsets[dim] >= size || last < 0 || last >= size))
      return frame.dataError(op)
             << "touches [" << offsets[dim] << ", " << last + 1
             << ") of dimension " << dim << " of size " << size;
  }
  return success();
}

/// Dimensions of a slice that its rank-reduced type has.
static SmallVector<unsigned> keptDims(unsigned rank,
                                      const llvm::SmallBitVector &dropped) {
  SmallVector<unsigned> kept;
  for (unsigned dim = 0; dim < rank; ++dim)
    if (!dropped.test(dim))
      kept.push_back(dim);
  return kept;
}

static LogicalResult evaluateExtractSlice(tensor::ExtractSliceOp op,
                                          Frame &frame) {
  SmallVector<int64_t> offsets = numbersOf(op.getMixedOffsets(), frame);
  SmallVector<int64_t> sizes = numbersOf(op.getMixedSizes(), frame);
  SmallVector<int64_t> strides = numbersOf(op.getMixedStrides(), frame);
  if (failed(checkSlice(op, frame, op.getSourceType().getShape(), offsets,
                        sizes, strides)))
    return failure();
  SmallVector<unsigned> kept = keptDims(offsets.size(), op.getDroppedDims());
  return ElementMover(op, frame).move(
      [&](ArrayRef<int64_t> index, ElementSource &out) {
        out.operand = 0;
        out.index.assign(offsets.begin(), offsets.end());
        for (auto [dim, position] : llvm::zip(kept, index))
          out.index[dim] += position * strides[dim];
      });
}

static LogicalResult evaluateInsertSlice(tensor::InsertSliceOp op,
                                         Frame &frame) {
  SmallVector<int64_t> offsets = numbersOf(op.getMixedOffsets(), frame);
  SmallVector<int64_t> sizes = numbersOf(op.getMixedSizes(), frame);
  SmallVector<int64_t> strides = numbersOf(op.getMixedStrides(), frame);
  if (failed(checkSlice(op, frame, op.getDestType().getShape(), offsets, sizes,
                        strides)))
    return failure();
  SmallVector<unsigned> kept = keptDims(offsets.size(), op.getDroppedDims());
  return ElementMover(op, frame).move([&](ArrayRef<int64_t> index,
                                          ElementSource &out) {
    out.operand = 1;
    out.index.assign(index.begin(), index.end());
    for (auto [dim, position] : llvm::enumerate(index)) {
      int64_t distance = position - offsets[dim];
      if (distance % strides[dim] != 0 || distance / strides[dim] < 0 ||
          distance / strides[dim] >= sizes[dim])
        return;
    }
    out.operand = 0;
    out.index.clear();
    for (unsigned dim : kept)
      out.index.push_back((index[dim] - offsets[dim]) / strides[dim]);
  });
}

static LogicalResult evaluateConcat(tensor::ConcatOp op, Frame &frame) {
  uint64_t dim = op.getDim();
  return ElementMover(op, frame).move([&](ArrayRef<int64_t> index,
                                          ElementSource &out) {
    out.operand = 0;
    out.index.assign(index.begin(), index.end());
    for (Value input : op.getInputs()) {
      int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(dim);
      if (out.index[dim] < size)
        return;
      out.index[dim] -= size;
      ++out.operand;
    }
  });
}

static LogicalResult evaluatePad(tensor::PadOp op, Frame &frame) {
  Value padding = op.getConstantPaddingValue();
  if (!padding)
    return unrunnable(op) << "cannot be simulated: its padding is not one "
                             "number";
  ElementSource fill;
  if (auto constant = padding.getDefiningOp<arith::ConstantOp>()) {
    if (std::optional<Scalar> number = scalarOf(constant.getValue()))
      fill.number = *number;
  } else {
    fill.number = frame.values.at(padding).get(0);
  }
  SmallVector<int64_t> low = numbersOf(op.getMixedLowPad(), frame);
  ArrayRef<int64_t> shape = op.getSourceType().getShape();
  return ElementMover(op, frame).move(
      [&](ArrayRef<int64_t> index, ElementSource &out) {
        out.operand = 0;
        for (auto [dim, position] : llvm::enumerate(index)) {
          int64_t from = position - low[dim];
          if (from < 0 || from >= shape[dim]) {
            out.operand = -1;
            out.number = fill.number;
            return;
          }
          out.index.push_back(from);
        }
      });
}

static LogicalResult evaluateExtract(tensor::ExtractOp op, Frame &frame) {
  SmallVector<int64_t> at;
  for (Value index : op.getIndices())
    at.push_back(frame.values.at(index).get(0).integer);
  ShardView from = frame.view(op.getTensor());
  for (auto [dim, size] : llvm::enumerate(op.getTensor().getType().getShape()))
    if (at[dim] < 0 || at[dim] >= size)
      return frame.dataError(op)
             << "reads index " << at[dim] << " of dimension " << dim
             << " of size " << size;
  int64_t offset = from.offset(at, from.array.strides());
  if (offset < 0)
    return frame.error(op) << "reads element " << indexText(at)
                           << " of operand 0, which it does not hold";
  if (!from.array.isDefined(offset))
    return frame.dataError(op) << "reads element " << indexText(at)
                               << " of operand 0, which nothing has written";
  frame.values[op.getResult()] =
      TensorData::scalar(op.getType(), from.array.get(offset));
  return success();
}

static LogicalResult evaluateInsert(tensor::InsertOp op, Frame &frame) {
  SmallVector<int64_t> at;
  for (Value index : op.getIndices())
    at.push_back(frame.values.at(index).get(0).integer);
  for (auto [dim, size] : llvm::enumerate(op.getDest().getType().getShape()))
    if (at[dim] < 0 || at[dim] >= size)
      return frame.dataError(op)
             << "writes index " << at[dim] << " of dimension " << dim
             << " of size " << size;
  return ElementMover(op, frame).move(
      [&](ArrayRef<int64_t> index, ElementSource &out) {
        out.operand = 1;
        out.index.assign(index.begin(), index.end());
        if (index == ArrayRef(at)) {
          out.operand = 0;
          out.index.clear();
        }
      });
}

static LogicalResult evaluateFromElements(tensor::FromElementsOp op,
                                          Frame &frame) {
  SmallVector<int64_t> strides = rowMajorStrides(op.getType().getShape());
  return ElementMover(op, frame).move(
      [&](ArrayRef<int64_t> index, ElementSource &out) {
        out.operand = 0;
        for (auto [position, stride] : llvm::zip(index, strides))
          out.operand += position * stride;
      });
}

/// Makes a replicated array into what the rank holds of it; of a partial value
/// the first rank of a group has the numbers and the others the identity.
static TensorData partOf(const TensorData &whole, Value value,
                         const Frame &frame) {
  LayoutAttr layout =
      frame.isSharded() ? LayoutAttr::of(value.getType()) : LayoutAttr();
  if (!layout)
    return whole;
  return distribute(whole, layout, frame.rank);
}

static LogicalResult evaluateConstant(arith::ConstantOp op, Frame &frame) {
  std::optional<TensorData> array;
  if (auto elements = dyn_cast<ElementsAttr>(op.getValue()))
    array = TensorData::fromAttribute(elements);
  else if (std::optional<Scalar> number = scalarOf(op.getValue()))
    array = TensorData::scalar(op.getType(), *number);
  if (!array)
    return unrunnable(op) << "cannot be simulated: its numbers are not known";
  frame.values[op.getResult()] = partOf(*array, op.getResult(), frame);
  return success();
}

static LogicalResult evaluateEmpty(tensor::EmptyOp op, Frame &frame) {
  Type type = op.getType();
  // One number stands for all of them until somebody writes.
  TensorData array =
      TensorData::splat(op.getType().getElementType(), frame.bufferShape(type),
                        poisonOf(op.getType().getElementType()));
  if (frame.kind == Frame::Kind::Global)
    array.setAllUndefined();
  frame.values[op.getResult()] = array;
  return success();
}

LogicalResult simulator::evaluateTensorOp(Operation *op, Frame &frame) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          [&](auto op) { return evaluateReshape(op, frame); })
      .Case([&](tensor::ExtractSliceOp op) {
        return evaluateExtractSlice(op, frame);
      })
      .Case([&](tensor::InsertSliceOp op) {
        return evaluateInsertSlice(op, frame);
      })
      .Case([&](tensor::ConcatOp op) { return evaluateConcat(op, frame); })
      .Case([&](tensor::PadOp op) { return evaluatePad(op, frame); })
      .Case([&](tensor::ExtractOp op) { return evaluateExtract(op, frame); })
      .Case([&](tensor::InsertOp op) { return evaluateInsert(op, frame); })
      .Case([&](tensor::EmptyOp op) { return evaluateEmpty(op, frame); })
      .Case([&](tensor::FromElementsOp op) {
        return evaluateFromElements(op, frame);
      })
      .Case([&](tensor::SplatOp op) {
        TensorData input = frame.values.at(op.getInput());
        TensorData array = TensorData::splat(
            input.elementType(), op.getType().getShape(), input.get(0));
        frame.values[op.getResult()] = partOf(array, op.getResult(), frame);
        return success();
      })
      .Case([&](tensor::CastOp op) {
        return ElementMover(op, frame).move(
            [](ArrayRef<int64_t> index, ElementSource &out) {
              out.operand = 0;
              out.index.assign(index.begin(), index.end());
            });
      })
      .Case([&](tensor::DimOp op) -> LogicalResult {
        int64_t dim = frame.values.at(op.getIndex()).get(0).integer;
        ArrayRef<int64_t> shape =
            cast<RankedTensorType>(op.getSource().getType()).getShape();
        if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
          return frame.error(op) << "asks for dimension " << dim << " of "
                                 << op.getSource().getType();
        frame.values[op.getResult()] =
            TensorData::scalar(op.getType(), {0, shape[dim]});
        return success();
      })
      .Case([&](arith::ConstantOp op) { return evaluateConstant(op, frame); })
      .Default([](Operation *op) -> LogicalResult {
        return unrunnable(op) << "cannot be simulated";
      });
}
