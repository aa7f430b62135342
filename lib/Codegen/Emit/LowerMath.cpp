//===- LowerMath.cpp - functions of numbers as arithmetic -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerMath.h"
#include "ElementEmitter.h"
#include "Floats/Float8Casts.h"
#include "Floats/NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "tp/IR/CodegenAttributes.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace tp::target;

/// Products by squaring: x^n for a small constant n.
static Value power(OpBuilder &builder, Location loc, Value base, int64_t n) {
  Value result, square = base;
  for (int64_t rest = std::abs(n); rest; rest /= 2) {
    if (rest % 2)
      result =
          result
              ? arith::MulFOp::create(builder, loc, result, square).getResult()
              : square;
    if (rest > 1)
      square = arith::MulFOp::create(builder, loc, square, square);
  }
  Value one = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(base.getType(), 1.0));
  if (!result)
    return one;
  return n < 0 ? arith::DivFOp::create(builder, loc, one, result).getResult()
               : result;
}

static constexpr int64_t maxUnrolledPower = 16;

static LogicalResult expandIntegerPower(math::FPowIOp op,
                                        PatternRewriter &rewriter) {
  APInt exponent;
  if (matchPattern(op.getRhs(), m_ConstantInt(&exponent)) &&
      exponent.abs().ule(maxUnrolledPower)) {
    rewriter.replaceOp(
        op, power(rewriter, op.getLoc(), op.getLhs(), exponent.getSExtValue()));
    return success();
  }
  Value real =
      arith::SIToFPOp::create(rewriter, op.getLoc(), op.getType(), op.getRhs());
  rewriter.replaceOpWithNewOp<math::PowFOp>(op, op.getLhs(), real);
  return success();
}

static LogicalResult expandConstantPower(math::PowFOp op,
                                         PatternRewriter &rewriter) {
  APFloat exponent(0.0);
  if (!matchPattern(op.getRhs(), m_ConstantFloat(&exponent)))
    return failure();
  double n = exponent.convertToDouble();
  if (n != std::trunc(n) || std::abs(n) > maxUnrolledPower)
    return failure();
  rewriter.replaceOp(op, power(rewriter, op.getLoc(), op.getLhs(), int64_t(n)));
  return success();
}

static LogicalResult expandReciprocalRoot(math::RsqrtOp op,
                                          PatternRewriter &rewriter) {
  Value one = arith::ConstantOp::create(
      rewriter, op.getLoc(), rewriter.getFloatAttr(op.getType(), 1.0));
  Value root = math::SqrtOp::create(rewriter, op.getLoc(), op.getOperand());
  rewriter.replaceOpWithNewOp<arith::DivFOp>(op, one, root);
  return success();
}

/// Squares as often as the exponent has bits. Of a negative exponent what is
/// left of 1 / base^-exponent.
static LogicalResult expandPowerOfIntegers(math::IPowIOp op,
                                           PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  Type type = op.getType();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getIntegerAttr(type, value));
  };
  int64_t width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Value zero = number(0), one = number(1), minusOne = number(-1);
  auto loop = scf::ForOp::create(
      rewriter, loc, arith::ConstantIndexOp::create(rewriter, loc, 0),
      arith::ConstantIndexOp::create(rewriter, loc, width),
      arith::ConstantIndexOp::create(rewriter, loc, 1),
      ValueRange{one, op.getLhs(), op.getRhs()},
      [&](OpBuilder &nested, Location loc, Value, ValueRange state) {
        Value bit = arith::AndIOp::create(nested, loc, state[2], one);
        Value isSet = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::ne, bit, zero);
        Value product = arith::MulIOp::create(nested, loc, state[0], state[1]);
        Value next =
            arith::SelectOp::create(nested, loc, isSet, product, state[0]);
        Value square = arith::MulIOp::create(nested, loc, state[1], state[1]);
        Value rest = width == 1
                         ? zero
                         : arith::ShRUIOp::create(nested, loc, state[2], one)
                               .getResult();
        scf::YieldOp::create(nested, loc, ValueRange{next, square, rest});
      });
  auto compare = [&](arith::CmpIPredicate kind, Value a, Value b) -> Value {
    return arith::CmpIOp::create(rewriter, loc, kind, a, b);
  };
  Value isUnit = arith::OrIOp::create(
      rewriter, loc, compare(arith::CmpIPredicate::eq, op.getLhs(), one),
      compare(arith::CmpIPredicate::eq, op.getLhs(), minusOne));
  Value isPositive = compare(arith::CmpIPredicate::sge, op.getRhs(), zero);
  Value holds = arith::OrIOp::create(rewriter, loc, isUnit, isPositive);
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, holds, loop.getResult(0),
                                               zero);
  return success();
}

/// math.isinf and math.isnormal by the magnitude.
static LogicalResult expandIsInfinite(math::IsInfOp op,
                                      PatternRewriter &rewriter) {
  auto type = cast<FloatType>(op.getOperand().getType());
  Value magnitude =
      math::AbsFOp::create(rewriter, op.getLoc(), op.getOperand());
  Value infinity = arith::ConstantOp::create(
      rewriter, op.getLoc(),
      rewriter.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics())));
  rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, arith::CmpFPredicate::OEQ,
                                             magnitude, infinity);
  return success();
}

static LogicalResult expandIsNormal(math::IsNormalOp op,
                                    PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  auto type = cast<FloatType>(op.getOperand().getType());
  const llvm::fltSemantics &format = type.getFloatSemantics();
  Value magnitude = math::AbsFOp::create(rewriter, loc, op.getOperand());
  Value least = arith::ConstantOp::create(
      rewriter, loc,
      rewriter.getFloatAttr(type, APFloat::getSmallestNormalized(format)));
  Value infinity = arith::ConstantOp::create(
      rewriter, loc, rewriter.getFloatAttr(type, APFloat::getInf(format)));
  Value above = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OGE,
                                      magnitude, least);
  Value below = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OLT,
                                      magnitude, infinity);
  rewriter.replaceOpWithNewOp<arith::AndIOp>(op, above, below);
  return success();
}

/// A comparison of widened values with a constant that the narrow type holds
/// exactly needs no widening.
static LogicalResult narrowComparison(arith::CmpFOp op,
                                      PatternRewriter &rewriter) {
  auto widened = op.getLhs().getDefiningOp<arith::ExtFOp>();
  APFloat constant(0.0);
  if (!widened || !matchPattern(op.getRhs(), m_ConstantFloat(&constant)))
    return failure();
  auto narrow = cast<FloatType>(widened.getIn().getType());
  if (isFloat8(narrow))
    return failure();
  bool loses = false;
  constant.convert(narrow.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &loses);
  if (loses)
    return failure();
  Value bound = arith::ConstantOp::create(
      rewriter, op.getLoc(), rewriter.getFloatAttr(narrow, constant));
  rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, op.getPredicate(),
                                             widened.getIn(), bound);
  return success();
}

/// The approximation takes denormal numbers for the smallest normal one:
/// scaled, they have an exponent of their own.
static void scaleDenormals(math::LogOp op) {
  if (!op.getType().isF32())
    return;
  Location loc = op.getLoc();
  OpBuilder builder(op);
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  };
  constexpr int digits = 23;
  Value x = op.getOperand();
  Value isSmall =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x,
                            number(std::numeric_limits<float>::min()));
  Value scaled =
      arith::MulFOp::create(builder, loc, x, number(std::ldexp(1.0f, digits)));
  op->setOperand(0, arith::SelectOp::create(builder, loc, isSmall, scaled, x));
  builder.setInsertionPointAfter(op);
  Value less = arith::SelectOp::create(
      builder, loc, isSmall, number(-digits * std::numbers::ln2_v<float>),
      number(0));
  auto sum = arith::AddFOp::create(builder, loc, op, less);
  op.getResult().replaceAllUsesExcept(sum, sum);
}

/// Some processors stop a program that divides by zero, or the smallest integer
/// by -1. The second wraps here, as sums do; the first is undefined and
/// takes 1.
static void guardDivision(Operation *op) {
  Value divisor = op->getOperand(1);
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  APInt known;
  if (matchPattern(divisor, m_ConstantInt(&known)) && !known.isZero() &&
      !(isSigned && known.isAllOnes()))
    return;
  Location loc = op->getLoc();
  OpBuilder builder(op);
  Type type = divisor.getType();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto isEqual = [&](Value value, APInt number) -> Value {
    Value constant = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(type, number));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 constant);
  };
  Value faults = isEqual(divisor, APInt::getZero(width));
  if (isSigned) {
    Value overflows = arith::AndIOp::create(
        builder, loc,
        isEqual(op->getOperand(0), APInt::getSignedMinValue(width)),
        isEqual(divisor, APInt::getAllOnes(width)));
    faults = arith::OrIOp::create(builder, loc, faults, overflows);
  }
  Value one = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(type, APInt(width, 1)));
  op->setOperand(1,
                 arith::SelectOp::create(builder, loc, faults, one, divisor));
}

/// The status store of a failed check leaves every loop that its condition does
/// not depend on: loops run at least once, and storing again changes nothing.
static void hoistChecks(ModuleOp module) {
  SmallVector<scf::IfOp> checks;
  module.walk([&](scf::IfOp op) {
    if (op->hasAttr(tp::attr::check))
      checks.push_back(op);
  });
  for (scf::IfOp check : checks)
    while (auto loop = dyn_cast<scf::ForOp>(check->getParentOp())) {
      if (!loop.isDefinedOutsideOfLoop(check.getCondition()))
        break;
      check->moveBefore(loop);
    }
}

LogicalResult
tp::target::lowerMath(ModuleOp kernels,
                      llvm::function_ref<void(RewritePatternSet &)> more) {
  MLIRContext *context = kernels.getContext();
  {
    RewritePatternSet patterns(context);
    patterns.add(expandIntegerPower)
        .add(expandConstantPower)
        .add(expandPowerOfIntegers)
        .add(expandReciprocalRoot)
        .add(expandIsInfinite)
        .add(expandIsNormal)
        .add(narrowComparison);
    math::populateExpansionPatterns(patterns, {"clampf"});
    // f16 and bf16 functions go through f32.
    populateFloat8Casts(patterns);
    populateSingleRoundings(patterns);
    populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
    if (failed(applyPatternsGreedily(kernels, std::move(patterns))))
      return failure();
  }
  kernels.walk([](math::LogOp op) { scaleDenormals(op); });
  {
    // Sines keep to the library: the approximation loses digits for large
    // arguments.
    RewritePatternSet patterns(context);
    const StringRef approximated[] = {
        math::ExpOp::getOperationName(),  math::ExpM1Op::getOperationName(),
        math::TanhOp::getOperationName(), math::ErfOp::getOperationName(),
        math::LogOp::getOperationName(),  math::Log1pOp::getOperationName()};
    populateMathPolynomialApproximationPatterns(patterns, [&](StringRef name) {
      return llvm::is_contained(approximated, name);
    });
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (more)
      more(patterns);
    if (failed(applyPatternsGreedily(kernels, std::move(patterns))))
      return failure();
  }
  kernels.walk([](Operation *op) {
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
      guardDivision(op);
  });
  PassManager optimise(context);
  OpPassManager &body = optimise.nest<LLVM::LLVMFuncOp>();
  body.addPass(createCSEPass());
  body.addPass(createLoopInvariantCodeMotionPass());
  if (failed(optimise.run(kernels)))
    return failure();
  hoistChecks(kernels);

  return success();
}
