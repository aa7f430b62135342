//===- DeviceMath.cpp - functions that no instruction computes ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceMath.h"
#include "Arithmetic.h"

using namespace mlir;

using namespace tp::cuda;

namespace {
/// An op on f64, or on f32 whose result is rounded once.
template <typename OpTy, typename Compute>
struct Expand : OpRewritePattern<OpTy> {
  Expand(MLIRContext *context, Compute compute, bool isDouble, bool isFloat)
      : OpRewritePattern<OpTy>(context), compute(compute), isDouble(isDouble),
        isFloat(isFloat) {}
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    if (!(type.isF64() && isDouble) && !(type.isF32() && isFloat))
      return failure();
    Arithmetic arithmetic(rewriter, op.getLoc());
    SmallVector<Value> operands(op->getOperands());
    if (type.isF32())
      for (Value &operand : operands)
        operand = arithmetic.widen(operand);
    Value result = compute(arithmetic, operands);
    rewriter.replaceOp(op, type.isF32() ? arithmetic.narrow(result) : result);
    return success();
  }
  Compute compute;
  bool isDouble, isFloat;
};

/// sin and cos of f32 need fewer digits of pi.
template <typename OpTy, bool cosine>
struct SineOfFloat : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Arithmetic arithmetic(rewriter, op.getLoc());
    rewriter.replaceOp(op, arithmetic.sineOfFloat(op.getOperand(), cosine));
    return success();
  }
};

struct SineAndCosine : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Value sine = math::SinOp::create(rewriter, op.getLoc(), op.getOperand());
    Value cosine = math::CosOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOp(op, {sine, cosine});
    return success();
  }
};
} // namespace

void tp::cuda::populateDeviceMath(RewritePatternSet &patterns) {
  using A = Arithmetic;
  using X = ArrayRef<Value>;
  MLIRContext *context = patterns.getContext();
  auto add = [&]<typename OpTy>(auto compute, bool isDouble, bool isFloat) {
    patterns.add(std::make_unique<Expand<OpTy, decltype(compute)>>(
        context, compute, isDouble, isFloat));
  };
  auto ofDouble = [&]<typename OpTy>(auto compute) {
    add.template operator()<OpTy>(compute, true, false);
  };
  auto ofFloat = [&]<typename OpTy>(auto compute) {
    add.template operator()<OpTy>(compute, false, true);
  };
  auto ofBoth = [&]<typename OpTy>(auto compute) {
    add.template operator()<OpTy>(compute, true, true);
  };
  ofDouble.operator()<math::ExpOp>(
      [](A &a, X x) { return a.exponential(x[0]); });
  ofDouble.operator()<math::LogOp>([](A &a, X x) { return a.logarithm(x[0]); });
  ofDouble.operator()<math::ExpM1Op>(
      [](A &a, X x) { return a.exponentialMinusOne(x[0]); });
  ofDouble.operator()<math::Log1pOp>(
      [](A &a, X x) { return a.logarithmOfOnePlus(x[0]); });
  ofDouble.operator()<math::TanhOp>(
      [](A &a, X x) { return a.hyperbolicTangent(x[0]); });
  ofDouble.operator()<math::ErfOp>(
      [](A &a, X x) { return a.errorFunction(x[0], /*complement=*/false); });
  ofDouble.operator()<math::SinOp>(
      [](A &a, X x) { return a.sineAndCosine(x[0]).first; });
  ofDouble.operator()<math::CosOp>(
      [](A &a, X x) { return a.sineAndCosine(x[0]).second; });
  ofDouble.operator()<math::PowFOp>(
      [](A &a, X x) { return a.power(x[0], x[1]); });
  ofFloat.operator()<math::PowFOp>(
      [](A &a, X x) { return a.shortPower(x[0], x[1]); });
  ofBoth.operator()<math::TanOp>([](A &a, X x) { return a.tangent(x[0]); });
  ofBoth.operator()<math::Exp2Op>(
      [](A &a, X x) { return a.powerOfTwoOf(x[0]); });
  ofBoth.operator()<math::Log2Op>(
      [](A &a, X x) { return a.binaryLogarithm(x[0]); });
  ofBoth.operator()<math::Log10Op>(
      [](A &a, X x) { return a.decimalLogarithm(x[0]); });
  ofBoth.operator()<math::CbrtOp>([](A &a, X x) { return a.cubeRoot(x[0]); });
  ofBoth.operator()<math::SinhOp>(
      [](A &a, X x) { return a.hyperbolicSine(x[0]); });
  ofBoth.operator()<math::CoshOp>(
      [](A &a, X x) { return a.hyperbolicCosine(x[0]); });
  ofBoth.operator()<math::AsinhOp>([](A &a, X x) { return a.areaSine(x[0]); });
  ofBoth.operator()<math::AcoshOp>(
      [](A &a, X x) { return a.areaCosine(x[0]); });
  ofBoth.operator()<math::AtanhOp>(
      [](A &a, X x) { return a.areaTangent(x[0]); });
  ofBoth.operator()<math::AsinOp>([](A &a, X x) { return a.arcSine(x[0]); });
  ofBoth.operator()<math::AcosOp>([](A &a, X x) { return a.arcCosine(x[0]); });
  ofBoth.operator()<math::AtanOp>([](A &a, X x) { return a.arcTangent(x[0]); });
  ofBoth.operator()<math::Atan2Op>(
      [](A &a, X x) { return a.arcTangent(x[0], x[1]); });
  ofBoth.operator()<math::ErfcOp>(
      [](A &a, X x) { return a.errorFunction(x[0], /*complement=*/true); });
  patterns.add<SineOfFloat<math::SinOp, false>, SineOfFloat<math::CosOp, true>,
               SineAndCosine>(context);
}
