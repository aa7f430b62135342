//===- AffineRange.cpp - affine expressions over known ranges -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/AffineRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

static constexpr AffineBounds anything = {-largestBound, largestBound};

static int64_t limited(std::optional<int64_t> value, bool isNegative) {
  if (!value)
    return isNegative ? -largestBound : largestBound;
  return std::clamp(*value, -largestBound, largestBound);
}

static int64_t limitedSum(int64_t a, int64_t b) {
  return limited(llvm::checkedAdd(a, b), a < 0);
}

static int64_t limitedProduct(int64_t a, int64_t b) {
  return limited(llvm::checkedMul(a, b), (a < 0) != (b < 0));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

AffineSum AffineSum::of(AffineExpr expr) {
  AffineSum sum;
  sum.addAll(expr, 1);
  return sum;
}

void AffineSum::add(AffineExpr base, int64_t factor) {
  for (auto &[b, f] : terms)
    if (b == base) {
      f = limitedSum(f, factor);
      return;
    }
  terms.push_back({base, factor});
}

/// A product by a constant, and that constant.
static std::optional<std::pair<AffineExpr, int64_t>> multipleOf(AffineExpr e) {
  if (e.getKind() != AffineExprKind::Mul)
    return std::nullopt;
  auto product = cast<AffineBinaryOpExpr>(e);
  if (auto c = dyn_cast<AffineConstantExpr>(product.getRHS()))
    return std::pair(product.getLHS(), c.getValue());
  if (auto c = dyn_cast<AffineConstantExpr>(product.getLHS()))
    return std::pair(product.getRHS(), c.getValue());
  return std::nullopt;
}

void AffineSum::addAll(AffineExpr expr, int64_t factor) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant: {
    int64_t value = cast<AffineConstantExpr>(expr).getValue();
    constant = limitedSum(constant, limitedProduct(factor, value));
    return;
  }
  case AffineExprKind::Add: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    addAll(binary.getLHS(), factor);
    addAll(binary.getRHS(), factor);
    return;
  }
  case AffineExprKind::Mul:
    if (auto multiple = multipleOf(expr))
      return addAll(multiple->first, limitedProduct(factor, multiple->second));
    return add(expr, factor);
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId:
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
  case AffineExprKind::Mod:
    return add(expr, factor);
  }
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// The range of a function that has its extremes at the ends of both operands.
static AffineBounds
boundsOfCorners(AffineBounds a, AffineBounds b,
                llvm::function_ref<int64_t(int64_t, int64_t)> function) {
  int64_t corners[] = {function(a.lo, b.lo), function(a.lo, b.hi),
                       function(a.hi, b.lo), function(a.hi, b.hi)};
  auto [lo, hi] = std::minmax_element(std::begin(corners), std::end(corners));
  return {*lo, *hi};
}

static bool holdsZero(AffineBounds range) {
  return range.lo <= 0 && range.hi >= 0;
}

static AffineBounds boundsOfMod(AffineBounds a, AffineBounds b) {
  if (b.lo < 1)
    return anything;
  if (b.lo == b.hi && llvm::divideFloorSigned(a.lo, b.lo) ==
                          llvm::divideFloorSigned(a.hi, b.lo)) {
    int64_t whole = llvm::divideFloorSigned(a.lo, b.lo) * b.lo;
    return {a.lo - whole, a.hi - whole};
  }
  return {0, a.lo >= 0 ? std::min(a.hi, b.hi - 1) : b.hi - 1};
}

AffineBounds tp::boundsOf(const AffineSum &sum, BoundsOfLeaf leaf) {
  AffineBounds range{sum.constant, sum.constant};
  for (auto &[base, factor] : sum.terms) {
    AffineBounds r = boundsOf(base, leaf);
    int64_t a = limitedProduct(r.lo, factor), b = limitedProduct(r.hi, factor);
    range.lo = limitedSum(range.lo, std::min(a, b));
    range.hi = limitedSum(range.hi, std::max(a, b));
  }
  return range;
}

AffineBounds tp::boundsOf(AffineExpr expr, BoundsOfLeaf leaf) {
  auto operands = [&] {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    return std::pair(boundsOf(binary.getLHS(), leaf),
                     boundsOf(binary.getRHS(), leaf));
  };
  switch (expr.getKind()) {
  case AffineExprKind::Constant: {
    int64_t value = limited(cast<AffineConstantExpr>(expr).getValue(), false);
    return {value, value};
  }
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId:
    return leaf(expr);
  case AffineExprKind::Add:
    return boundsOf(AffineSum::of(expr), leaf);
  case AffineExprKind::Mul: {
    if (multipleOf(expr))
      return boundsOf(AffineSum::of(expr), leaf);
    auto [a, b] = operands();
    return boundsOfCorners(a, b, limitedProduct);
  }
  case AffineExprKind::FloorDiv: {
    auto [a, b] = operands();
    return holdsZero(b) ? anything
                        : boundsOfCorners(a, b, [](int64_t x, int64_t y) {
                            return llvm::divideFloorSigned(x, y);
                          });
  }
  case AffineExprKind::CeilDiv: {
    auto [a, b] = operands();
    return holdsZero(b) ? anything
                        : boundsOfCorners(a, b, [](int64_t x, int64_t y) {
                            return llvm::divideCeilSigned(x, y);
                          });
  }
  case AffineExprKind::Mod: {
    auto [a, b] = operands();
    return boundsOfMod(a, b);
  }
  }
  llvm_unreachable("unknown affine expression");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<int64_t>
tp::valueOf(AffineExpr expr, llvm::function_ref<int64_t(AffineExpr)> leaf) {
  std::optional<int64_t> a, b;
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    a = valueOf(binary.getLHS(), leaf);
    b = valueOf(binary.getRHS(), leaf);
    if (!a || !b)
      return std::nullopt;
  }
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return cast<AffineConstantExpr>(expr).getValue();
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId:
    return leaf(expr);
  case AffineExprKind::Add:
    return llvm::checkedAdd(*a, *b);
  case AffineExprKind::Mul:
    return llvm::checkedMul(*a, *b);
  case AffineExprKind::FloorDiv:
    if (*b == 0 || (*a == INT64_MIN && *b == -1))
      return std::nullopt;
    return llvm::divideFloorSigned(*a, *b);
  case AffineExprKind::CeilDiv:
    if (*b == 0 || (*a == INT64_MIN && *b == -1))
      return std::nullopt;
    return llvm::divideCeilSigned(*a, *b);
  case AffineExprKind::Mod:
    if (*b < 1)
      return std::nullopt;
    return llvm::mod(*a, *b);
  }
  llvm_unreachable("unknown affine expression");
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value tp::emitAffine(OpBuilder &builder, Location loc, Type type,
                     AffineExpr expr, BoundsOfLeaf bounds,
                     llvm::function_ref<Value(AffineExpr)> leaf) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  };
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  Value a, b;
  bool isUnsigned = false;
  if (binary) {
    a = emitAffine(builder, loc, type, binary.getLHS(), bounds, leaf);
    b = emitAffine(builder, loc, type, binary.getRHS(), bounds, leaf);
    isUnsigned = boundsOf(binary.getLHS(), bounds).lo >= 0 &&
                 boundsOf(binary.getRHS(), bounds).lo >= 0;
  }
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return number(cast<AffineConstantExpr>(expr).getValue());
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId:
    return leaf(expr);
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, loc, a, b);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, loc, a, b);
  case AffineExprKind::FloorDiv:
    if (isUnsigned)
      return arith::DivUIOp::create(builder, loc, a, b);
    return arith::FloorDivSIOp::create(builder, loc, a, b);
  case AffineExprKind::CeilDiv: {
    if (!isUnsigned)
      return arith::CeilDivSIOp::create(builder, loc, a, b);
    Value most = arith::SubIOp::create(builder, loc, b, number(1));
    Value sum = arith::AddIOp::create(builder, loc, a, most);
    return arith::DivUIOp::create(builder, loc, sum, b);
  }
  case AffineExprKind::Mod: {
    if (isUnsigned)
      return arith::RemUIOp::create(builder, loc, a, b);
    Value quotient = arith::FloorDivSIOp::create(builder, loc, a, b);
    Value whole = arith::MulIOp::create(builder, loc, quotient, b);
    return arith::SubIOp::create(builder, loc, a, whole);
  }
  }
  llvm_unreachable("unknown affine expression");
}
