//===- IndexExpr.cpp - index expressions with known ranges ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexExpr.h"
#include "tp/IR/AffineRange.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tp::target;
using tp::AffineSum;

IndexSpace IndexSpace::ofExtents(ArrayRef<int64_t> extents) {
  IndexSpace space;
  for (int64_t extent : extents)
    space.dims.push_back({0, extent - 1});
  return space;
}

static tp::AffineBounds boundsOfLeaf(AffineExpr leaf, const IndexSpace &space) {
  auto dim = dyn_cast<AffineDimExpr>(leaf);
  const IndexRange &range =
      dim ? space.dims[dim.getPosition()]
          : space.symbols[cast<AffineSymbolExpr>(leaf).getPosition()];
  return {range.lo, range.hi};
}

template <typename Expr>
static IndexRange rangeIn(const Expr &expr, const IndexSpace &space) {
  tp::AffineBounds bounds = tp::boundsOf(
      expr, [&](AffineExpr leaf) { return boundsOfLeaf(leaf, space); });
  return {bounds.lo, bounds.hi};
}

IndexRange tp::target::rangeOf(AffineExpr expr, const IndexSpace &space) {
  return rangeIn(expr, space);
}

/// x floordiv c scaled by a*c, together with x mod c scaled by a, is a*x.
static void joinDivMod(AffineSum &sum) {
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
        AffineSum next;
        next.constant = sum.constant;
        for (auto &[base, f] : sum.terms)
          if (f != 0)
            next.add(base, f);
        next.addAll(joined, factor);
        sum = std::move(next);
        again = true;
        break;
      }
      if (again)
        break;
    }
  }
}

static AffineExpr rebuild(const AffineSum &sum, MLIRContext *context) {
  AffineExpr result = getAffineConstantExpr(0, context);
  for (auto &[base, factor] : sum.terms)
    if (factor != 0)
      result = result + base * factor;
  return result + sum.constant;
}

/// `sum` as c * first + second; `first` has the terms that c divides.
static std::pair<AffineSum, AffineSum> separate(const AffineSum &sum,
                                                int64_t c) {
  AffineSum quotient, rest;
  for (auto &[base, factor] : sum.terms)
    if (factor % c == 0)
      quotient.add(base, factor / c);
    else
      rest.add(base, factor);
  quotient.constant = llvm::divideFloorSigned(sum.constant, c);
  rest.constant = sum.constant - quotient.constant * c;
  return {std::move(quotient), std::move(rest)};
}

/// Divides `sum` by `c`: the quotient, or with `mod` the remainder.
static AffineExpr divide(const AffineSum &sum, int64_t c, bool mod,
                         const IndexSpace &space, MLIRContext *context) {
  // Terms that c divides leave: they are whole quotients.
  auto [quotient, rest] = separate(sum, c);

  auto finish = [&](AffineExpr restQuotient, AffineExpr remainder) {
    return mod ? remainder : rebuild(quotient, context) + restQuotient;
  };
  IndexRange r = rangeIn(rest, space);
  int64_t low = llvm::divideFloorSigned(r.lo, c);
  if (low == llvm::divideFloorSigned(r.hi, c))
    return finish(getAffineConstantExpr(low, context),
                  rebuild(rest, context) - low * c);

  // Terms that g divides, plus a part within [0, g), where g divides c.
  for (auto &[unused, g0] : rest.terms) {
    int64_t g = std::gcd(std::abs(g0), c);
    if (g <= 1)
      continue;
    auto [high, lowPart] = separate(rest, g);
    IndexRange lowRange = rangeIn(lowPart, space);
    if (lowRange.lo < 0 || lowRange.hi >= g)
      continue;
    AffineExpr inner = divide(high, c / g, mod, space, context);
    return finish(inner, inner * g + rebuild(lowPart, context));
  }
  AffineExpr operand = rebuild(rest, context);
  return finish(operand.floorDiv(c), operand % c);
}

/// `a` divided by the constant `c`, rounded down.
static AffineExpr floorDivide(AffineExpr a, int64_t c, const IndexSpace &space,
                              MLIRContext *context) {
  AffineSum sum;
  sum.addAll(a, c < 0 ? -1 : 1);
  return divide(sum, std::abs(c), /*mod=*/false, space, context);
}

AffineExpr tp::target::simplify(AffineExpr expr, const IndexSpace &space) {
  MLIRContext *context = expr.getContext();
  AffineExpr lhs, rhs;
  AffineConstantExpr c;
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    lhs = simplify(binary.getLHS(), space);
    rhs = simplify(binary.getRHS(), space);
    c = dyn_cast<AffineConstantExpr>(rhs);
  }
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return expr;
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId: {
    // A dim of extent one is its only value.
    IndexRange r = rangeOf(expr, space);
    return r.lo == r.hi ? getAffineConstantExpr(r.lo, context) : expr;
  }
  case AffineExprKind::Add:
  case AffineExprKind::Mul: {
    AffineSum sum =
        AffineSum::of(getAffineBinaryOpExpr(expr.getKind(), lhs, rhs));
    joinDivMod(sum);
    return rebuild(sum, context);
  }
  case AffineExprKind::FloorDiv:
    if (c && c.getValue() != 0)
      return floorDivide(lhs, c.getValue(), space, context);
    return lhs.floorDiv(rhs);
  case AffineExprKind::CeilDiv:
    // Rounded up is the negative of the negative rounded down.
    if (c && c.getValue() > 0)
      return floorDivide(lhs + (c.getValue() - 1), c.getValue(), space,
                         context);
    if (c && c.getValue() < 0)
      return simplify(-lhs.floorDiv(-c.getValue()), space);
    return lhs.ceilDiv(rhs);
  case AffineExprKind::Mod:
    if (c && c.getValue() > 0)
      return divide(AffineSum::of(lhs), c.getValue(), /*mod=*/true, space,
                    context);
    return lhs % rhs;
  }
  llvm_unreachable("unknown affine expression");
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
  AffineSum sum = AffineSum::of(expr);
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

/// Whether an expression of this kind is simpler for the parts of a loop that
/// is split where it divides.
static bool cuts(AffineExprKind kind) {
  switch (kind) {
  case AffineExprKind::FloorDiv:
  case AffineExprKind::Mod:
    return true;
  // It takes both parts: the inner one says whether it rounds up.
  case AffineExprKind::CeilDiv:
  case AffineExprKind::Add:
  case AffineExprKind::Mul:
  case AffineExprKind::Constant:
  case AffineExprKind::DimId:
  case AffineExprKind::SymbolId:
    return false;
  }
  llvm_unreachable("unknown affine expression");
}

void tp::target::collectCuts(AffineExpr expr,
                             MutableArrayRef<SmallVector<int64_t>> found) {
  expr.walk([&](AffineExpr e) {
    if (!cuts(e.getKind()))
      return;
    auto binary = cast<AffineBinaryOpExpr>(e);
    auto dim = dyn_cast<AffineDimExpr>(binary.getLHS());
    auto c = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (dim && c && c.getValue() > 0 &&
        !llvm::is_contained(found[dim.getPosition()], c.getValue()))
      found[dim.getPosition()].push_back(c.getValue());
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

Refinement Refinement::none(ArrayRef<int64_t> extents, MLIRContext *context) {
  return refine(extents, SmallVector<SmallVector<int64_t>>(extents.size()),
                context);
}

bool Refinement::splitAt(ArrayRef<SmallVector<int64_t>> cuts,
                         MLIRContext *context) {
  Refinement finer = refine(extents, cuts, context);
  if (!finer.changed)
    return false;
  IndexSpace space = IndexSpace::ofExtents(finer.extents);
  for (AffineExpr &expr : old)
    expr = simplify(expr.replaceDims(finer.old), space);
  for (unsigned &split : finer.owner)
    split = owner[split];
  owner = finer.owner;
  extents = finer.extents;
  return changed = true;
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
