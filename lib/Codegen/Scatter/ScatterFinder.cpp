//===- ScatterFinder.cpp - reductions that are scatters -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterFinder.h"
#include "Elements/ElementGraph.h"
#include "Elements/LoopSum.h"
#include "Elements/NeutralElement.h"
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
// What is left of a body where a comparison does not hold
//===----------------------------------------------------------------------===//

namespace {
/// What an element is: another element, or a constant.
struct Known {
  const Element *element = nullptr;
  TypedAttr constant;
};

/// Evaluates elements where `comparison`, for equality, finds no equal numbers.
class WhereUnequal {
public:
  WhereUnequal(ElementGraph &graph, linalg::LinalgOp op,
               ArrayRef<const Element *> yielded, ArrayRef<AffineExpr> loops,
               const Element *comparison)
      : graph(graph), op(op), yielded(yielded), loops(loops),
        comparison(comparison) {}

  /// Whether the body yields all accumulators as they were.
  bool keepsAll();

private:
  Known of(const Element *element);
  Known find(const Element *element);
  Known ofCompute(const Element *element);
  const Element *keptBy(Operation *combiner, Known a, Known b);
  bool mayAddZero(Operation *combiner, const Element *accumulator);

  ElementGraph &graph;
  linalg::LinalgOp op;
  ArrayRef<const Element *> yielded;
  ArrayRef<AffineExpr> loops;
  const Element *comparison;
  llvm::DenseMap<const Element *, Known> known;
};
} // namespace

/// Whether `accumulator` is never -0.0: one that only adds, and starts from
/// another number. A sum is -0.0 only if both numbers are.
bool WhereUnequal::mayAddZero(Operation *combiner,
                              const Element *accumulator) {
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
    if (neutralElement(combiner) == other.constant)
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

Known WhereUnequal::ofCompute(const Element *element) {
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

Known WhereUnequal::find(const Element *element) {
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

Known WhereUnequal::of(const Element *element) {
  auto it = known.find(element);
  if (it != known.end())
    return it->second;
  Known found = find(element);
  return known[element] = found;
}

bool WhereUnequal::keepsAll() {
  for (auto [number, element] : llvm::enumerate(yielded)) {
    Known result = of(element);
    if (!result.element ||
        result.element->kind != Element::Kind::Accumulator ||
        result.element->value != op->getResult(number))
      return false;
  }
  return true;
}

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
        return linalg::IndexOp::create(
            builder, loc, cast<AffineDimExpr>(leaf).getPosition());
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
    return scalar ? std::optional(LoopSum{std::nullopt, scalar})
                  : std::nullopt;
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

/// The comparisons of integers for equality that the body depends on, in order.
SmallVector<const Element *> ScatterFinder::comparisons() const {
  llvm::SetVector<const Element *> elements(yielded.begin(), yielded.end());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Element *element = elements[i];
    elements.insert_range(element->operands);
  }
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
    if (!condition)
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
