//===- ElementSums.cpp - elements as sums of products ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementSums.h"
#include "Attention/AttentionMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tp::target;

/// More are no derivative of a softmax.
static constexpr size_t mostProducts = 8;

ElementProduct ElementProduct::operator*(const ElementProduct &other) const {
  ElementProduct product = *this;
  product.factor *= other.factor;
  for (auto [element, exponent] : other.powers)
    if ((product.powers[element] += exponent) == 0)
      product.powers.erase(element);
  return product;
}

/// The sum with equal products as one.
static ElementSum collected(const ElementSum &sum) {
  ElementSum result;
  for (const ElementProduct &product : sum) {
    auto *same = llvm::find_if(result, [&](const ElementProduct &other) {
      return other.powers == product.powers;
    });
    if (same == result.end())
      result.push_back(product);
    else
      same->factor += product.factor;
  }
  llvm::erase_if(result, [](const ElementProduct &product) {
    return product.factor == 0;
  });
  return result;
}

ElementSum tp::target::operator*(const ElementSum &first,
                                 const ElementSum &second) {
  ElementSum product;
  for (const ElementProduct &a : first)
    for (const ElementProduct &b : second)
      product.push_back(a * b);
  return collected(product);
}

static std::optional<double> constantBehind(const Element *element) {
  return constantOf(withoutCasts(element));
}

namespace {
class SumReader {
public:
  using Known = llvm::function_ref<std::optional<ElementSum>(const Element *)>;
  explicit SumReader(Known known) : known(known) {}

  std::optional<ElementSum> read(const Element *element) {
    element = withoutCasts(element);
    auto it = done.find(element);
    if (it != done.end())
      return it->second;
    std::optional<ElementSum> sum = known(element);
    if (!sum)
      sum = readCompute(element);
    if (sum && sum->size() > mostProducts)
      sum.reset();
    return done[element] = sum;
  }

private:
  std::optional<ElementSum> readCompute(const Element *element) {
    if (std::optional<double> number = constantOf(element))
      return *number == 0 ? ElementSum() : ElementSum{{*number, {}}};
    ElementSum itself = {{1.0, {{element, 1}}}};
    if (element->kind != Element::Kind::Compute)
      return itself;
    auto operand = [&](unsigned number) {
      return read(element->operands[number]);
    };
    if (isa<arith::AddFOp, arith::SubFOp>(element->op))
      return added(operand(0), operand(1),
                   isa<arith::SubFOp>(element->op) ? -1.0 : 1.0);
    if (isa<arith::NegFOp>(element->op))
      return added(ElementSum(), operand(0), -1.0);
    if (isa<arith::MulFOp>(element->op))
      return multiplied(operand(0), operand(1));
    if (isa<math::FmaOp>(element->op))
      return added(operand(2), multiplied(operand(0), operand(1)), 1.0);
    if (isa<arith::DivFOp>(element->op))
      return multiplied(operand(0), inverse(operand(1)));
    return itself;
  }

  static std::optional<ElementSum> added(const std::optional<ElementSum> &a,
                                         const std::optional<ElementSum> &b,
                                         double sign) {
    if (!a || !b)
      return std::nullopt;
    ElementSum sum = *a;
    for (ElementProduct product : *b) {
      product.factor *= sign;
      sum.push_back(product);
    }
    return collected(sum);
  }

  static std::optional<ElementSum>
  multiplied(const std::optional<ElementSum> &a,
             const std::optional<ElementSum> &b) {
    if (!a || !b || a->size() * b->size() > mostProducts)
      return std::nullopt;
    return *a * *b;
  }

  static std::optional<ElementSum>
  inverse(const std::optional<ElementSum> &sum) {
    if (!sum || sum->size() != 1 || sum->front().factor == 0)
      return std::nullopt;
    ElementProduct product;
    product.factor = 1.0 / sum->front().factor;
    for (auto [element, exponent] : sum->front().powers)
      product.powers[element] = -exponent;
    return ElementSum{product};
  }

  Known known;
  std::map<const Element *, std::optional<ElementSum>> done;
};
} // namespace

std::optional<ElementSum> tp::target::sumOf(
    const Element *element,
    llvm::function_ref<std::optional<ElementSum>(const Element *)> known) {
  return SumReader(known).read(element);
}

ScaledElement tp::target::withoutFactors(const Element *element) {
  double factor = 1.0;
  while (true) {
    element = withoutCasts(element);
    if (element->kind != Element::Kind::Compute)
      return {element, factor};
    std::optional<double> number;
    const Element *inner = nullptr;
    if (isa<arith::NegFOp>(element->op)) {
      number = -1.0;
      inner = element->operands[0];
    } else if (isa<arith::MulFOp>(element->op)) {
      for (unsigned i : {0, 1})
        if (!number && (number = constantBehind(element->operands[i])))
          inner = element->operands[1 - i];
    } else if (isa<arith::DivFOp>(element->op)) {
      number = constantBehind(element->operands[1]);
      inner = element->operands[0];
      if (number)
        number = *number == 0 ? std::nullopt : std::optional(1.0 / *number);
    }
    if (!number || !std::isfinite(*number) || *number == 0)
      return {element, factor};
    factor *= *number;
    element = inner;
  }
}
