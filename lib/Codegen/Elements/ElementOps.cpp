//===- ElementOps.cpp - elements back as tensors --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/AffineRange.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// Emits elements in the body of an op.
class BodyBuilder {
public:
  BodyBuilder(OpBuilder &builder, Location loc, const IndexSpace &space,
              ArrayRef<unsigned> loops,
              const llvm::MapVector<const Element *, unsigned> &inputs,
              ValueRange arguments)
      : builder(builder), loc(loc), space(space), loops(loops), inputs(inputs),
        arguments(arguments) {}

  Value emit(const Element *element) {
    Value &value = made[element];
    if (!value)
      value = make(*element);
    return made[element];
  }

private:
  Value index(AffineExpr expr) {
    return tp::emitAffine(
        builder, loc, builder.getIndexType(), expr,
        [&](AffineExpr leaf) {
          IndexRange range = rangeOf(leaf, space);
          return tp::AffineBounds{range.lo, range.hi};
        },
        [&](AffineExpr leaf) -> Value {
          unsigned loop = cast<AffineDimExpr>(leaf).getPosition();
          const unsigned *place = llvm::find(loops, loop);
          if (place == loops.end())
            return arith::ConstantIndexOp::create(builder, loc, 0);
          return linalg::IndexOp::create(builder, loc, place - loops.begin());
        });
  }

  Value make(const Element &element) {
    switch (element.kind) {
    case Element::Kind::Constant:
      return arith::ConstantOp::create(builder, loc, element.constant);
    case Element::Kind::Index:
      return index(element.index);
    case Element::Kind::Leaf:
      return arguments[inputs.lookup(&element)];
    case Element::Kind::Compute: {
      SmallVector<Value> operands;
      for (const Element *operand : element.operands)
        operands.push_back(emit(operand));
      Operation *op = builder.clone(*element.op);
      op->setOperands(operands);
      return op->getResult(0);
    }
    case Element::Kind::Extract: {
      SmallVector<Value> indices;
      for (const Element *operand : element.operands)
        indices.push_back(emit(operand));
      return tensor::ExtractOp::create(builder, loc, element.value, indices);
    }
    default:
      return element.value;
    }
  }

  OpBuilder &builder;
  Location loc;
  const IndexSpace &space;
  ArrayRef<unsigned> loops;
  const llvm::MapVector<const Element *, unsigned> &inputs;
  ValueRange arguments;
  std::map<const Element *, Value> made;
};
} // namespace

linalg::GenericOp tp::target::materialise(
    OpBuilder &builder, Location loc, const ElementGraph &graph,
    ArrayRef<const Element *> elements, ArrayRef<unsigned> loops, Type type,
    function_ref<Value(OpBuilder &, ValueRange)> combine) {
  MLIRContext *context = type.getContext();
  llvm::MapVector<const Element *, unsigned> inputs;
  llvm::DenseSet<const Element *> seen;
  SmallVector<const Element *> work(elements.rbegin(), elements.rend());
  while (!work.empty()) {
    const Element *element = work.pop_back_val();
    if (!seen.insert(element).second)
      continue;
    if (element->kind == Element::Kind::Leaf)
      inputs.insert({element, inputs.size()});
    work.append(element->operands.rbegin(), element->operands.rend());
  }
  Indices places(graph.numLoops(), getAffineConstantExpr(0, context));
  SmallVector<int64_t> shape;
  for (auto [place, loop] : llvm::enumerate(loops)) {
    places[loop] = getAffineDimExpr(place, context);
    shape.push_back(graph.extent(loop));
  }
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (auto [element, number] : inputs) {
    Indices index;
    for (AffineExpr expr : element->indices)
      index.push_back(expr.replaceDims(places));
    tensors.push_back(element->value);
    maps.push_back(AffineMap::get(loops.size(), 0, index, context));
  }
  maps.push_back(AffineMap::getMultiDimIdentityMap(loops.size(), context));
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type);
  SmallVector<utils::IteratorType> iterators(loops.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
      builder, loc, empty.getType(), tensors, empty, maps, iterators,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        BodyBuilder body(inner, loc, graph.space(), loops, inputs, arguments);
        SmallVector<Value> scalars;
        for (const Element *element : elements)
          scalars.push_back(body.emit(element));
        linalg::YieldOp::create(inner, loc, combine(inner, scalars));
      });
}
