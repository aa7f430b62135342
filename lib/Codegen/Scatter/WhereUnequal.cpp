//===- WhereUnequal.cpp - a body where a comparison fails -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WhereUnequal.h"
#include "Elements/CombinerIdentity.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp::target;

/// Whether `accumulator` is never -0.0: one that only adds, and starts from
/// another number. A sum is -0.0 only if both numbers are.
bool WhereUnequal::mayAddZero(Operation *combiner, const Element *accumulator) {
  unsigned number = cast<OpResult>(accumulator->value).getResultNumber();
  if (yielded[number]->op != combiner)
    return false;
  OpOperand *init = op.getDpsInitOperand(number);
  const Element *first =
      graph.element(init->get(), applyMap(op.getMatchingIndexingMap(init),
                                          loops, {}, graph.space()));
  auto constant = dyn_cast_if_present<FloatAttr>(first->constant);
  return constant && !constant.getValue().isNegZero();
}

/// The accumulator, if one of the operands is that and the other one leaves it
/// as it is.
const Element *WhereUnequal::keptBy(Operation *combiner, Known a, Known b) {
  auto keeps = [&](Known kept, Known other) {
    if (!kept.element || kept.element->kind != Element::Kind::Accumulator ||
        !other.constant)
      return false;
    if (identityOf(combiner) == other.constant)
      return true;
    auto number = dyn_cast<FloatAttr>(other.constant);
    return number && number.getValue().isPosZero() &&
           isa<arith::AddFOp>(combiner) && mayAddZero(combiner, kept.element);
  };
  if (keeps(a, b))
    return a.element;
  if (keeps(b, a))
    return b.element;
  // x - 0.0 is x, for both zeros.
  auto zero = dyn_cast_if_present<FloatAttr>(b.constant);
  bool subtractsNothing =
      isa<arith::SubFOp>(combiner) && zero && zero.getValue().isPosZero();
  return subtractsNothing && a.element &&
                 a.element->kind == Element::Kind::Accumulator
             ? a.element
             : nullptr;
}

WhereUnequal::Known WhereUnequal::ofCompute(const Element *element) {
  SmallVector<Known> operands;
  for (const Element *operand : element->operands)
    operands.push_back(of(operand));
  auto bit = [](const Known &known) -> std::optional<bool> {
    auto number = dyn_cast_if_present<IntegerAttr>(known.constant);
    if (!number || !number.getType().isInteger(1))
      return std::nullopt;
    return number.getValue().isOne();
  };
  if (isa<arith::SelectOp>(element->op)) {
    if (std::optional<bool> condition = bit(operands[0]))
      return operands[*condition ? 1 : 2];
    if (operands[1].element == operands[2].element &&
        operands[1].constant == operands[2].constant)
      return operands[1];
  } else if (isa<arith::AndIOp, arith::OrIOp>(element->op)) {
    bool decides = isa<arith::OrIOp>(element->op);
    for (unsigned i : {0, 1})
      if (std::optional<bool> known = bit(operands[i]))
        return operands[*known == decides ? i : 1 - i];
  }
  SmallVector<Attribute> constants;
  for (const Known &operand : operands)
    constants.push_back(operand.constant);
  if (llvm::all_of(constants, [](Attribute constant) { return constant; })) {
    SmallVector<OpFoldResult> folded;
    if (succeeded(element->op->fold(constants, folded)) && folded.size() == 1)
      if (auto constant = dyn_cast_if_present<TypedAttr>(
              dyn_cast<Attribute>(folded.front())))
        return {nullptr, constant};
  }
  if (operands.size() == 2)
    if (const Element *kept = keptBy(element->op, operands[0], operands[1]))
      return {kept, {}};
  return {element, {}};
}

WhereUnequal::Known WhereUnequal::find(const Element *element) {
  if (element == comparison) {
    bool isNotEqual = cast<arith::CmpIOp>(element->op).getPredicate() ==
                      arith::CmpIPredicate::ne;
    return {nullptr, BoolAttr::get(op.getContext(), isNotEqual)};
  }
  switch (element->kind) {
  case Element::Kind::Constant:
    return {nullptr, element->constant};
  case Element::Kind::Compute:
    return ofCompute(element);
  case Element::Kind::Index:
  case Element::Kind::Leaf:
  case Element::Kind::Scalar:
  case Element::Kind::Extract:
  case Element::Kind::Accumulator:
    // One of them may read at another index then, but is no accumulator.
    return {element, {}};
  }
  llvm_unreachable("unknown kind of element");
}

WhereUnequal::Known WhereUnequal::of(const Element *element) {
  auto it = known.find(element);
  if (it != known.end())
    return it->second;
  Known found = find(element);
  return known[element] = found;
}

bool WhereUnequal::keepsAll() {
  for (auto [number, element] : llvm::enumerate(yielded)) {
    Known result = of(element);
    if (!result.element || result.element->kind != Element::Kind::Accumulator ||
        result.element->value != op->getResult(number))
      return false;
  }
  return true;
}
