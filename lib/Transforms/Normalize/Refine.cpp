//===- Refine.cpp - rewrites a function on atomic dimensions --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Refine.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Groups of dimensions of two shapes that hold the same elements.
static void align(ArrayRef<int64_t> left, ArrayRef<int64_t> right,
                  SmallVector<ReassociationIndices> &leftGroups,
                  SmallVector<ReassociationIndices> &rightGroups,
                  Shape &common) {
  size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    leftGroups.emplace_back().push_back(i);
    rightGroups.emplace_back().push_back(j);
    int64_t product = left[i++], other = right[j++];
    while (product != other) {
      if (product < other) {
        leftGroups.back().push_back(i);
        product *= left[i++];
      } else {
        rightGroups.back().push_back(j);
        other *= right[j++];
      }
    }
    common.push_back(product);
  }
  // What is left has size 1.
  for (; i < left.size() && !leftGroups.empty(); ++i)
    leftGroups.back().push_back(i);
  for (; j < right.size() && !rightGroups.empty(); ++j)
    rightGroups.back().push_back(j);
}

Value Refiner::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  Value &result = reshaped[{value.getAsOpaquePointer(), shape.vec()}];
  if (result)
    return result;
  OpBuilder::InsertionGuard guard(builder);
  // An argument's own location says nothing about it.
  Location loc = isa<BlockArgument>(value) ? current->getLoc() : value.getLoc();
  // Views of arguments stand at the top, in the order they are first read.
  if (isa<BlockArgument>(value) && lastArgumentView)
    builder.setInsertionPointAfter(lastArgumentView);
  else
    builder.setInsertionPointAfterValue(value);
  // Without elements, none is in another place.
  if (type.getNumElements() == 0)
    return result = tensor::EmptyOp::create(builder, loc, shape,
                                            type.getElementType());
  SmallVector<ReassociationIndices> from, to;
  Shape common;
  align(type.getShape(), shape, from, to, common);
  result = value;
  if (type.getShape() != ArrayRef(common))
    result = tensor::CollapseShapeOp::create(
        builder, loc, RankedTensorType::get(common, type.getElementType()),
        result, from);
  if (ArrayRef(common) != shape)
    result = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        result, to);
  if (isa<BlockArgument>(value))
    lastArgumentView = result.getDefiningOp();
  return result;
}

RankedTensorType Refiner::refinedType(Value old) {
  return RankedTensorType::get(
      atoms.refinedShape(old),
      cast<RankedTensorType>(old.getType()).getElementType());
}

Value Refiner::get(Value old, ArrayRef<int64_t> shape) {
  Value value = values.lookup(old);
  if (!value)
    value = old;
  return reshape(value, shape);
}

Value Refiner::get(Value old) {
  if (!isa<RankedTensorType>(old.getType())) {
    Value value = values.lookup(old);
    return value ? value : old;
  }
  return get(old, atoms.refinedShape(old));
}

void Refiner::set(Value old, Value refined) { values[old] = refined; }

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void Refiner::keep(Operation *op) {
  IRMapping mapping;
  auto original = [&](Value old) {
    if (auto type = dyn_cast<RankedTensorType>(old.getType()))
      return get(old, type.getShape());
    return get(old);
  };
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Region *region = operand.getParentRegion();
      if (region == &function.getBody())
        mapping.map(operand, original(operand));
    }
  });
  Operation *copy = builder.clone(*op, mapping);
  for (auto [old, result] : llvm::zip(op->getResults(), copy->getResults()))
    set(old, result);
}

bool Refiner::refineConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return false;
  RankedTensorType type = refinedType(op.getResult());
  DenseElementsAttr refined =
      elements.isSplat() ? elements.resizeSplat(type) : elements.reshape(type);
  set(op.getResult(), arith::ConstantOp::create(builder, op.getLoc(), refined));
  return true;
}

/// The major factor of each view dimension, -1 for one of size 1; nothing
/// where the factors of the value do not nest in the view.
static std::optional<SmallVector<int64_t>>
majorFactors(ArrayRef<int64_t> view, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> majors;
  size_t next = 0;
  for (int64_t size : view) {
    int64_t product = 1;
    majors.push_back(size == 1 ? -1 : static_cast<int64_t>(next));
    while (product < size && next < shape.size())
      product *= shape[next++];
    if (product != size)
      return std::nullopt;
  }
  return majors;
}

LogicalResult Refiner::refineConstrain(ConstrainOp op) {
  Shape shape = atoms.refinedShape(op.getSource());
  std::optional<SmallVector<int64_t>> majors =
      majorFactors(op.getView(), shape);
  Placement placement = op.getPlacement().getValue();
  SmallVector<int64_t> dims;
  if (placement.isShard()) {
    if (!majors)
      return op.emitError()
             << "the " << op.getPort() << " of module '" << op.getModule()
             << "' is cut in ways that do not nest with its own shape";
    int64_t major = (*majors)[placement.dim];
    if (major < 0) {
      // A dimension of one element has one holder on an axis of one rank.
      const Mesh &mesh = op.getMesh().getValue();
      if (mesh.axes[*mesh.axisByName(op.getAxis())].size != 1)
        return op.emitError()
               << "dimension " << placement.dim << " of the " << op.getPort()
               << " of module '" << op.getModule()
               << "' has size 1 and cannot be sharded";
      placement = Placement::replicate();
    } else {
      int64_t whole = op.getView()[placement.dim], minor = whole / shape[major];
      // Segments that are the major factor's indices leave it whole.
      bool isWhole = minor > 1 && !placement.segments.empty() &&
                     llvm::all_of(placement.segments, [&](int64_t segment) {
                       return segment == minor;
                     });
      if (isWhole) {
        placement.segments.clear();
        whole = minor;
        ++major;
      }
      placement.dim = major;
      for (int64_t &segment : placement.segments) {
        if (segment % minor != 0)
          return op.emitError()
                 << "a segment of " << segment << " of the " << op.getPort()
                 << " of module '" << op.getModule()
                 << "' does not end between parts of " << minor;
        segment /= minor;
      }
      if (placement.segments.empty())
        for (int64_t size = 1; size < whole; size *= shape[major++])
          dims.push_back(major);
      // Run again: what was found before is cut further.
      for (int64_t dim : op.getDims().value_or(ArrayRef<int64_t>()))
        if (int64_t first = (*majors)[dim];
            dim != op.getPlacement().getValue().dim && first >= 0)
          for (int64_t size = 1; size < op.getView()[dim];
               size *= shape[first++])
            dims.push_back(first);
    }
  }
  Value source = get(op.getSource());
  auto refined = ConstrainOp::create(
      builder, op.getLoc(), source.getType(), source, op.getMesh(),
      op.getAxis(), PlacementAttr::get(op.getContext(), placement), shape,
      op.getModule(), op.getPort(), op.getLazy(),
      dims.size() > 1 ? DenseI64ArrayAttr::get(op.getContext(), dims)
                      : DenseI64ArrayAttr());
  refined->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  set(op.getResult(), refined);
  return success();
}

static Shape withoutUnits(ArrayRef<int64_t> shape) {
  return llvm::to_vector(
      llvm::make_filter_range(shape, [](int64_t size) { return size != 1; }));
}

namespace {
/// Where a slice is, in the dimensions of a refined whole.
struct SlicePlace {
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

/// The place of the slice in a whole of shape `sizes` before it is refined to
/// `shapes`. `offsets` are the op's, of the new function.
static SlicePlace refinedPlace(OffsetSizeAndStrideOpInterface op,
                               ArrayRef<OpFoldResult> offsets,
                               ArrayRef<int64_t> sizes,
                               const OverlapShapes &shapes) {
  Builder builder(op.getContext());
  SlicePlace place;
  auto push = [&](OpFoldResult offset, int64_t size, int64_t stride) {
    place.offsets.push_back(offset);
    place.sizes.push_back(builder.getIndexAttr(size));
    place.strides.push_back(builder.getIndexAttr(stride));
  };
  auto zero = builder.getIndexAttr(0);
  ArrayRef<int64_t> shape = shapes.operands[0];
  for (auto [i, unit] : llvm::enumerate(shapes.unit)) {
    // The major factor is cut; the others are whole.
    int64_t rest = sizes[i];
    bool first = true;
    while (!shape.empty() && rest > 1) {
      if (unit && first)
        push(op.isDynamicOffset(i)
                 ? offsets[i]
                 : builder.getIndexAttr(op.getStaticOffset(i) / unit),
             op.getStaticSize(i) / unit, op.getStaticStride(i));
      else
        push(zero, shape.front(), 1);
      first = false;
      rest /= shape.front();
      shape = shape.drop_front();
    }
  }
  return place;
}

SmallVector<OpFoldResult>
Refiner::offsetsOf(OffsetSizeAndStrideOpInterface op) {
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
  for (OpFoldResult &offset : offsets)
    if (auto value = dyn_cast<Value>(offset))
      offset = get(value);
  return offsets;
}

void Refiner::refineSlice(tensor::ExtractSliceOp op) {
  OverlapShapes shapes = atoms.shapesOf(op);
  Value source = get(op.getSource(), shapes.operands[0]);
  SlicePlace place =
      refinedPlace(op, offsetsOf(op), op.getSourceType().getShape(), shapes);
  auto type = RankedTensorType::get(withoutUnits(shapes.result),
                                    op.getSourceType().getElementType());
  Value slice =
      tensor::ExtractSliceOp::create(builder, op.getLoc(), type, source,
                                     place.offsets, place.sizes, place.strides);
  set(op.getResult(), slice);
}

void Refiner::refineSlice(tensor::InsertSliceOp op) {
  OverlapShapes shapes = atoms.shapesOf(op);
  Value source = get(op.getSource(), withoutUnits(shapes.result));
  Value dest = get(op.getDest(), shapes.operands[0]);
  SlicePlace place =
      refinedPlace(op, offsetsOf(op), op.getDestType().getShape(), shapes);
  Value whole =
      tensor::InsertSliceOp::create(builder, op.getLoc(), source, dest,
                                    place.offsets, place.sizes, place.strides);
  set(op.getResult(), whole);
}

void Refiner::refineConcat(tensor::ConcatOp op) {
  OverlapShapes shapes = atoms.shapesOf(op);
  SmallVector<Value> inputs;
  for (auto [input, shape] : llvm::zip(op.getInputs(), shapes.operands))
    inputs.push_back(get(input, shape));
  int64_t dim = 0;
  for (unsigned i = 0; i < op.getDim(); ++i)
    dim += atoms.factors(op.getResult(), i).size();
  auto type =
      RankedTensorType::get(shapes.result, op.getResultType().getElementType());
  set(op.getResult(),
      tensor::ConcatOp::create(builder, op.getLoc(), type, dim, inputs));
}

LogicalResult Refiner::refine(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op);
      generic && AtomicDims::isSupported(generic)) {
    refineGeneric(generic);
  } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Value init = get(fill.getOutputs()[0]);
    set(fill.getResult(0),
        linalg::FillOp::create(builder, op->getLoc(), get(fill.getInputs()[0]),
                               init)
            .getResult(0));
  } else if (isa<tensor::EmptyOp>(op)) {
    RankedTensorType type = refinedType(op->getResult(0));
    set(op->getResult(0),
        tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(),
                                type.getElementType()));
  } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    // What reads it takes its own shape of what there was before the reshape.
    Value source = values.lookup(op->getOperand(0));
    set(op->getResult(0), source ? source : op->getOperand(0));
  } else if (auto pin = dyn_cast<ConstrainOp>(op)) {
    return refineConstrain(pin);
  } else if (auto kept = dyn_cast<KeptOp>(op)) {
    auto refined = KeptOp::create(builder, op->getLoc(), get(kept.getSource()));
    refined->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    set(kept.getResult(), refined);
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
             slice && AtomicDims::isSupported(slice)) {
    refineSlice(slice);
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op);
             insert && AtomicDims::isSupported(insert)) {
    refineSlice(insert);
  } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    refineConcat(concat);
  } else if (auto cast = dyn_cast<tensor::CastOp>(op);
             cast && cast.getSource().getType() == cast.getType()) {
    set(cast.getResult(), get(cast.getSource()));
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op);
             constant && isa<RankedTensorType>(constant.getType())) {
    if (!refineConstant(constant))
      keep(op);
  } else {
    keep(op);
  }
  return success();
}

LogicalResult Refiner::run() {
  Block &block = function.getBody().front();
  SmallVector<Operation *> old;
  for (Operation &op : block)
    old.push_back(&op);
  // New ops stand before the old ones; reshapes of arguments come first.
  for (Operation *op : old) {
    builder.setInsertionPoint(old.front());
    current = op;
    if (failed(refine(op)))
      return failure();
  }
  for (Operation *op : llvm::reverse(old))
    op->erase();
  return success();
}
