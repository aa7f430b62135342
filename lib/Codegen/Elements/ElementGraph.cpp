//===- ElementGraph.cpp - how an element is computed ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tp::target;

unsigned ElementGraph::addLoop(int64_t extent) {
  loopSpace.dims.push_back({0, extent - 1});
  return loopSpace.dims.size() - 1;
}

AffineExpr ElementGraph::loop(unsigned number) const {
  return simplify(getAffineDimExpr(number, context), loopSpace);
}

uint64_t ElementGraph::loopsOf(ArrayRef<AffineExpr> exprs) const {
  uint64_t loops = 0;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr part) {
      if (auto dim = dyn_cast<AffineDimExpr>(part))
        loops |= uint64_t(1) << dim.getPosition();
    });
  return loops;
}

const Element *ElementGraph::intern(Element element) {
  Key key = {reinterpret_cast<const void *>(element.kind),
             element.type.getAsOpaquePointer(),
             element.constant ? element.constant.getAsOpaquePointer() : nullptr,
             element.index ? element.index.getAsOpaquePointer() : nullptr,
             element.value.getAsOpaquePointer()};
  for (AffineExpr expr : element.indices)
    key.push_back(expr.getAsOpaquePointer());
  if (element.op) {
    key.push_back(element.op->getName().getAsOpaquePointer());
    key.push_back(element.op->getAttrDictionary().getAsOpaquePointer());
  }
  key.insert(key.end(), element.operands.begin(), element.operands.end());
  const Element *&found = interned[key];
  if (!found) {
    element.number = elements.size();
    elements.push_back(std::move(element));
    found = &elements.back();
  }
  return found;
}

const Element *ElementGraph::leaf(Value tensor, const Indices &index) {
  Element element;
  element.kind = Element::Kind::Leaf;
  element.type = cast<RankedTensorType>(tensor.getType()).getElementType();
  element.value = tensor;
  element.indices = index;
  element.loops = loopsOf(index);
  return intern(std::move(element));
}

const Element *ElementGraph::indexElement(AffineExpr expr, Type type) {
  Element element;
  element.kind = Element::Kind::Index;
  element.type = type;
  element.index = simplify(expr, loopSpace);
  element.loops = loopsOf(element.index);
  return intern(std::move(element));
}

const Element *ElementGraph::compute(Operation *op,
                                     ArrayRef<const Element *> operands) {
  SmallVector<Attribute> constants;
  for (const Element *operand : operands)
    constants.push_back(operand->kind == Element::Kind::Constant
                            ? Attribute(operand->constant)
                            : Attribute());
  // A fold with an operand that is no constant may give one of the operands of
  // `op`, which stand for others here.
  if (llvm::all_of(constants, [](Attribute constant) { return constant; })) {
    SmallVector<OpFoldResult> folded;
    if (succeeded(op->fold(constants, folded)) && folded.size() == 1)
      if (auto constant = dyn_cast_if_present<TypedAttr>(
              dyn_cast<Attribute>(folded.front()))) {
        Element element;
        element.type = constant.getType();
        element.constant = constant;
        return intern(std::move(element));
      }
  }
  Element element;
  element.kind = Element::Kind::Compute;
  element.type = op->getResult(0).getType();
  element.op = op;
  element.operands.assign(operands.begin(), operands.end());
  for (const Element *operand : operands)
    element.loops |= operand->loops;
  return intern(std::move(element));
}

/// Ops of one scalar that have no effects and no body.
static bool isScalarOp(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         isMemoryEffectFree(op) && !isa<TensorType>(op->getResult(0).getType());
}

const Element *ElementGraph::scalar(Value value) {
  Element element;
  element.type = value.getType();
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    if (auto typed = dyn_cast<TypedAttr>(constant)) {
      element.constant = typed;
      return intern(std::move(element));
    }
  Operation *op = value.getDefiningOp();
  if (op && isa_and_present<arith::ArithDialect>(op->getDialect()) &&
      isScalarOp(op)) {
    SmallVector<const Element *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(scalar(operand));
    return compute(op, operands);
  }
  element.kind = Element::Kind::Scalar;
  element.value = value;
  return intern(std::move(element));
}

const Element *
ElementGraph::inBody(linalg::LinalgOp op, Value value, const Indices &loops,
                     llvm::DenseMap<Value, const Element *> &inner) {
  if (const Element *found = inner.lookup(value))
    return found;
  const Element *result = nullptr;
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *definition = value.getDefiningOp();
  if (argument && argument.getOwner() == op.getBlock()) {
    OpOperand *operand = operandOfArgument(op, argument);
    if (!isa<RankedTensorType>(operand->get().getType())) {
      result = scalar(operand->get());
    } else if (op.isDpsInit(operand) && !isElementwise(op)) {
      Element element;
      element.kind = Element::Kind::Accumulator;
      element.type = value.getType();
      element.value =
          op->getResult(operand->getOperandNumber() - op.getNumDpsInputs());
      result = intern(std::move(element));
    } else {
      result =
          element(operand->get(), applyMap(op.getMatchingIndexingMap(operand),
                                           loops, {}, loopSpace));
    }
  } else if (argument || definition->getBlock() != op.getBlock()) {
    result = isa<TensorType>(value.getType()) ? nullptr : scalar(value);
  } else if (auto index = dyn_cast<linalg::IndexOp>(definition)) {
    result = indexElement(loops[index.getDim()], value.getType());
  } else {
    auto extract = dyn_cast<tensor::ExtractOp>(definition);
    if (!extract && !isScalarOp(definition))
      return nullptr;
    SmallVector<const Element *> operands;
    for (Value operand : extract ? ValueRange(extract.getIndices())
                                 : ValueRange(definition->getOperands())) {
      const Element *made = inBody(op, operand, loops, inner);
      if (!made)
        return nullptr;
      operands.push_back(made);
    }
    if (extract) {
      Element element;
      element.kind = Element::Kind::Extract;
      element.type = value.getType();
      element.value = extract.getTensor();
      element.operands = operands;
      for (const Element *operand : operands)
        element.loops |= operand->loops;
      result = intern(std::move(element));
    } else if (Attribute constant; matchPattern(value, m_Constant(&constant))) {
      result = scalar(value);
    } else {
      result = compute(definition, operands);
    }
  }
  inner[value] = result;
  return result;
}

const Element *ElementGraph::yielded(linalg::LinalgOp op, unsigned result,
                                     const Indices &loops, bool mayCheck) {
  if (!mayCheck && llvm::any_of(*op.getBlock(), [](Operation &inner) {
        return inner.getNumResults() == 0 &&
               !inner.hasTrait<OpTrait::IsTerminator>();
      }))
    return nullptr;
  return inBody(op, op.getBlock()->getTerminator()->getOperand(result), loops);
}

const Element *ElementGraph::find(Value tensor, const Indices &index) {
  if (std::optional<View> view = viewOf(tensor)) {
    if (!view->symbols.values.empty())
      return leaf(tensor, index);
    return element(view->source, applyMap(view->map, index, {}, loopSpace));
  }
  if (std::optional<Splat> splat = splatOf(tensor)) {
    if (splat->scalar)
      return scalar(splat->scalar);
    Element element;
    element.type = splat->constant.getType();
    element.constant = splat->constant;
    return intern(std::move(element));
  }
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() || !isElementwise(op))
    return leaf(tensor, index);
  unsigned number = cast<OpResult>(tensor).getResultNumber();
  std::optional<Indices> loops = loopsOfElement(op, number, index);
  const Element *result = loops ? yielded(op, number, *loops) : nullptr;
  return result ? result : leaf(tensor, index);
}

const Element *ElementGraph::element(Value tensor, const Indices &index) {
  Indices simple = simplify(index, loopSpace);
  Key key = {tensor.getAsOpaquePointer()};
  for (AffineExpr expr : simple)
    key.push_back(expr.getAsOpaquePointer());
  auto it = known.find(key);
  if (it != known.end())
    return it->second;
  const Element *found = find(tensor, simple);
  known[key] = found;
  places[found].push_back({tensor, simple});
  return found;
}

ArrayRef<ElementPlace> ElementGraph::placesOf(const Element *element) const {
  auto it = places.find(element);
  return it == places.end() ? ArrayRef<ElementPlace>() : it->second;
}
