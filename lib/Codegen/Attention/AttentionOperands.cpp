//===- AttentionOperands.cpp - an attention's q, k and v ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp::target;
using Kind = Element::Kind;

/// Which loop of the result goes over queries, and which over v's columns.
bool AttentionMatcher::chooseLoops(ArrayRef<const Element *> masks) {
  uint64_t masked = 0;
  for (const Element *mask : masks)
    masked |= mask->loops;
  form.batch.clear();
  form.valueColumns.clear();
  SmallVector<unsigned> candidates;
  uint64_t headColumns = 0;
  for (unsigned column : form.headColumns)
    headColumns |= uint64_t(1) << column;
  for (unsigned loop = 0; loop < form.numResultLoops; ++loop) {
    if (graph.extent(loop) == 1)
      continue;
    bool inScores = qElement->dependsOn(loop) || kElement->dependsOn(loop) ||
                    (masked >> loop & 1);
    if (!inScores && vElement->dependsOn(loop)) {
      form.valueColumns.push_back(loop);
      continue;
    }
    form.batch.push_back(loop);
    if (qElement->dependsOn(loop) && !kElement->dependsOn(loop) &&
        !vElement->dependsOn(loop))
      candidates.push_back(loop);
  }
  if (candidates.empty() || form.valueColumns.empty() ||
      form.headColumns.empty() || !vElement->dependsOn(form.key) ||
      (vElement->loops & headColumns) || (masked & headColumns))
    return false;
  // The mask tells, or else the order: queries stand before keys.
  SmallVector<unsigned> chosen;
  for (unsigned loop : candidates)
    if (masked >> loop & 1)
      chosen.push_back(loop);
  if (chosen.size() != 1) {
    ArrayRef<unsigned> among = chosen.empty() ? candidates : chosen;
    chosen.assign(1, among.back());
    for (unsigned loop : weightLoops)
      if (llvm::is_contained(among, loop))
        chosen.front() = loop;
  }
  form.query = chosen.front();
  llvm::erase(form.batch, form.query);
  return true;
}

/// Whether `loop` runs along one dimension of the tensor alone, as do columns
/// of q and k, and the tensor is not one that was repeated along a loop it does
/// not have in an attention.
bool AttentionMatcher::fits(const ElementPlace &place, unsigned loop) const {
  auto type = cast<RankedTensorType>(place.tensor.getType());
  if (type.getElementType() != form.elementType)
    return false;
  unsigned found = 0;
  for (AffineExpr expr : place.indices) {
    std::optional<LinearForm> linear = linearForm(expr, graph.numLoops(), 0);
    if (!linear && asTheyAre)
      return false;
    bool isPlain =
        linear && linear->constant >= 0 &&
        llvm::count(linear->dimStrides, 0) + 1 == int64_t(graph.numLoops()) &&
        llvm::is_contained(linear->dimStrides, 1);
    if (expr.isFunctionOfDim(loop)) {
      if (!isa<AffineDimExpr>(expr))
        return false;
      ++found;
    }
    for (unsigned column : form.headColumns)
      if (expr.isFunctionOfDim(column) && !isPlain)
        return false;
    if (loop == form.key ? expr.isFunctionOfDim(form.query)
                         : expr.isFunctionOfDim(form.key))
      return false;
  }
  return found == 1;
}

/// A tensor of the result's type that holds the element, up to a factor, and
/// of which `loop` runs along one dimension. Of several the one nearest to
/// where it is computed: fewer broadcasts and copies lie behind it.
bool AttentionMatcher::choosePlace(const Element *element, unsigned loop,
                                   double *scale, ElementPlace &place) {
  bool found = false;
  double factor = 1.0, atPlace = 1.0;
  while (true) {
    for (const ElementPlace &candidate : graph.placesOf(element)) {
      if (!fits(candidate, loop))
        continue;
      place = candidate;
      atPlace = factor;
      found = true;
      break;
    }
    if (isFreeCast(element)) {
      element = element->operands[0];
      continue;
    }
    if (!scale || element->kind != Kind::Compute)
      break;
    std::optional<double> number;
    const Element *inner = nullptr;
    if (isa<arith::MulFOp>(element->op)) {
      for (unsigned i : {0, 1})
        if (!number &&
            (number = constantOf(withoutCasts(element->operands[i]))))
          inner = element->operands[1 - i];
    } else if (isa<arith::DivFOp>(element->op)) {
      number = constantOf(withoutCasts(element->operands[1]));
      inner = element->operands[0];
      if (number && *number != 0)
        number = 1.0 / *number;
    }
    if (!number || !std::isfinite(*number))
      break;
    factor *= *number;
    element = inner;
  }
  if (scale)
    *scale = atPlace;
  return found;
}

bool AttentionMatcher::choosePlaces() {
  SmallVector<const Element *> masks;
  for (const BiasTerm &term : terms)
    masks.push_back(term.value);
  if (!chooseLoops(masks))
    return false;
  form.elementType =
      cast<RankedTensorType>(form.result.getType()).getElementType();
  if (!form.elementType.isF64() && !form.elementType.isF32() &&
      !form.elementType.isF16() && !form.elementType.isBF16())
    return false;
  form.sumType = form.elementType.isF64()
                     ? form.elementType
                     : Float32Type::get(form.elementType.getContext());
  if (!choosePlace(qElement, form.query, &form.qFactor, form.q) ||
      !choosePlace(kElement, form.key, &form.kFactor, form.k) ||
      !choosePlace(vElement, form.key, /*scale=*/nullptr, form.v))
    return false;
  form.scale *= form.qFactor * form.kFactor;
  form.terms = terms;
  if (!std::isfinite(form.scale))
    return false;
  // Operands are read at linear functions of loops.
  cuts.assign(form.numResultLoops, {});
  SmallVector<SmallVector<int64_t>> all(graph.numLoops());
  bool linear = true;
  for (const ElementPlace *place : {&form.q, &form.k, &form.v})
    for (AffineExpr expr : place->indices) {
      collectCuts(expr, all);
      linear &= linearForm(expr, graph.numLoops(), 0).has_value();
    }
  if (!linear) {
    std::copy(all.begin(), all.begin() + form.numResultLoops, cuts.begin());
    return false;
  }
  return splitMask(form, terms, zeroWithoutKeys, known);
}
