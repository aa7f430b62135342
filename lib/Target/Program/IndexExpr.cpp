//===- IndexExpr.cpp - index expressions with known ranges ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tp::target;

IndexSpace IndexSpace::ofExtents(ArrayRef<int64_t> extents) {
  IndexSpace space;
  for (int64_t extent : extents)
    space.dims.push_back({0, extent - 1});
  return space;
}

namespace {
/// A sum of terms; every base is a dim, a symbol, a floordiv or a mod.
struct Sum {
  SmallVector<std::pair<AffineExpr, int64_t>> terms;
  int64_t constant = 0;

  void add(AffineExpr base, int64_t factor) {
    for (auto &[b, f] : terms)
      if (b == base) {
        f += factor;
        return;
      }
    terms.push_back({base, factor});
  }
};
} // namespace

static void flatten(AffineExpr expr, int64_t factor, Sum &sum) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    sum.constant += factor * constant.getValue();
    return;
  }
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    if (expr.getKind() == AffineExprKind::Add) {
      flatten(binary.getLHS(), factor, sum);
      flatten(binary.getRHS(), factor, sum);
      return;
    }
    if (expr.getKind() == AffineExprKind::Mul) {
      if (auto c = dyn_cast<AffineConstantExpr>(binary.getRHS()))
        return flatten(binary.getLHS(), factor * c.getValue(), sum);
      if (auto c = dyn_cast<AffineConstantExpr>(binary.getLHS()))
        return flatten(binary.getRHS(), factor * c.getValue(), sum);
    }
  }
  sum.add(expr, factor);
}

/// x floordiv c scaled by a*c, together with x mod c scaled by a, is a*x.
static void joinDivMod(Sum &sum) {
  for (bool again = true; again;) {
    again = false;
    for (auto &[mod, modFactor] : sum.terms) {
      if (mod.getKind() != AffineExprKind::Mod || modFactor == 0)
        continue;
      auto modExpr = cast<AffineBinaryOpExpr>(mod);
      auto c = dyn_cast<AffineConstantExpr>(modExpr.getRHS());
      if (!c)
        continue;
      for (auto &[div, divFactor] : sum.terms) {
        if (div.getKind() != AffineExprKind::FloorDiv ||
            divFactor != modFactor * c.getValue())
          continue;
        auto divExpr = cast<AffineBinaryOpExpr>(div);
        if (divExpr.getLHS() != modExpr.getLHS() ||
            divExpr.getRHS() != modExpr.getRHS())
          continue;
        AffineExpr joined = modExpr.getLHS();
        int64_t factor = modFactor;
        divFactor = modFactor = 0;
        Sum next;
        next.constant = sum.constant;
        for (auto &[base, f] : sum.terms)
          if (f != 0)
            next.add(base, f);
        flatten(joined, factor, next);
        sum = std::move(next);
        again = true;
        break;
      }
      if (again)
        break;
    }
  }
}

static AffineExpr rebuild(const Sum &sum, MLIRContext *context) {
  AffineExpr result = getAffineConstantExpr(0, context);
  for (auto &[base, factor] : sum.terms)
    if (factor != 0)
      result = result + base * factor;
  return result + sum.constant;
}

static IndexRange rangeOf(const Sum &sum, const IndexSpace &space) {
  IndexRange range{sum.constant, sum.constant};
  for (auto &[base, factor] : sum.terms) {
    IndexRange r = tp::target::rangeOf(base, space);
    int64_t a = r.lo * factor, b = r.hi * factor;
    range.lo += std::min(a, b);
    range.hi += std::max(a, b);
  }
  return range;
}

IndexRange tp::target::rangeOf(AffineExpr expr, const IndexSpace &space) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return space.dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return space.symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto c = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() == AffineExprKind::FloorDiv && c) {
    IndexRange r = rangeOf(binary.getLHS(), space);
    return {llvm::divideFloorSigned(r.lo, c.getValue()),
            llvm::divideFloorSigned(r.hi, c.getValue())};
  }
  if (expr.getKind() == AffineExprKind::Mod && c) {
    IndexRange r = rangeOf(binary.getLHS(), space);
    if (r.lo >= 0 && r.hi < c.getValue())
      return r;
    return {0, c.getValue() - 1};
  }
  Sum sum;
  flatten(expr, 1, sum);
  if (sum.terms.size() == 1 && sum.terms[0].first == expr)
    return {INT32_MIN, INT32_MAX};
  return ::rangeOf(sum, space);
}

/// Divides `sum` by `c`: the quotient, or with `mod` the remainder.
static AffineExpr divide(Sum sum, int64_t c, bool mod, const IndexSpace &space,
                         MLIRContext *context) {
  // Terms that c divides leave: they are whole quotients.
  Sum quotient, rest;
  for (auto &[base, factor] : sum.terms)
    if (factor % c == 0)
      quotient.add(base, factor / c);
    else
      rest.add(base, factor);
  int64_t whole = llvm::divideFloorSigned(sum.constant, c);
  quotient.constant = whole;
  rest.constant = sum.constant - whole * c;

  auto finish = [&](AffineExpr restQuotient, AffineExpr remainder) {
    return mod ? remainder : rebuild(quotient, context) + restQuotient;
  };
  IndexRange r = rangeOf(rest, space);
  int64_t low = llvm::divideFloorSigned(r.lo, c);
  if (low == llvm::divideFloorSigned(r.hi, c))
    return finish(getAffineConstantExpr(low, context),
                  rebuild(rest, context) - low * c);

  // Terms that g divides, plus a part within [0, g), where g divides c.
  for (auto &[unused, g0] : rest.terms) {
    int64_t g = std::gcd(std::abs(g0), c);
    if (g <= 1)
      continue;
    Sum high, lowPart;
    for (auto &[base, factor] : rest.terms)
      if (factor % g == 0)
        high.add(base, factor / g);
      else
        lowPart.add(base, factor);
    int64_t wholeConstant = llvm::divideFloorSigned(rest.constant, g);
    high.constant = wholeConstant;
    lowPart.constant = rest.constant - wholeConstant * g;
    IndexRange lowRange = rangeOf(lowPart, space);
    if (lowRange.lo < 0 || lowRange.hi >= g)
      continue;
    AffineExpr inner = divide(high, c / g, mod, space, context);
    return finish(inner, inner * g + rebuild(lowPart, context));
  }
  AffineExpr operand = rebuild(rest, context);
  return finish(operand.floorDiv(c), operand % c);
}

AffineExpr tp::target::simplify(AffineExpr expr, const IndexSpace &space) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    // A dim of extent one is its only value.
    if (isa<AffineDimExpr, AffineSymbolExpr>(expr)) {
      IndexRange r = rangeOf(expr, space);
      if (r.lo == r.hi)
        return getAffineConstantExpr(r.lo, expr.getContext());
    }
    return expr;
  }
  MLIRContext *context = expr.getContext();
  AffineExpr lhs = simplify(binary.getLHS(), space);
  AffineExpr rhs = simplify(binary.getRHS(), space);
  auto c = dyn_cast<AffineConstantExpr>(rhs);
  bool isDiv = expr.getKind() == AffineExprKind::FloorDiv;
  if ((isDiv || expr.getKind() == AffineExprKind::Mod) && c &&
      c.getValue() > 0) {
    Sum sum;
    flatten(lhs, 1, sum);
    return divide(sum, c.getValue(), !isDiv, space, context);
  }
  AffineExpr combined = getAffineBinaryOpExpr(expr.getKind(), lhs, rhs);
  if (expr.getKind() != AffineExprKind::Add &&
      expr.getKind() != AffineExprKind::Mul)
    return combined;
  Sum sum;
  flatten(combined, 1, sum);
  joinDivMod(sum);
  return rebuild(sum, context);
}

Indices tp::target::simplify(ArrayRef<AffineExpr> exprs,
                             const IndexSpace &space) {
  Indices result;
  for (AffineExpr expr : exprs)
    result.push_back(simplify(expr, space));
  return result;
}

Indices tp::target::applyMap(AffineMap map, ArrayRef<AffineExpr> dims,
                             ArrayRef<AffineExpr> symbols,
                             const IndexSpace &space) {
  Indices result;
  for (AffineExpr expr : map.getResults())
    result.push_back(
        simplify(expr.replaceDimsAndSymbols(dims, symbols), space));
  return result;
}

std::optional<LinearForm>
tp::target::linearForm(AffineExpr expr, unsigned numDims, unsigned numSymbols) {
  Sum sum;
  flatten(expr, 1, sum);
  LinearForm form;
  form.constant = sum.constant;
  form.dimStrides.assign(numDims, 0);
  form.symbolStrides.assign(numSymbols, 0);
  for (auto &[base, factor] : sum.terms) {
    if (auto dim = dyn_cast<AffineDimExpr>(base))
      form.dimStrides[dim.getPosition()] += factor;
    else if (auto symbol = dyn_cast<AffineSymbolExpr>(base))
      form.symbolStrides[symbol.getPosition()] += factor;
    else
      return std::nullopt;
  }
  return form;
}

void tp::target::collectCuts(AffineExpr expr,
                             MutableArrayRef<SmallVector<int64_t>> cuts) {
  expr.walk([&](AffineExpr e) {
    if (e.getKind() != AffineExprKind::FloorDiv &&
        e.getKind() != AffineExprKind::Mod)
      return;
    auto binary = cast<AffineBinaryOpExpr>(e);
    auto dim = dyn_cast<AffineDimExpr>(binary.getLHS());
    auto c = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (dim && c && !llvm::is_contained(cuts[dim.getPosition()], c.getValue()))
      cuts[dim.getPosition()].push_back(c.getValue());
  });
}

Refinement tp::target::refine(ArrayRef<int64_t> extents,
                              ArrayRef<SmallVector<int64_t>> cuts,
                              MLIRContext *context) {
  Refinement result;
  for (auto [i, extent] : llvm::enumerate(extents)) {
    SmallVector<int64_t> chain(cuts[i]);
    llvm::sort(chain);
    SmallVector<int64_t> sizes;
    int64_t inner = 1;
    bool legal = true;
    for (int64_t cut : chain) {
      if (cut <= inner || cut >= extent || cut % inner != 0) {
        legal = cut == inner || cut >= extent;
        if (!legal)
          break;
        continue;
      }
      sizes.push_back(cut / inner);
      inner = cut;
    }
    if (!legal || extent % inner != 0)
      sizes.clear(), inner = 1;
    sizes.push_back(extent / inner);

    AffineExpr old = getAffineConstantExpr(0, context);
    int64_t stride = extent;
    for (int64_t size : llvm::reverse(sizes)) {
      stride = size == 0 ? 1 : stride / size;
      old = old + getAffineDimExpr(result.extents.size(), context) * stride;
      result.extents.push_back(size);
      result.owner.push_back(i);
    }
    result.old.push_back(old);
    result.changed |= sizes.size() > 1;
  }
  return result;
}

AffineMap tp::target::rowMajor(ArrayRef<int64_t> shape, MLIRContext *context) {
  AffineExpr address = getAffineConstantExpr(0, context);
  int64_t stride = 1;
  for (int64_t i = int64_t(shape.size()) - 1; i >= 0; --i) {
    address = getAffineDimExpr(i, context) * stride + address;
    stride *= shape[i];
  }
  return AffineMap::get(shape.size(), 0, address, context);
}

Indices tp::target::identityIndices(unsigned rank, MLIRContext *context) {
  Indices indices;
  for (unsigned i = 0; i < rank; ++i)
    indices.push_back(getAffineDimExpr(i, context));
  return indices;
}
