//===- ReductionTypes.cpp - pass tp-cuda-reduction-types ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL combines floats by fmaxf and fminf, which drop NaN where the other
// number is none. The bits of an IEEE number are a sign and a magnitude: with
// those of the magnitude turned around under a sign they order as integers of
// two's complement, -0.0 below 0.0. NaN takes the place beyond all numbers on
// the side that wins. Widening to f32 is exact, so one width serves all narrow
// formats.
//
// It makes the largest number of an infinity in f8, and has f8 on some devices
// only; f32 serves there, and rounds once as the CPU does. i16 it lacks.
//
//===----------------------------------------------------------------------===//

#include "CUDAStages.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tp/Codegen/CUDA/CUDAPasses.h"

namespace tp {
#define GEN_PASS_DEF_CUDAREDUCTIONTYPES
#include "tp/Codegen/CUDA/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

static bool isExtremum(tp::ReductionKind kind) {
  return kind == tp::ReductionKind::Max || kind == tp::ReductionKind::Min;
}

/// The type that elements of type `element` are reduced in.
static Type reducedType(Type element, tp::ReductionKind kind) {
  MLIRContext *context = element.getContext();
  if (isa<FloatType>(element) && isExtremum(kind))
    return IntegerType::get(context, element.isF64() ? 64 : 32);
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    return Float32Type::get(context);
  return element.isInteger(16) ? IntegerType::get(context, 32) : element;
}

/// The float format whose bits are ordered as `key`.
static FloatType orderedFormat(IntegerType key) {
  return key.getWidth() == 64 ? FloatType(Float64Type::get(key.getContext()))
                              : FloatType(Float32Type::get(key.getContext()));
}

static Value integer(ImplicitLocOpBuilder &b, IntegerType type,
                     const APInt &value) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}

/// Turns the order of negative numbers around; its own inverse, since the sign
/// stays.
static Value turnNegative(ImplicitLocOpBuilder &b, Value bits) {
  auto type = cast<IntegerType>(bits.getType());
  unsigned width = type.getWidth();
  Value signs = arith::ShRSIOp::create(
      b, bits, integer(b, type, APInt(width, width - 1)));
  Value magnitude = arith::AndIOp::create(
      b, signs, integer(b, type, APInt::getSignedMaxValue(width)));
  return arith::XOrIOp::create(b, bits, magnitude);
}

static Value keyOf(ImplicitLocOpBuilder &b, Value number, IntegerType key,
                   bool isMax) {
  FloatType format = orderedFormat(key);
  if (number.getType() != format)
    number = arith::ExtFOp::create(b, format, number);
  Value ordered = turnNegative(b, arith::BitcastOp::create(b, key, number));
  Value isNan =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, number, number);
  APInt beyond = isMax ? APInt::getSignedMaxValue(key.getWidth())
                       : APInt::getSignedMinValue(key.getWidth());
  return arith::SelectOp::create(b, isNan, integer(b, key, beyond), ordered);
}

static Value numberOf(ImplicitLocOpBuilder &b, Value key, FloatType type) {
  FloatType format = orderedFormat(cast<IntegerType>(key.getType()));
  Value number = arith::BitcastOp::create(b, format, turnNegative(b, key));
  if (format == type)
    return number;
  return arith::TruncFOp::create(b, type, number);
}

/// `element` in the type that it is reduced in.
static Value toReduced(ImplicitLocOpBuilder &b, Value element, Type type,
                       tp::ReductionKind kind) {
  if (!isa<FloatType>(element.getType()))
    return arith::ExtSIOp::create(b, type, element);
  if (auto key = dyn_cast<IntegerType>(type))
    return keyOf(b, element, key, kind == tp::ReductionKind::Max);
  return arith::ExtFOp::create(b, type, element);
}

static Value fromReduced(ImplicitLocOpBuilder &b, Value reduced, Type type) {
  auto number = dyn_cast<FloatType>(type);
  if (!number)
    return arith::TruncIOp::create(b, type, reduced);
  if (isa<IntegerType>(reduced.getType()))
    return numberOf(b, reduced, number);
  return arith::TruncFOp::create(b, type, reduced);
}

/// The tensor that `element` makes of every element of `value`.
static Value
mapElements(OpBuilder &builder, Location loc, Value value, Type type,
            llvm::function_ref<Value(ImplicitLocOpBuilder &, Value)> element) {
  ArrayRef<int64_t> shape = shapeOf(value);
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type);
  AffineMap map = builder.getMultiDimIdentityMap(shape.size());
  SmallVector<utils::IteratorType> loops(shape.size(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), value, empty,
             ArrayRef<AffineMap>{map, map}, loops,
             [&](OpBuilder &inner, Location at, ValueRange arguments) {
               ImplicitLocOpBuilder b(at, inner);
               linalg::YieldOp::create(b, element(b, arguments[0]));
             })
      ->getResult(0);
}

/// How a collective that reduces combines; nothing for others.
static std::optional<tp::ReductionKind> kindOf(Operation *op) {
  if (auto reduce = dyn_cast<tp::AllReduceOp>(op))
    return reduce.getReduction().getValue();
  if (auto scatter = dyn_cast<tp::ReduceScatterOp>(op))
    return scatter.getReduction().getValue();
  return std::nullopt;
}

static void reduceInLibraryTypes(ModuleOp module) {
  SmallVector<Operation *> collectives;
  module.walk([&](Operation *op) {
    if (kindOf(op))
      collectives.push_back(op);
  });
  for (Operation *op : collectives) {
    tp::ReductionKind kind = *kindOf(op);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Type element = type.getElementType();
    Type reduced = reducedType(element, kind);
    if (reduced == element)
      continue;
    OpBuilder builder(op);
    Value sent = mapElements(builder, op->getLoc(), op->getOperand(0), reduced,
                             [&](ImplicitLocOpBuilder &b, Value number) {
                               return toReduced(b, number, reduced, kind);
                             });
    Operation *collective = builder.clone(*op);
    collective->setOperand(0, sent);
    collective->getResult(0).setType(type.clone(reduced));
    Value result =
        mapElements(builder, op->getLoc(), collective->getResult(0), element,
                    [&](ImplicitLocOpBuilder &b, Value number) {
                      return fromReduced(b, number, element);
                    });
    op->replaceAllUsesWith(ValueRange{result});
    op->erase();
  }
}

/// Whether all reductions of a program on memory are in types that NCCL has.
static LogicalResult checkReductions(ModuleOp module) {
  WalkResult walk = module.walk([&](tp::CommunicateOp op) {
    std::optional<tp::ReductionKind> kind = kindOf(op.getCollective());
    Type element = getElementTypeOrSelf(op.getSource());
    if (!kind || reducedType(element, *kind) == element)
      return WalkResult::advance();
    op.emitOpError("expected a reduction in ")
        << reducedType(element, *kind) << ", got " << element
        << ": run tp-cuda-reduction-types before tp-assign-storage";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

FailureOr<std::unique_ptr<CodegenPlans>>
tp::cuda::planForDevices(ModuleOp module, const TargetTraits &traits) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, linalg::LinalgDialect,
                    tensor::TensorDialect>();
  FailureOr<SmallVector<func::FuncOp>> functions =
      target::entriesOf(module, traits);
  if (failed(functions))
    return failure();
  if (!isProgram(functions->front()))
    reduceInLibraryTypes(module);
  if (failed(checkReductions(module)))
    return failure();
  return planCodegen(module, traits);
}

namespace {
struct ReductionTypesPass
    : tp::impl::CUDAReductionTypesBase<ReductionTypesPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, linalg::LinalgDialect,
                    tensor::TensorDialect>();
  }
  void runOnOperation() override { reduceInLibraryTypes(getOperation()); }
};
} // namespace
