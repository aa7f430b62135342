//===- ScatterFinder.cpp - reductions that are scatters -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterFinder.h"
#include "Elements/LoopSum.h"
#include "WhereUnequal.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/AffineRange.h"

using namespace mlir;
using namespace tp::target;

/// Below this many iterations of the scattered loops, to ask all of them costs
/// as little as to find the one.
static constexpr int64_t leastIterations = 8;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {
/// Writes elements of a graph as ops of a body, whose loops are the graph's.
class PlaceBuilder {
public:
  PlaceBuilder(const ElementGraph &graph, OpBuilder &builder, Location loc)
      : graph(graph), builder(builder), loc(loc) {}

  /// The iteration of `loop` in which `a` equals `b`, as an i64; null if that
  /// is not known.
  Value indexWhereEqual(unsigned loop, const Element *a, const Element *b);

private:
  std::optional<LoopSum> sumOf(unsigned loop, const Element *element);
  Value write(const Element *element);
  Value make(const Element *element);
  Value index(AffineExpr expr);

  const ElementGraph &graph;
  OpBuilder &builder;
  Location loc;
  llvm::DenseMap<const Element *, Value> written;
};
} // namespace

Value PlaceBuilder::index(AffineExpr expr) {
  return tp::emitAffine(
      builder, loc, builder.getIndexType(), expr,
      [&](AffineExpr leaf) {
        unsigned loop = cast<AffineDimExpr>(leaf).getPosition();
        return tp::AffineBounds{0, graph.extent(loop) - 1};
      },
      [&](AffineExpr leaf) -> Value {
        return linalg::IndexOp::create(builder, loc,
                                       cast<AffineDimExpr>(leaf).getPosition());
      });
}

Value PlaceBuilder::make(const Element *element) {
  SmallVector<Value> operands;
  for (const Element *operand : element->operands) {
    operands.push_back(write(operand));
    if (!operands.back())
      return {};
  }
  switch (element->kind) {
  case Element::Kind::Constant:
    return arith::ConstantOp::create(builder, loc, element->constant);
  case Element::Kind::Index:
    return index(element->index);
  case Element::Kind::Scalar:
    return element->value;
  case Element::Kind::Leaf: {
    SmallVector<Value> at;
    for (AffineExpr expr : element->indices)
      at.push_back(index(expr));
    return tensor::ExtractOp::create(builder, loc, element->value, at);
  }
  case Element::Kind::Extract:
    return tensor::ExtractOp::create(builder, loc, element->value, operands);
  case Element::Kind::Compute: {
    Operation *copy = builder.clone(*element->op);
    copy->setOperands(operands);
    return copy->getResult(0);
  }
  case Element::Kind::Accumulator:
    return {};
  }
  llvm_unreachable("unknown kind of element");
}

Value PlaceBuilder::write(const Element *element) {
  auto it = written.find(element);
  if (it != written.end())
    return it->second;
  Value made = make(element);
  return written[element] = made;
}

std::optional<LoopSum> PlaceBuilder::sumOf(unsigned loop,
                                           const Element *element) {
  if (!element->dependsOn(loop)) {
    Value scalar = write(element);
    return scalar ? std::optional(LoopSum{std::nullopt, scalar}) : std::nullopt;
  }
  if (element->kind == Element::Kind::Index) {
    AffineExpr rest = simplify(
        element->index - getAffineDimExpr(loop, element->index.getContext()),
        graph.space());
    if (rest.isFunctionOfDim(loop))
      return std::nullopt;
    bool isZero = rest == getAffineConstantExpr(0, rest.getContext());
    return LoopSum{loop, isZero ? Value() : index(rest)};
  }
  if (element->kind != Element::Kind::Compute)
    return std::nullopt;
  SmallVector<LoopSum> operands;
  for (const Element *operand : element->operands) {
    std::optional<LoopSum> sum = sumOf(loop, operand);
    if (!sum)
      return std::nullopt;
    operands.push_back(*sum);
  }
  return sumOfOp(builder, loc, element->op, operands,
                 [&](unsigned number) { return graph.extent(number); });
}

Value PlaceBuilder::indexWhereEqual(unsigned loop, const Element *a,
                                    const Element *b) {
  std::optional<LoopSum> sum = sumOf(loop, a);
  Value number = sum && sum->loop ? write(b) : Value();
  if (!number || (!number.getType().isIndex() &&
                  number.getType().getIntOrFloatBitWidth() > 64))
    return {};
  Value place = tp::target::indexWhereEqual(builder, loc, *sum, number);
  Type i64 = builder.getI64Type();
  if (place.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, i64, place);
  if (place.getType() == i64)
    return place;
  return arith::ExtSIOp::create(builder, loc, i64, place);
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

namespace {
class ScatterFinder {
public:
  ScatterFinder(OpBuilder &builder, linalg::LinalgOp op)
      : builder(builder), op(op), extents(op.getStaticLoopRanges()),
        graph(op.getContext()) {}

  Scatter find();

private:
  SmallVector<const Element *> comparisons() const;
  bool scatter(const Element *comparison);
  Value placeOf(unsigned loop, const Element *a, const Element *b);

  OpBuilder &builder;
  linalg::LinalgOp op;
  SmallVector<int64_t> extents;
  ElementGraph graph;
  Indices loops;
  SmallVector<const Element *> yielded;
  Scatter found;
  /// The loops that are scattered, and those that places and checks depend on,
  /// as bits.
  uint64_t scattered = 0, read = 0;
};
} // namespace

/// The elements, and all that they are computed from.
static llvm::SetVector<const Element *>
withOperands(ArrayRef<const Element *> of) {
  llvm::SetVector<const Element *> elements(of.begin(), of.end());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Element *element = elements[i];
    elements.insert_range(element->operands);
  }
  return elements;
}

/// The comparisons of integers for equality that the body depends on, in order.
SmallVector<const Element *> ScatterFinder::comparisons() const {
  llvm::SetVector<const Element *> elements = withOperands(yielded);
  SmallVector<const Element *> result;
  for (const Element *element : elements) {
    auto compare = dyn_cast_if_present<arith::CmpIOp>(element->op);
    if (compare && (compare.getPredicate() == arith::CmpIPredicate::eq ||
                    compare.getPredicate() == arith::CmpIPredicate::ne))
      result.push_back(element);
  }
  llvm::sort(result, [](const Element *a, const Element *b) {
    return a->number < b->number;
  });
  return result;
}

/// A tensor of the iterations of `loop` in which `a` equals `b`; null if that
/// is not known.
Value ScatterFinder::placeOf(unsigned loop, const Element *a,
                             const Element *b) {
  Location loc = op.getLoc();
  uint64_t depends = (a->loops | b->loops) & ~(uint64_t(1) << loop);
  SmallVector<int64_t> shape;
  for (auto [i, extent] : llvm::enumerate(extents))
    shape.push_back(depends >> i & 1 ? extent : 1);
  auto empty =
      tensor::EmptyOp::create(builder, loc, shape, builder.getI64Type());
  AffineMap map =
      AffineMap::getMultiDimIdentityMap(shape.size(), op.getContext());
  SmallVector<utils::IteratorType> kinds(shape.size(),
                                         utils::IteratorType::parallel);
  Value place;
  auto made = linalg::GenericOp::create(
      builder, loc, empty.getType(), ValueRange(), Value(empty), map, kinds,
      [&](OpBuilder &nested, Location, ValueRange outs) {
        place = PlaceBuilder(graph, nested, loc).indexWhereEqual(loop, a, b);
        linalg::YieldOp::create(nested, loc, place ? place : outs.front());
      });
  if (place)
    return made.getResult(0);
  made.erase();
  empty.erase();
  return {};
}

/// Takes a loop whose index one side of the comparison has, and the other has
/// not.
bool ScatterFinder::scatter(const Element *comparison) {
  for (unsigned side : {0, 1}) {
    const Element *a = comparison->operands[side];
    const Element *b = comparison->operands[1 - side];
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      uint64_t bit = uint64_t(1) << loop;
      if (kind != utils::IteratorType::parallel || !a->dependsOn(loop) ||
          b->dependsOn(loop) || (scattered | read) & bit ||
          ((a->loops | b->loops) & scattered))
        continue;
      Value place = placeOf(loop, a, b);
      if (!place)
        continue;
      found.loops.push_back(loop);
      found.places.push_back(place);
      scattered |= bit;
      read |= (a->loops | b->loops) & ~bit;
      return true;
    }
  }
  return false;
}

Scatter ScatterFinder::find() {
  if (extents.size() > ElementGraph::mostLoops)
    return {};
  for (int64_t extent : extents)
    graph.addLoop(extent);
  for (unsigned loop = 0; loop < extents.size(); ++loop)
    loops.push_back(graph.loop(loop));
  for (unsigned result = 0; result < op->getNumResults(); ++result) {
    yielded.push_back(graph.yielded(op, result, loops, /*mayCheck=*/true));
    if (!yielded.back())
      return {};
  }
  for (auto check : op.getBlock()->getOps<cf::AssertOp>()) {
    const Element *condition = graph.inBody(op, check.getArg(), loops);
    // An accumulator is another one for each element.
    if (!condition ||
        llvm::any_of(withOperands(condition), [](const Element *element) {
          return element->kind == Element::Kind::Accumulator;
        }))
      return {};
    read |= condition->loops;
  }
  SmallVector<const Element *> wanted = comparisons();
  llvm::erase_if(wanted, [&](const Element *comparison) {
    return !WhereUnequal(graph, op, yielded, loops, comparison).keepsAll();
  });
  for (const Element *comparison : wanted)
    scatter(comparison);
  int64_t iterations = 1;
  for (int64_t loop : found.loops)
    iterations *= extents[loop];
  if (iterations >= leastIterations)
    return found;
  for (Value place : found.places)
    place.getDefiningOp()->erase();
  return {};
}

Scatter tp::target::findScatter(OpBuilder &builder, linalg::LinalgOp op) {
  return ScatterFinder(builder, op).find();
}
