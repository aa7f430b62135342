//===- TensorOps.cpp - tensor ops that are loops over elements ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conditions.h"
#include "Legalize.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

static bool isStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && !tensor.getEncoding();
}

Value legalize::perElement(OpBuilder &builder, Location loc,
                           RankedTensorType type, ValueRange inputs,
                           ElementBuilder element) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, empty, maps, loops,
             [&](OpBuilder &nested, Location loc, ValueRange elements) {
               SmallVector<Value> index;
               for (int64_t dim = 0; dim < type.getRank(); ++dim)
                 index.push_back(linalg::IndexOp::create(nested, loc, dim));
               Value result = element(nested, loc, index, elements.drop_back());
               for (Value unused : index)
                 if (unused.use_empty() && unused != result)
                   unused.getDefiningOp()->erase();
               linalg::YieldOp::create(nested, loc, result);
             })
      .getResult(0);
}

void legalize::writeElementwise(Operation *op, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Location loc = op->getLoc();
  SmallVector<Value> inputs, inits;
  SmallVector<Type> scalars;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      inputs.push_back(operand);
  for (Type result : op->getResultTypes()) {
    scalars.push_back(getElementTypeOrSelf(result));
    inits.push_back(
        tensor::EmptyOp::create(builder, loc, type.getShape(), scalars.back()));
  }
  SmallVector<AffineMap> maps(inputs.size() + inits.size(),
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, op->getResultTypes(), inputs, inits, maps, loops,
      [&](OpBuilder &nested, Location, ValueRange elements) {
        // Scalars among the operands are captured.
        SmallVector<Value> operands;
        for (Value operand : op->getOperands()) {
          bool isElement = isa<RankedTensorType>(operand.getType());
          operands.push_back(isElement ? elements.front() : operand);
          elements = elements.drop_front(isElement);
        }
        OperationState state(loc, op->getName(), operands, scalars,
                             op->getAttrs());
        linalg::YieldOp::create(nested, loc,
                                nested.create(state)->getResults());
      });
  op->replaceAllUsesWith(generic);
  op->erase();
}

/// The ops of `region` that compute a tensor's elements from their indices.
static Value cloneElement(OpBuilder &builder, Region &region,
                          ValueRange index) {
  IRMapping mapping;
  mapping.map(region.getArguments(), index);
  for (Operation &op : region.front().without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(region.front().getTerminator()->getOperand(0));
}

static LogicalResult writeGenerate(tensor::GenerateOp op, OpBuilder &builder) {
  Value made = legalize::perElement(
      builder, op.getLoc(), op.getType(), {},
      [&](OpBuilder &nested, Location, ValueRange index, ValueRange) {
        return cloneElement(nested, op.getBody(), index);
      });
  op.replaceAllUsesWith(made);
  op.erase();
  return success();
}

/// An assertion that `place`, unless it is known to, lies below `end`.
static void checkPlace(Operation *op, OpFoldResult place, int64_t end,
                       OpBuilder &builder) {
  auto value = dyn_cast<Value>(place);
  if (!value || getConstantIntValue(place))
    return;
  // As JAX clamps it.
  if (std::optional<legalize::IndexRange> range = legalize::indexRange(value);
      range && range->least >= 0 && range->most < end)
    return;
  // Below zero is beyond the end of unsigned numbers.
  Value bound = arith::ConstantIndexOp::create(builder, op->getLoc(), end);
  Value inside = arith::CmpIOp::create(builder, op->getLoc(),
                                       arith::CmpIPredicate::ult, value, bound);
  cf::AssertOp::create(
      builder, op->getLoc(), inside,
      (op->getName().getStringRef() + " reaches outside the tensor").str());
}

/// Checks the offsets of a slice. Where 0 alone passes, as along a dimension
/// that the slice has all of, it becomes the offset: such a dimension may be
/// sharded.
template <typename SliceOp>
static void checkSlice(SliceOp op, RankedTensorType whole, OpBuilder &builder) {
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
  for (auto [dim, offset] : llvm::enumerate(offsets))
    if (int64_t size = op.getStaticSizes()[dim]; size > 0) {
      // No offset passes where a slice of this extent fits nowhere.
      int64_t most = whole.getDimSize(dim);
      __int128 end = most - __int128(size - 1) * op.getStaticStrides()[dim];
      checkPlace(op, offset, std::clamp<__int128>(end, 0, most), builder);
      if (end == 1 && isa<Value>(offset))
        offset = builder.getIndexAttr(0);
    }
  SmallVector<Value> dynamic;
  SmallVector<int64_t> fixed;
  dispatchIndexOpFoldResults(offsets, dynamic, fixed);
  op.getOffsetsMutable().assign(dynamic);
  op.setStaticOffsets(fixed);
}

template <typename ElementOp>
static void checkElement(ElementOp op, RankedTensorType whole,
                         OpBuilder &builder) {
  for (auto [index, size] : llvm::zip(op.getIndices(), whole.getShape()))
    checkPlace(op, index, size, builder);
}

template <typename SliceOp> static bool hasStaticExtents(SliceOp op) {
  return !ShapedType::isDynamicShape(op.getStaticStrides()) &&
         !ShapedType::isDynamicShape(op.getStaticSizes());
}

/// Strides of fewer than two elements mean nothing, and become 1.
template <typename SliceOp> static LogicalResult checkStrides(SliceOp op) {
  SmallVector<int64_t> strides(op.getStaticStrides());
  for (auto [dim, size] : llvm::enumerate(op.getStaticSizes())) {
    if (size > 1 && strides[dim] < 1)
      return op.emitError()
             << "'" << op->getName() << "' with a stride of " << strides[dim]
             << " in dimension " << dim << " is not handled, expected at least "
             << "1 where a slice has several elements";
    if (size <= 1)
      strides[dim] = 1;
  }
  op.setStaticStrides(strides);
  return success();
}

/// One element is another: every element asks whether it is the one.
static LogicalResult writeInsert(tensor::InsertOp op, OpBuilder &builder) {
  RankedTensorType type = op.getType();
  Location loc = op.getLoc();
  checkElement(op, type, builder);
  for (auto [index, size] : llvm::zip(op.getIndices(), type.getShape())) {
    APInt constant;
    if (matchPattern(index, m_ConstantInt(&constant)) &&
        (constant.isNegative() || constant.sge(size)))
      return op.emitError() << "writes index " << constant.getSExtValue()
                            << " of a dimension of size " << size;
  }
  Value made = legalize::perElement(
      builder, loc, type, op.getDest(),
      [&](OpBuilder &nested, Location loc, ValueRange index,
          ValueRange elements) -> Value {
        Value isHere;
        for (auto [at, wanted] : llvm::zip(index, op.getIndices()))
          isHere = legalize::andCompare(nested, loc, isHere,
                                        arith::CmpIPredicate::eq, at, wanted);
        if (!isHere)
          return op.getScalar();
        return arith::SelectOp::create(nested, loc, isHere, op.getScalar(),
                                       elements.front());
      });
  op.replaceAllUsesWith(made);
  op.erase();
  return success();
}

/// A slice written with gaps: every element of the whole asks whether it lies
/// on the slice, and which element of it it is.
static LogicalResult writeStridedInsert(tensor::InsertSliceOp op,
                                        OpBuilder &builder) {
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Value made = legalize::perElement(
      builder, op.getLoc(), op.getDestType(), op.getDest(),
      [&](OpBuilder &nested, Location loc, ValueRange index,
          ValueRange elements) -> Value {
        Value zero = arith::ConstantIndexOp::create(nested, loc, 0);
        Value isHere;
        auto require = [&](arith::CmpIPredicate kind, Value a, Value b) {
          isHere = legalize::andCompare(nested, loc, isHere, kind, a, b);
        };
        SmallVector<Value> from;
        for (auto [dim, at] : llvm::enumerate(index)) {
          // A dimension that the slice has whole can be sharded.
          if (!dropped.test(dim) && isConstantIntValue(offsets[dim], 0) &&
              op.getStaticStrides()[dim] == 1 &&
              op.getStaticSizes()[dim] == op.getDestType().getDimSize(dim)) {
            from.push_back(at);
            continue;
          }
          Value offset =
              getValueOrCreateConstantIndexOp(nested, loc, offsets[dim]);
          Value stride = arith::ConstantIndexOp::create(
              nested, loc, op.getStaticStrides()[dim]);
          Value size = arith::ConstantIndexOp::create(nested, loc,
                                                      op.getStaticSizes()[dim]);
          Value distance = arith::SubIOp::create(nested, loc, at, offset);
          Value place = arith::DivSIOp::create(nested, loc, distance, stride);
          Value gap = arith::RemSIOp::create(nested, loc, distance, stride);
          require(arith::CmpIPredicate::sge, distance, zero);
          require(arith::CmpIPredicate::slt, place, size);
          require(arith::CmpIPredicate::eq, gap, zero);
          if (!dropped.test(dim))
            from.push_back(place);
        }
        for (Value &place : from)
          if (!llvm::is_contained(index, place))
            place = arith::SelectOp::create(nested, loc, isHere, place, zero);
        Value inside =
            tensor::ExtractOp::create(nested, loc, op.getSource(), from);
        return arith::SelectOp::create(nested, loc, isHere, inside,
                                       elements.front());
      });
  op.replaceAllUsesWith(made);
  op.erase();
  return success();
}

/// A slice of one element of each group of a dimension, of which the groups
/// have all: written without gaps where a dimension counts inside of a group.
static bool writeIntoGroups(tensor::InsertSliceOp op, OpBuilder &builder) {
  RankedTensorType whole = op.getDestType(), part = op.getSourceType();
  if (whole.getRank() != part.getRank())
    return false;
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> wholeShape, partShape;
  SmallVector<OpFoldResult> offsets, sizes;
  bool isStrided = false;
  auto add = [&](int64_t of, int64_t from, int64_t count) {
    groups.back().push_back(wholeShape.size());
    wholeShape.push_back(of);
    partShape.push_back(count);
    offsets.push_back(builder.getIndexAttr(from));
    sizes.push_back(builder.getIndexAttr(count));
  };
  for (auto [dim, size] : llvm::enumerate(whole.getShape())) {
    int64_t stride = op.getStaticStrides()[dim];
    int64_t offset = op.getStaticOffsets()[dim];
    int64_t count = op.getStaticSizes()[dim];
    groups.emplace_back();
    if (ShapedType::isDynamic(offset))
      return false;
    if (stride == 1 || count == 1) {
      add(size, offset, count);
      continue;
    }
    if (isStrided || stride < 1 || count * stride != size || offset >= stride)
      return false;
    isStrided = true;
    add(count, 0, count);
    add(stride, offset, 1);
  }
  if (!isStrided)
    return false;
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> strides(wholeShape.size(), builder.getIndexAttr(1));
  auto into = tensor::ExpandShapeOp::create(
      builder, loc, whole.clone(ArrayRef<int64_t>(wholeShape)), op.getDest(),
      groups);
  auto from = tensor::ExpandShapeOp::create(
      builder, loc, part.clone(ArrayRef<int64_t>(partShape)), op.getSource(),
      groups);
  auto written = tensor::InsertSliceOp::create(builder, loc, from, into,
                                               offsets, sizes, strides);
  op.replaceAllUsesWith(
      tensor::CollapseShapeOp::create(builder, loc, whole, written, groups)
          .getResult());
  op.erase();
  return true;
}

/// Padding that is computed from the index is made for all elements; the
/// source is written over it.
static LogicalResult writeComputedPad(tensor::PadOp op, OpBuilder &builder) {
  for (OpFoldResult amount :
       llvm::concat<OpFoldResult>(op.getMixedLowPad(), op.getMixedHighPad())) {
    std::optional<int64_t> constant = getConstantIntValue(amount);
    if (!constant || *constant < 0)
      return op.emitError() << "'tensor.pad' by a number that is negative or "
                               "known only at run time is not handled, "
                               "expected constants";
  }
  if (op.getConstantPaddingValue())
    return success();
  RankedTensorType source = op.getSourceType();
  Value padding = legalize::perElement(
      builder, op.getLoc(), op.getResultType(), {},
      [&](OpBuilder &nested, Location, ValueRange index, ValueRange) {
        return cloneElement(nested, op.getRegion(), index);
      });
  SmallVector<OpFoldResult> strides(source.getRank(), builder.getIndexAttr(1));
  Value made = tensor::InsertSliceOp::create(
      builder, op.getLoc(), op.getSource(), padding, op.getMixedLowPad(),
      getAsIndexOpFoldResult(builder.getContext(), source.getShape()), strides);
  op.replaceAllUsesWith(made);
  op.erase();
  return success();
}

/// The elements keep their order: down to one dimension and up again.
static LogicalResult writeReshape(tensor::ReshapeOp op, OpBuilder &builder) {
  Location loc = op.getLoc();
  Value value = op.getSource();
  auto from = cast<RankedTensorType>(value.getType());
  auto to = cast<RankedTensorType>(op.getType());
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.push_back(llvm::to_vector<2>(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  if (from.getNumElements() == 0) {
    value = tensor::EmptyOp::create(builder, loc, to.getShape(),
                                    to.getElementType());
  } else if (from.getShape() != to.getShape()) {
    auto flat =
        RankedTensorType::get({to.getNumElements()}, to.getElementType());
    if (from.getRank() == 0)
      value = tensor::ExpandShapeOp::create(builder, loc, flat, value, all(0));
    else if (from.getRank() > 1)
      value = tensor::CollapseShapeOp::create(builder, loc, flat, value,
                                              all(from.getRank()));
    if (to.getRank() == 0)
      value = tensor::CollapseShapeOp::create(builder, loc, to, value, all(0));
    else if (to.getRank() > 1)
      value = tensor::ExpandShapeOp::create(builder, loc, to, value,
                                            all(to.getRank()));
  }
  op.replaceAllUsesWith(value);
  op.erase();
  return success();
}

static LogicalResult writeBitcast(tensor::BitcastOp op, OpBuilder &builder) {
  Type from = op.getSource().getType().getElementType();
  Type to = op.getType().getElementType();
  if (!isStatic(op.getType()) || !from.isSignlessIntOrFloat() ||
      !to.isSignlessIntOrFloat())
    return success();
  Value made = legalize::perElement(
      builder, op.getLoc(), cast<RankedTensorType>(op.getType()),
      op.getSource(),
      [&](OpBuilder &nested, Location loc, ValueRange, ValueRange elements) {
        return arith::BitcastOp::create(nested, loc, to, elements.front());
      });
  op.replaceAllUsesWith(made);
  op.erase();
  return success();
}

static LogicalResult write(Operation *op, OpBuilder &builder) {
  builder.setInsertionPoint(op);
  bool allStatic = llvm::all_of(op->getResultTypes(), isStatic);
  for (Type type : op->getOperandTypes())
    allStatic &= !isa<TensorType>(type) || isStatic(type);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op);
      extract && isStatic(extract.getTensor().getType()))
    checkElement(extract, extract.getTensor().getType(), builder);
  // What is dynamic is refused later.
  if (!allStatic || op->getNumResults() == 0)
    return success();
  if (op->hasTrait<OpTrait::Elementwise>() &&
      op->hasTrait<OpTrait::Tensorizable>()) {
    legalize::writeElementwise(op, builder);
    return success();
  }
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tensor::GenerateOp op) { return writeGenerate(op, builder); })
      .Case([&](tensor::InsertOp op) { return writeInsert(op, builder); })
      .Case([&](tensor::PadOp op) { return writeComputedPad(op, builder); })
      .Case([&](tensor::ReshapeOp op) { return writeReshape(op, builder); })
      .Case([&](tensor::BitcastOp op) { return writeBitcast(op, builder); })
      .Case([&](tensor::GatherOp op) {
        return legalize::writeGather(op, builder);
      })
      .Case([&](tensor::ScatterOp op) {
        return legalize::writeScatter(op, builder);
      })
      .Case([&](tm_tensor::ScatterOp op) {
        legalize::writeTMTensorScatter(op, builder);
        return success();
      })
      .Case([&](tensor::ExtractSliceOp op) -> LogicalResult {
        if (!hasStaticExtents(op))
          return success();
        if (failed(checkStrides(op)))
          return failure();
        checkSlice(op, op.getSourceType(), builder);
        return success();
      })
      .Case([&](tensor::InsertSliceOp op) -> LogicalResult {
        if (!hasStaticExtents(op))
          return success();
        if (failed(checkStrides(op)))
          return failure();
        checkSlice(op, op.getDestType(), builder);
        if (op.hasUnitStride())
          return success();
        builder.setInsertionPoint(op);
        return writeIntoGroups(op, builder) ? success()
                                            : writeStridedInsert(op, builder);
      })
      .Default([](Operation *) { return success(); });
}

LogicalResult legalize::writeAsLinalg(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    if (failed(write(&op, builder)))
      return failure();
  return success();
}
