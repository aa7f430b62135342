//===- Arithmetic.h - functions in f64 arithmetic ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code that computes functions without a library, in f64 and integers. The
// approximations are those of Sun's fdlibm where a name says so (published at
// netlib.org/fdlibm, freely usable); docs/cuda-kernels.md says how exact each
// is.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MATH_ARITHMETIC_H
#define TP_LIB_CODEGEN_CUDA_MATH_ARITHMETIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace tp::cuda {

/// Scalar arithmetic in f64 and integers.
class Arithmetic {
public:
  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value real(double value) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getF64FloatAttr(value));
  }
  mlir::Value integer(uint64_t value, unsigned width = 64) {
    mlir::Type type = builder.getIntegerType(width);
    return mlir::arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(type, llvm::APInt(width, value)));
  }
  template <typename OpTy> mlir::Value op(mlir::Value a, mlir::Value b) {
    return OpTy::create(builder, loc, a, b);
  }
  template <typename OpTy> mlir::Value to(mlir::Type type, mlir::Value a) {
    return OpTy::create(builder, loc, type, a);
  }
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c) {
    return mlir::math::FmaOp::create(builder, loc, a, b, c);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate kind, mlir::Value a,
                      mlir::Value b) {
    return mlir::arith::CmpFOp::create(builder, loc, kind, a, b);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate kind, mlir::Value a,
                      mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, loc, kind, a, b);
  }
  mlir::Type f64() { return builder.getF64Type(); }
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type i64() { return builder.getI64Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Value narrow(mlir::Value a) {
    return to<mlir::arith::TruncFOp>(f32(), a);
  }
  mlir::Value widen(mlir::Value a) { return to<mlir::arith::ExtFOp>(f64(), a); }

  /// sum of coefficients[i] * x^i.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) {
    mlir::Value sum = real(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, real(coefficient));
    return sum;
  }
  /// 2^k of an i64 within the exponents of normal numbers.
  mlir::Value powerOfTwo(mlir::Value k) {
    mlir::Value bits = op<mlir::arith::ShLIOp>(
        op<mlir::arith::AddIOp>(k, integer(1023)), integer(52));
    return to<mlir::arith::BitcastOp>(f64(), bits);
  }

  mlir::Value add(mlir::Value a, mlir::Value b) {
    return op<mlir::arith::AddFOp>(a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return op<mlir::arith::SubFOp>(a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return op<mlir::arith::MulFOp>(a, b);
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return op<mlir::arith::DivFOp>(a, b);
  }
  mlir::Value magnitude(mlir::Value x) {
    return mlir::math::AbsFOp::create(builder, loc, x);
  }
  mlir::Value root(mlir::Value x) {
    return mlir::math::SqrtOp::create(builder, loc, x);
  }
  mlir::Value withSign(mlir::Value x, mlir::Value of) {
    return mlir::math::CopySignOp::create(builder, loc, x, of);
  }
  mlir::Value isLess(mlir::Value x, double bound) {
    return compare(mlir::arith::CmpFPredicate::OLT, x, real(bound));
  }
  mlir::Value isEqual(mlir::Value x, double value) {
    return compare(mlir::arith::CmpFPredicate::OEQ, x, real(value));
  }
  /// The leading half of the digits.
  mlir::Value leading(mlir::Value x) {
    mlir::Value bits = to<mlir::arith::BitcastOp>(i64(), x);
    return to<mlir::arith::BitcastOp>(
        f64(), op<mlir::arith::AndIOp>(bits, integer(0xffffffff00000000)));
  }

  // Exponentials.cpp. `low` is added to the argument, of which it is a small
  // part; null: nothing.
  mlir::Value exponential(mlir::Value x, mlir::Value low = {});
  mlir::Value exponentialMinusOne(mlir::Value x);
  mlir::Value powerOfTwoOf(mlir::Value x);
  mlir::Value logarithm(mlir::Value x);
  mlir::Value logarithmOfOnePlus(mlir::Value x);
  mlir::Value decimalLogarithm(mlir::Value x);
  mlir::Value binaryLogarithm(mlir::Value x);
  mlir::Value power(mlir::Value x, mlir::Value y);
  /// The same of f32 arguments, for a result that is rounded to f32.
  mlir::Value shortPower(mlir::Value x, mlir::Value y);
  mlir::Value cubeRoot(mlir::Value x);

  mlir::Value specialPower(mlir::Value x, mlir::Value y, mlir::Value result);

  // Hyperbolics.cpp.
  mlir::Value hyperbolicSine(mlir::Value x);
  mlir::Value hyperbolicCosine(mlir::Value x);
  mlir::Value hyperbolicTangent(mlir::Value x);
  mlir::Value areaSine(mlir::Value x);
  mlir::Value areaCosine(mlir::Value x);
  mlir::Value areaTangent(mlir::Value x);

  // Trigonometry.cpp. The remainder of an f32 by pi/2, in f64 from -pi/4 to
  // pi/4, and the number of quarters modulo 4, in i64; of the magnitude.
  std::pair<mlir::Value, mlir::Value> quarters(mlir::Value x);
  mlir::Value sineOfFloat(mlir::Value x, bool cosine);
  /// Sine and cosine of an f64.
  std::pair<mlir::Value, mlir::Value> sineAndCosine(mlir::Value x);
  mlir::Value tangent(mlir::Value x);

  // InverseTrigonometry.cpp.
  mlir::Value arcSine(mlir::Value x);
  mlir::Value arcCosine(mlir::Value x);
  mlir::Value arcTangent(mlir::Value x);
  mlir::Value arcTangent(mlir::Value y, mlir::Value x);

  // ErrorFunction.cpp.
  mlir::Value errorFunction(mlir::Value x, bool complement);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};
} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MATH_ARITHMETIC_H
