//===- Decompose.cpp - ops that stand for several -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linalg's ops that are no loop nests become what they stand for, so that one
// rule and one code generator serve all. Softmax is written here: upstream's
// takes its maximum with maxnumf, which ignores NaN and does not combine over
// ranks, and adds f16 and bf16 up in their own precision.
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;

namespace {
/// exp(x - max) / sum over one dimension, in f32 or wider; each result is
/// rounded once.
class SoftmaxBuilder {
public:
  SoftmaxBuilder(linalg::SoftmaxOp op, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()),
        type(cast<RankedTensorType>(op.getInput().getType())),
        element(cast<FloatType>(type.getElementType())),
        wide(element.getWidth() < 32 ? builder.getF32Type()
                                     : Type(type.getElementType())),
        all(AffineMap::getMultiDimIdentityMap(type.getRank(), op.getContext())),
        kept(all.dropResult(op.getDimension())) {}

  Value build() {
    Value least = constant(
        APFloat::getInf(cast<FloatType>(wide).getFloatSemantics(), true));
    Value max = overDimension({op.getInput()}, {all}, least,
                              [&](OpBuilder &b, ValueRange args) {
                                return arith::MaximumFOp::create(
                                    b, loc, widened(b, args[0]), args[1]);
                              });
    Value shifted = elementwise(
        {op.getInput(), max}, {all, kept}, empty(type.getShape(), wide),
        [&](OpBuilder &b, ValueRange args) -> Value {
          Value difference =
              arith::SubFOp::create(b, loc, widened(b, args[0]), args[1]);
          return math::ExpOp::create(b, loc, difference);
        });
    Value zero =
        constant(APFloat::getZero(cast<FloatType>(wide).getFloatSemantics()));
    Value sum = overDimension(
        {shifted}, {all}, zero, [&](OpBuilder &b, ValueRange args) {
          return arith::AddFOp::create(b, loc, args[0], args[1]);
        });
    return elementwise(
        {shifted, sum}, {all, kept}, empty(type.getShape(), element),
        [&](OpBuilder &b, ValueRange args) -> Value {
          Value share = arith::DivFOp::create(b, loc, args[0], args[1]);
          return wide == element
                     ? share
                     : arith::TruncFOp::create(b, loc, element, share)
                           .getResult();
        });
  }

private:
  using Body = llvm::function_ref<Value(OpBuilder &, ValueRange)>;

  Value constant(APFloat value) {
    return arith::ConstantOp::create(builder, loc, FloatAttr::get(wide, value));
  }
  Value widened(OpBuilder &b, Value scalar) {
    return scalar.getType() == wide
               ? scalar
               : arith::ExtFOp::create(b, loc, wide, scalar).getResult();
  }
  Value empty(ArrayRef<int64_t> shape, Type elementType) {
    return tensor::EmptyOp::create(builder, loc, shape, elementType);
  }

  Value generic(ValueRange inputs, ArrayRef<AffineMap> maps, Value init,
                AffineMap initMap, Body body) {
    SmallVector<AffineMap> allMaps(maps);
    allMaps.push_back(initMap);
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    if (initMap == kept)
      iterators[op.getDimension()] = utils::IteratorType::reduction;
    return linalg::GenericOp::create(
               builder, loc, init.getType(), inputs, init, allMaps, iterators,
               [&](OpBuilder &b, Location, ValueRange args) {
                 linalg::YieldOp::create(b, loc, body(b, args));
               })
        ->getResult(0);
  }
  Value elementwise(ValueRange inputs, ArrayRef<AffineMap> maps, Value init,
                    Body body) {
    return generic(inputs, maps, init, all, body);
  }
  Value overDimension(ValueRange inputs, ArrayRef<AffineMap> maps,
                      Value identity, Body body) {
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + op.getDimension());
    Value init =
        linalg::FillOp::create(builder, loc, identity, empty(shape, wide))
            .getResult(0);
    return generic(inputs, maps, init, kept, body);
  }

  linalg::SoftmaxOp op;
  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
  FloatType element;
  Type wide;
  AffineMap all, kept;
};
} // namespace

static LogicalResult decomposeSoftmax(linalg::SoftmaxOp op,
                                      IRRewriter &rewriter) {
  Type input = op.getInput().getType(), output = op.getOutput().getType();
  auto type = dyn_cast<RankedTensorType>(input);
  if (!type || !isa<FloatType>(type.getElementType()) || input != output)
    return op.emitError()
           << "softmax expected floats of one type as input and output, got "
           << input << " and " << output;
  rewriter.replaceOp(op, SoftmaxBuilder(op, rewriter).build());
  return success();
}

static LogicalResult decomposePack(linalg::PackOp op, IRRewriter &rewriter) {
  Location loc = op.getLoc();
  FailureOr<linalg::LowerPackResult> parts =
      linalg::lowerPack(rewriter, op, /*lowerPadLikeWithInsertSlice=*/false);
  if (failed(parts))
    return emitError(loc) << "cannot write 'linalg.pack' as a pad, a reshape "
                             "and a transpose, expected constant tiles";
  // A pad of nothing would keep partial values and cut dimensions apart.
  if (tensor::PadOp pad = parts->padOp;
      pad && pad.hasZeroLowPad() && pad.hasZeroHighPad())
    rewriter.replaceOp(pad, pad.getSource());
  return success();
}

LogicalResult tp::decompose(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    rewriter.setInsertionPoint(&op);
    if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op)) {
      if (failed(decomposeSoftmax(softmax, rewriter)))
        return failure();
    } else if (auto pack = dyn_cast<linalg::PackOp>(op)) {
      if (failed(decomposePack(pack, rewriter)))
        return failure();
    } else if (auto unpack = dyn_cast<linalg::UnPackOp>(op)) {
      Location loc = op.getLoc();
      if (failed(linalg::lowerUnPack(rewriter, unpack)))
        return emitError(loc) << "cannot write 'linalg.unpack' as a transpose, "
                                 "a reshape and a slice, expected constant "
                                 "tiles";
    } else if (isa<linalg::WinogradFilterTransformOp,
                   linalg::WinogradInputTransformOp,
                   linalg::WinogradOutputTransformOp>(op)) {
      return op.emitError() << "'" << op.getName()
                            << "' is not handled, expected the convolution it "
                               "stands for";
    }
  }
  return success();
}
