//===- RowEvaluator.cpp - elements of a row at compile time ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StaticValues.h"
#include "tp/IR/AffineRange.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

bool tp::target::isKnownType(Type type) {
  return type.isIndex() || type.isInteger() || type.isF64() || type.isF32() ||
         type.isF16() || type.isBF16();
}

bool tp::target::numberOf(Attribute attribute, Number &number) {
  if (auto real = dyn_cast<FloatAttr>(attribute)) {
    number.real = real.getValueAsDouble();
    return true;
  }
  auto integer = dyn_cast<IntegerAttr>(attribute);
  if (!integer || integer.getValue().getBitWidth() > 64)
    return false;
  number.integer = integer.getType().isInteger(1)
                       ? integer.getValue().getZExtValue()
                       : integer.getValue().getSExtValue();
  return true;
}

int64_t RowEvaluator::index(AffineExpr expr, int64_t i) const {
  std::optional<int64_t> value = tp::valueOf(expr, [&](AffineExpr leaf) {
    unsigned loop = cast<AffineDimExpr>(leaf).getPosition();
    return loop == along ? i : position[loop];
  });
  // No index divides by 0: tp-verify-legal.
  return value.value_or(-1);
}

/// The values of `expr` along the loop; of the first index alone where they do
/// not vary.
NumberRow RowEvaluator::indices(AffineExpr expr, bool varies) const {
  int64_t size = graph.extent(along), first = index(expr, 0);
  if (!varies || size < 2)
    return {first, 0, size};
  bool divides = false;
  expr.walk([&](AffineExpr inner) {
    divides |= inner.getKind() == AffineExprKind::FloorDiv ||
               inner.getKind() == AffineExprKind::CeilDiv ||
               inner.getKind() == AffineExprKind::Mod;
  });
  int64_t step = index(expr, 1) - first, last;
  bool overflows = llvm::MulOverflow(step, size - 1, last) ||
                   llvm::AddOverflow(first, last, last);
  if (!divides && expr.isPureAffine() && !overflows &&
      index(expr, size - 1) == last)
    return {first, step, size};
  std::vector<Number> numbers(size);
  for (auto [i, number] : llvm::enumerate(numbers))
    number.integer = index(expr, i);
  return NumberRow(std::move(numbers));
}

/// An element of a tensor of constants.
bool RowEvaluator::lookUp(const Element &element, NumberRow &row) {
  const std::vector<Number> *tensor = tensors.find(element.value);
  if (!tensor)
    return false;
  bool isLeaf = element.kind == Element::Kind::Leaf;
  bool varies = element.dependsOn(along);
  SmallVector<NumberRow> indices;
  for (AffineExpr expr : element.indices)
    if (isLeaf)
      indices.push_back(this->indices(expr, varies));
  for (const Element *operand : element.operands) {
    const NumberRow *index = this->row(operand);
    if (!index)
      return false;
    if (!isLeaf)
      indices.push_back(*index);
  }
  int64_t size = varies ? graph.extent(along) : 1;
  std::vector<int64_t> addresses(size, 0);
  for (auto [index, extent] :
       llvm::zip_equal(indices, shapeOf(element.value))) {
    bool isInside = true;
    auto add = [&, extent = extent](int64_t &address, int64_t at) {
      if (at < 0 || at >= extent)
        isInside = false;
      else
        address = address * extent + at;
    };
    if (std::optional<NumberRow::Run> run = index.onlyRun())
      for (auto [i, address] : llvm::enumerate(addresses))
        add(address, run->first.integer + run->step * int64_t(i));
    else
      for (auto [i, address] : llvm::enumerate(addresses))
        add(address, index.at(i).integer);
    if (!isInside)
      return false;
  }
  std::vector<Number> numbers;
  numbers.reserve(size);
  for (int64_t address : addresses)
    numbers.push_back((*tensor)[address]);
  row = varies ? NumberRow(std::move(numbers))
               : NumberRow(numbers.front(), graph.extent(along));
  return true;
}

bool RowEvaluator::evaluate(const Element &element, NumberRow &row) {
  if (!isKnownType(element.type))
    return false;
  int64_t size = graph.extent(along);
  Number number{};
  switch (element.kind) {
  case Element::Kind::Constant: {
    bool isKnown = numberOf(element.constant, number);
    row = NumberRow(number, size);
    return isKnown;
  }
  case Element::Kind::Index:
    row = indices(element.index, element.dependsOn(along));
    return true;
  case Element::Kind::Scalar: {
    std::optional<int64_t> scalar = tensors.findScalar(element.value);
    row = NumberRow(scalar.value_or(0), 0, size);
    return scalar.has_value();
  }
  case Element::Kind::Leaf:
  case Element::Kind::Extract:
    return lookUp(element, row);
  case Element::Kind::Compute: {
    SmallVector<const NumberRow *> operands;
    for (const Element *operand : element.operands) {
      operands.push_back(this->row(operand));
      if (!operands.back())
        return false;
    }
    if (operands.empty())
      return false;
    std::optional<NumberRow> made = NumberRow::compute(element.op, operands);
    if (made)
      row = std::move(*made);
    return made.has_value();
  }
  default:
    return false;
  }
}

const NumberRow *RowEvaluator::row(const Element *element) {
  SmallVector<int64_t> here;
  for (auto [loop, at] : llvm::enumerate(position))
    if (element->dependsOn(loop) && loop != along)
      here.push_back(at);
  auto [it, inserted] = known.try_emplace(element);
  Known &entry = it->second;
  // What is unknown somewhere is taken as unknown everywhere.
  if (inserted || (entry.isStatic && entry.at != here)) {
    entry.at = here;
    entry.isStatic = evaluate(*element, entry.row);
  }
  return entry.isStatic ? &entry.row : nullptr;
}
