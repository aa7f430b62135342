//===- StaticShapes.cpp - sizes that are known after all ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write `?` for sizes that constants determine: they cast static
// tensors to dynamic types, and slice by sizes that are computed. Ops are
// visited in the order of the program. What an op reads is static by then, so
// its result is what its own shape inference makes of the operands.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

static bool isDynamic(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

/// Sizes, offsets or strides with their constants as attributes.
static SmallVector<OpFoldResult> folded(ArrayRef<OpFoldResult> numbers,
                                        OpBuilder &builder) {
  SmallVector<OpFoldResult> result(numbers);
  for (OpFoldResult &number : result)
    if (std::optional<int64_t> constant = getConstantIntValue(number))
      number = builder.getIndexAttr(*constant);
  return result;
}

/// The sizes of which all are constants of at least 0.
static std::optional<SmallVector<int64_t>>
staticSizes(ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> result;
  for (OpFoldResult size : sizes) {
    std::optional<int64_t> constant = getConstantIntValue(size);
    if (!constant || *constant < 0)
      return std::nullopt;
    result.push_back(*constant);
  }
  return result;
}

/// `type` with `shape`, if that is static.
static RankedTensorType withShape(Type type,
                                  std::optional<SmallVector<int64_t>> shape) {
  if (!shape || ShapedType::isDynamicShape(*shape))
    return {};
  auto tensor = cast<TensorType>(type);
  return RankedTensorType::get(*shape, tensor.getElementType());
}

/// The numbers of a tensor that holds a shape.
static std::optional<SmallVector<int64_t>> numbersOf(Value shape) {
  DenseIntElementsAttr constant;
  if (matchPattern(shape, m_Constant(&constant))) {
    SmallVector<int64_t> numbers;
    for (const APInt &number : constant.getValues<APInt>())
      numbers.push_back(number.getSExtValue());
    return numbers;
  }
  if (auto elements = shape.getDefiningOp<tensor::FromElementsOp>())
    return staticSizes(getAsOpFoldResult(elements.getElements()));
  return std::nullopt;
}

/// The shape of an expansion: in each group one size may follow from the rest.
static std::optional<SmallVector<int64_t>>
expandedShape(tensor::ExpandShapeOp op) {
  RankedTensorType source = op.getSrcType();
  SmallVector<int64_t> shape;
  for (OpFoldResult size : op.getMixedOutputShape())
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    int64_t known = 1, *unknown = nullptr;
    for (int64_t at : group) {
      if (!ShapedType::isDynamic(shape[at]))
        known *= shape[at];
      else if (unknown)
        return std::nullopt;
      else
        unknown = &shape[at];
    }
    int64_t size = source.getDimSize(dim);
    if (!unknown)
      continue;
    if (ShapedType::isDynamic(size) || known == 0 || size % known)
      return std::nullopt;
    *unknown = size / known;
  }
  return shape;
}

/// An op that computes what `op` does with a static type, or null. Null too
/// where the type could be changed in place.
static Value remade(Operation *op, OpBuilder &builder) {
  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](tensor::EmptyOp op) -> Value {
        auto type = withShape(op.getType(), staticSizes(op.getMixedSizes()));
        if (!type)
          return {};
        return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
      })
      .Case([&](tensor::SplatOp op) -> Value {
        SmallVector<OpFoldResult> sizes = getMixedValues(
            op.getType().getShape(), op.getDynamicSizes(), builder);
        auto type = withShape(op.getType(), staticSizes(sizes));
        if (!type)
          return {};
        return tensor::SplatOp::create(builder, loc, op.getInput(), type);
      })
      .Case([&](tensor::GenerateOp op) -> Value {
        SmallVector<OpFoldResult> sizes = getMixedValues(
            op.getType().getShape(), op.getDynamicExtents(), builder);
        auto type = withShape(op.getType(), staticSizes(sizes));
        if (!type)
          return {};
        auto made =
            tensor::GenerateOp::create(builder, loc, type, ValueRange());
        made.getBody().takeBody(op.getBody());
        return made;
      })
      .Case([&](tensor::ExtractSliceOp op) -> Value {
        if (!staticSizes(op.getMixedSizes()) || isDynamic(op.getSourceType()))
          return {};
        SmallVector<OpFoldResult> sizes = folded(op.getMixedSizes(), builder);
        // Dimensions of size 1 that the result drops.
        SmallVector<int64_t> shape;
        llvm::SmallBitVector dropped = op.getDroppedDims();
        for (auto [dim, size] : llvm::enumerate(sizes))
          if (!dropped.test(dim))
            shape.push_back(*getConstantIntValue(size));
        return tensor::ExtractSliceOp::create(
            builder, loc, withShape(op.getType(), shape), op.getSource(),
            folded(op.getMixedOffsets(), builder), sizes,
            folded(op.getMixedStrides(), builder));
      })
      .Case([&](tensor::PadOp op) -> Value {
        SmallVector<OpFoldResult> low = folded(op.getMixedLowPad(), builder);
        SmallVector<OpFoldResult> high = folded(op.getMixedHighPad(), builder);
        SmallVector<int64_t> staticLow, staticHigh;
        SmallVector<Value> unknown;
        dispatchIndexOpFoldResults(low, unknown, staticLow);
        dispatchIndexOpFoldResults(high, unknown, staticHigh);
        if (!unknown.empty() || isDynamic(op.getSourceType()))
          return {};
        auto made = tensor::PadOp::create(
            builder, loc,
            tensor::PadOp::inferResultType(op.getSourceType(), staticLow,
                                           staticHigh),
            op.getSource(), low, high, op.getNofold());
        made.getRegion().takeBody(op.getRegion());
        return made;
      })
      .Case([&](tensor::ExpandShapeOp op) -> Value {
        auto type = withShape(op.getType(), expandedShape(op));
        if (!type)
          return {};
        return tensor::ExpandShapeOp::create(builder, loc, type, op.getSrc(),
                                             op.getReassociationIndices());
      })
      .Default([](Operation *) -> Value { return {}; });
}

/// The type that the operands of `op` give its result.
static Type inferredType(OpResult result) {
  Operation *op = result.getOwner();
  auto shapeOf = [&](Value operand) -> Type {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    return tensor ? withShape(result.getType(),
                              SmallVector<int64_t>(tensor.getShape()))
                  : RankedTensorType();
  };
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return shapeOf(destination.getTiedOpOperand(result)->get());
  return TypeSwitch<Operation *, Type>(op)
      .Case([](tensor::ConcatOp op) -> Type {
        return tensor::ConcatOp::inferResultType(op.getDim(),
                                                 op.getInputs().getTypes());
      })
      .Case([](tensor::CollapseShapeOp op) -> Type {
        if (isDynamic(op.getSrcType()))
          return {};
        return tensor::CollapseShapeOp::inferCollapsedType(
            op.getSrcType(), op.getReassociationMaps());
      })
      .Case([&](tensor::ReshapeOp op) -> Type {
        return withShape(result.getType(), numbersOf(op.getShape()));
      })
      .Case([&](tensor::ScatterOp op) { return shapeOf(op.getDest()); })
      .Case([&](tm_tensor::ScatterOp op) { return shapeOf(op.getOriginal()); })
      .Case([&](tensor::GatherOp op) -> Type {
        RankedTensorType type = op.getResultType(), source = op.getSourceType();
        RankedTensorType indices = op.getIndicesType();
        bool dropsDims =
            type.getRank() != indices.getRank() - 1 + source.getRank();
        return tensor::GatherOp::inferResultType(source, indices,
                                                 op.getGatherDims(), dropsDims);
      })
      .Case<tensor::BitcastOp, ConstrainOp>(
          [&](auto op) { return shapeOf(op.getSource()); })
      .Default([&](Operation *op) -> Type {
        if (op->hasTrait<OpTrait::Elementwise>())
          for (Value operand : op->getOperands())
            if (Type type = shapeOf(operand))
              return type;
        return {};
      });
}

/// Nothing is left of a cast that forgets sizes, or of one to the sizes that
/// are known.
static FailureOr<Operation *> resolveCast(tensor::CastOp op) {
  auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!source || isDynamic(source))
    return op.getOperation();
  if (type)
    for (auto [dim, has, expected] :
         llvm::enumerate(source.getShape(), type.getShape()))
      if (!ShapedType::isDynamic(expected) && has != expected)
        return op.emitError()
               << "dimension " << dim << " has size " << has << " in " << source
               << ", expected " << expected << " to cast it to " << type;
  op.replaceAllUsesWith(op.getSource());
  op.erase();
  return static_cast<Operation *>(nullptr);
}

FailureOr<Operation *> legalize::resolveShapes(Operation *op,
                                               OpBuilder &builder) {
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return resolveCast(cast);
  if (llvm::none_of(op->getResultTypes(), isDynamic))
    return op;
  if (Value made = remade(op, builder)) {
    op->getResult(0).replaceAllUsesWith(made);
    op->erase();
    return made.getDefiningOp();
  }
  for (OpResult result : op->getResults())
    if (isDynamic(result.getType()))
      if (Type type = inferredType(result); type && !isDynamic(type))
        result.setType(type);
  return op;
}

void legalize::resolveArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    if (!isDynamic(argument.getType()) || argument.use_empty())
      continue;
    Type type;
    for (Operation *user : argument.getUsers()) {
      auto cast = dyn_cast<tensor::CastOp>(user);
      Type to = cast ? cast.getType() : Type();
      if (!to || isDynamic(to) || (type && to != type)) {
        type = {};
        break;
      }
      type = to;
    }
    if (type)
      argument.setType(type);
  }
}
