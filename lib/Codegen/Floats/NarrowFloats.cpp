//===- NarrowFloats.cpp - roundings to f16 and bf16 -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What LLVM makes of these depends on the processor: some round twice, and the
// bf16 instructions of x86 take denormal numbers for zero. Written out, every
// result is the one that is nearest.
//
//===----------------------------------------------------------------------===//

#include "NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// Scalar arithmetic with constants.
class NarrowFloatEmitter {
public:
  NarrowFloatEmitter(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc) {}

  Value integer(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  }
  template <typename OpTy> Value op(Value a, Value b) {
    return OpTy::create(builder, loc, a, b);
  }
  template <typename OpTy> Value op(Value a, int64_t b) {
    return OpTy::create(builder, loc, a, integer(a.getType(), b));
  }
  template <typename OpTy> Value to(Type type, Value a) {
    return OpTy::create(builder, loc, type, a);
  }
  Value bits(Value a) {
    return to<arith::BitcastOp>(
        builder.getIntegerType(a.getType().getIntOrFloatBitWidth()), a);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value compare(arith::CmpFPredicate kind, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, kind, a, b);
  }
  Value compare(arith::CmpIPredicate kind, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, kind, a, b);
  }
  Type f32() { return builder.getF32Type(); }
  Type f64() { return builder.getF64Type(); }

  OpBuilder &builder;
  Location loc;
};
} // namespace

Value tp::target::roundToOdd(OpBuilder &builder, Location loc, Value value) {
  NarrowFloatEmitter e(builder, loc);
  Value nearest = e.to<arith::TruncFOp>(e.f32(), value);
  Value back = e.to<arith::ExtFOp>(e.f64(), nearest);
  auto magnitude = [&](Value x) {
    return e.op<arith::AndIOp>(e.bits(x), INT64_MAX);
  };
  Value isLarger =
      e.compare(arith::CmpIPredicate::ugt, magnitude(back), magnitude(value));
  Value bits = e.bits(nearest);
  Value towardsZero =
      e.op<arith::SubIOp>(bits, e.to<arith::ExtUIOp>(bits.getType(), isLarger));
  Value odd = e.op<arith::OrIOp>(towardsZero, 1);
  // Ordered: NaN stays as it is.
  Value isInexact = e.compare(arith::CmpFPredicate::ONE, back, value);
  return e.to<arith::BitcastOp>(e.f32(), e.select(isInexact, odd, bits));
}

/// a * b + c in f64 rounded to odd, of numbers whose product is exact there.
static Value sumToOdd(NarrowFloatEmitter e, Value product, Value c) {
  Value sum = e.op<arith::AddFOp>(product, c);
  // What rounding the sum left out, exactly.
  Value part = e.op<arith::SubFOp>(sum, product);
  Value error = e.op<arith::AddFOp>(
      e.op<arith::SubFOp>(product, e.op<arith::SubFOp>(sum, part)),
      e.op<arith::SubFOp>(c, part));
  Value zero = arith::ConstantOp::create(e.builder, e.loc,
                                         e.builder.getF64FloatAttr(0.0));
  Value bits = e.bits(sum);
  // Towards zero where the sum is too far from it; then the last bit is set.
  Value opposes = e.compare(arith::CmpIPredicate::slt,
                            e.op<arith::XOrIOp>(bits, e.bits(error)),
                            e.integer(bits.getType(), 0));
  Value towardsZero =
      e.op<arith::SubIOp>(bits, e.to<arith::ExtUIOp>(bits.getType(), opposes));
  Value odd = e.op<arith::OrIOp>(towardsZero, 1);
  // Of infinities and NaN the error is NaN, which is no number to mend by.
  Value isInexact = e.compare(arith::CmpFPredicate::ONE, error, zero);
  return e.to<arith::BitcastOp>(e.f64(), e.select(isInexact, odd, bits));
}

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

static LogicalResult narrowDouble(arith::TruncFOp op,
                                  PatternRewriter &rewriter) {
  if (!op.getIn().getType().isF64() || !isNarrow(op.getType()))
    return failure();
  Value odd = roundToOdd(rewriter, op.getLoc(), op.getIn());
  rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), odd);
  return success();
}

namespace {
/// Integers beyond the digits of f32 reach bf16 by an f64 that holds them, or
/// their leading digits and whether any others are set.
template <typename OpTy> struct NarrowInteger : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Value value = op.getIn();
    constexpr int64_t exactBits = 24;
    if (!op.getType().isBF16() ||
        value.getType().getIntOrFloatBitWidth() <= exactBits)
      return failure();
    NarrowFloatEmitter e(rewriter, op.getLoc());
    if (value.getType().getIntOrFloatBitWidth() > 32)
      value = sticky(e, value);
    Value wide = e.to<OpTy>(e.f64(), value);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }

  static Value sticky(NarrowFloatEmitter e, Value value) {
    constexpr bool isSigned = std::is_same_v<OpTy, arith::SIToFPOp>;
    constexpr int64_t cut = 11;
    Value rest = e.op<arith::AndIOp>(value, (int64_t(1) << cut) - 1);
    Value kept = e.op<arith::SubIOp>(value, rest);
    Value hasRest = e.compare(arith::CmpIPredicate::ne, rest,
                              e.integer(value.getType(), 0));
    Value shown = e.select(hasRest, e.op<arith::OrIOp>(kept, 1 << cut), kept);
    // Small ones are exact as they are.
    constexpr int64_t exact = int64_t(1) << 53;
    Value distance = isSigned ? e.op<arith::AddIOp>(value, exact) : value;
    Value isSmall =
        e.compare(arith::CmpIPredicate::ule, distance,
                  e.integer(value.getType(), isSigned ? 2 * exact : exact));
    return e.select(isSmall, value, shown);
  }
};
} // namespace

/// A product of narrow numbers is exact in f64, so that one rounding is left.
static LogicalResult narrowMultiplyAdd(math::FmaOp op,
                                       PatternRewriter &rewriter) {
  if (!isNarrow(op.getType()))
    return failure();
  NarrowFloatEmitter e(rewriter, op.getLoc());
  auto wide = [&](Value value) { return e.to<arith::ExtFOp>(e.f64(), value); };
  Value product = e.op<arith::MulFOp>(wide(op.getA()), wide(op.getB()));
  Value sum = sumToOdd(e, product, wide(op.getC()));
  rewriter.replaceOpWithNewOp<arith::TruncFOp>(
      op, op.getType(), roundToOdd(rewriter, op.getLoc(), sum));
  return success();
}

/// What is lost is zero.
static Value upperHalf(NarrowFloatEmitter e, Type type, Value value) {
  Value upper = e.op<arith::ShRUIOp>(e.bits(value), 16);
  return e.to<arith::BitcastOp>(
      type, e.to<arith::TruncIOp>(e.builder.getI16Type(), upper));
}

namespace {
/// An op on bf16 in f32: all sums, products, quotients and roots of bf16 that
/// are rounded twice like this are what one rounding gives.
struct WidenBFloat : RewritePattern {
  explicit WidenBFloat(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto isBFloat = [](Type type) { return type.isBF16(); };
    if (!isa_and_present<arith::ArithDialect, math::MathDialect>(
            op->getDialect()) ||
        isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp, arith::ExtFOp,
            arith::TruncFOp, math::FmaOp>(op) ||
        (llvm::none_of(op->getOperandTypes(), isBFloat) &&
         llvm::none_of(op->getResultTypes(), isBFloat)))
      return failure();
    NarrowFloatEmitter e(rewriter, op->getLoc());
    OperationState state(op->getLoc(), op->getName());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    for (Value operand : op->getOperands())
      state.operands.push_back(operand.getType().isBF16()
                                   ? e.to<arith::ExtFOp>(e.f32(), operand)
                                   : operand);
    for (Type type : op->getResultTypes())
      state.types.push_back(type.isBF16() ? e.f32() : type);
    Operation *wide = rewriter.create(state);
    SmallVector<Value> results;
    bool isExact = isa<arith::NegFOp, math::AbsFOp>(op);
    for (auto [result, type] :
         llvm::zip_equal(wide->getResults(), op->getResultTypes()))
      results.push_back(!type.isBF16() ? Value(result)
                        : isExact      ? upperHalf(e, type, result)
                                       : e.to<arith::TruncFOp>(type, result));
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

/// The upper half of an f32, rounded to nearest even; NaN stays NaN.
static LogicalResult roundToBFloat(arith::TruncFOp op,
                                   PatternRewriter &rewriter) {
  Value value = op.getIn();
  if (!op.getType().isBF16() || !value.getType().isF32())
    return failure();
  NarrowFloatEmitter e(rewriter, op.getLoc());
  Value bits = e.bits(value);
  Value upper = e.op<arith::ShRUIOp>(bits, 16);
  Value bias = e.op<arith::AddIOp>(e.op<arith::AndIOp>(upper, 1), 0x7fff);
  Value rounded = e.op<arith::ShRUIOp>(e.op<arith::AddIOp>(bits, bias), 16);
  Value half = e.select(e.compare(arith::CmpFPredicate::UNO, value, value),
                        e.op<arith::OrIOp>(upper, 0x40), rounded);
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(
      op, op.getType(), e.to<arith::TruncIOp>(rewriter.getI16Type(), half));
  return success();
}

/// As an integer, so that LLVM knows no bf16: it would compare numbers that
/// come from bf16 as bf16, one by one.
static LogicalResult widenFromBFloat(arith::ExtFOp op,
                                     PatternRewriter &rewriter) {
  if (!op.getIn().getType().isBF16())
    return failure();
  NarrowFloatEmitter e(rewriter, op.getLoc());
  Value bits = e.to<arith::ExtUIOp>(rewriter.getI32Type(), e.bits(op.getIn()));
  Value wide = e.to<arith::BitcastOp>(e.f32(), e.op<arith::ShLIOp>(bits, 16));
  if (op.getType() != e.f32())
    wide = e.to<arith::ExtFOp>(op.getType(), wide);
  rewriter.replaceOp(op, wide);
  return success();
}

void tp::target::populateSingleRoundings(RewritePatternSet &patterns) {
  patterns.add(narrowDouble)
      .add<NarrowInteger<arith::SIToFPOp>, NarrowInteger<arith::UIToFPOp>>(
          patterns.getContext());
}

void tp::target::populateNarrowArithmetic(RewritePatternSet &patterns) {
  patterns.add(narrowDouble)
      .add(narrowMultiplyAdd)
      .add<WidenBFloat>(patterns.getContext())
      .add(roundToBFloat)
      .add(widenFromBFloat);
}
