//===- StaticValues.cpp - elements known at compile time ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StaticValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tp::target;

/// Visits all indices of an array but its last dimension; false to stop.
static bool forEachRow(ArrayRef<int64_t> shape,
                       function_ref<bool(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> at(shape.size(), 0);
  while (true) {
    if (!visit(at))
      return false;
    int64_t d = int64_t(shape.size()) - 2;
    for (; d >= 0 && ++at[d] == shape[d]; --d)
      at[d] = 0;
    if (d < 0)
      return true;
  }
}

const std::vector<Number> *StaticTensors::find(Value tensor) {
  auto [it, inserted] = known.try_emplace(tensor.getAsOpaquePointer());
  // While it is being evaluated it counts as unknown.
  if (inserted) {
    std::unique_ptr<std::vector<Number>> made = evaluate(tensor);
    known[tensor.getAsOpaquePointer()] = std::move(made);
  }
  return known[tensor.getAsOpaquePointer()].get();
}

std::unique_ptr<std::vector<Number>> StaticTensors::evaluate(Value tensor) {
  constexpr unsigned deepest = 64;
  int64_t count = numElements(tensor);
  Operation *op = tensor.getDefiningOp();
  if (!op || count == 0 || count > mostElements || depth == deepest ||
      !isKnownType(cast<RankedTensorType>(tensor.getType()).getElementType()))
    return nullptr;
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements)
      return nullptr;
    auto made = std::make_unique<std::vector<Number>>();
    made->reserve(count);
    for (Attribute attribute : elements.getValues<Attribute>())
      if (!numberOf(attribute, made->emplace_back()))
        return nullptr;
    return made;
  }
  if (std::optional<PiecewiseSource> sourceBoxes = piecewiseSourceOf(tensor))
    return piecewise(tensor, *sourceBoxes);
  if (std::optional<View> moving = viewOf(tensor);
      moving && !moving->symbols.values.empty())
    return view(tensor, *moving);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (linalgOp && linalgOp.hasPureTensorSemantics() && !isElementwise(linalgOp))
    return reduction(linalgOp, cast<OpResult>(tensor).getResultNumber());
  ElementGraph graph(tensor.getContext());
  SmallVector<int64_t> shape(shapeOf(tensor));
  if (shape.empty())
    shape.push_back(1);
  Indices index;
  for (auto [d, size] : llvm::enumerate(shape)) {
    graph.addLoop(size);
    if (d < shapeOf(tensor).size())
      index.push_back(graph.loop(d));
  }
  const Element *element = graph.element(tensor, index);
  if (element->kind == Element::Kind::Leaf && element->value == tensor)
    return nullptr;
  RowEvaluator rows(graph, *this, shape.size() - 1);
  auto made = std::make_unique<std::vector<Number>>();
  made->reserve(count);
  bool all = forEachRow(shape, [&](ArrayRef<int64_t> at) {
    rows.at().assign(at.begin(), at.end());
    const NumberRow *row = rows.row(element);
    if (row)
      row->appendTo(*made);
    return row != nullptr;
  });
  return all ? std::move(made) : nullptr;
}

std::optional<int64_t> StaticTensors::findScalar(Value scalar) const {
  auto it = scalars.find(scalar);
  return it == scalars.end() ? std::nullopt : std::optional(it->second);
}

/// A part whose place is a number of the function's.
std::unique_ptr<std::vector<Number>> StaticTensors::view(Value tensor,
                                                         const View &view) {
  // A scalar is no row.
  const std::vector<Number> *source = find(view.source);
  if (!source || shapeOf(tensor).empty())
    return nullptr;
  MLIRContext *context = tensor.getContext();
  ElementGraph graph(context);
  graph.addLoop(1);
  RowEvaluator rows(graph, *this, 0);
  Indices symbols;
  for (Value symbol : view.symbols.values) {
    const NumberRow *row = rows.row(graph.scalar(symbol));
    if (!row)
      return nullptr;
    symbols.push_back(getAffineConstantExpr(row->at(0).integer, context));
  }
  AffineMap map = view.map.replaceDimsAndSymbols(
      identityIndices(view.map.getNumDims(), context), symbols,
      view.map.getNumDims(), 0);
  auto made = std::make_unique<std::vector<Number>>();
  made->reserve(numElements(tensor));
  bool all = forEachRow(shapeOf(tensor), [&](ArrayRef<int64_t> row) {
    SmallVector<int64_t> at(row);
    for (at.back() = 0; at.back() < shapeOf(tensor).back(); ++at.back()) {
      int64_t from = 0;
      for (auto [size, place] :
           llvm::zip_equal(shapeOf(view.source), map.compose(at))) {
        if (place < 0 || place >= size)
          return false;
        from = from * size + place;
      }
      made->push_back((*source)[from]);
    }
    return true;
  });
  return all ? std::move(made) : nullptr;
}

std::unique_ptr<std::vector<Number>>
StaticTensors::piecewise(Value tensor, const PiecewiseSource &sourceBoxes) {
  ArrayRef<int64_t> shape = shapeOf(tensor);
  if (!sourceBoxes.symbols.values.empty() || shape.empty())
    return nullptr;
  auto made =
      std::make_unique<std::vector<Number>>(numElements(tensor), Number{});
  // The first box that holds an index wins, so it is written last.
  for (const SourceBox &box : llvm::reverse(sourceBoxes.boxes)) {
    const std::vector<Number> *source = nullptr;
    if (box.source && !box.source.getDefiningOp<tensor::EmptyOp>()) {
      source = find(box.source);
      if (!source)
        return nullptr;
    }
    Number scalar{};
    Attribute constant;
    if (!box.source && (!matchPattern(box.scalar, m_Constant(&constant)) ||
                        !numberOf(constant, scalar)))
      return nullptr;
    if (llvm::is_contained(box.sizes, 0))
      continue;
    forEachRow(box.sizes, [&](ArrayRef<int64_t> row) {
      SmallVector<int64_t> at(row);
      for (at.back() = 0; at.back() < box.sizes.back(); ++at.back()) {
        int64_t address = 0;
        for (auto [d, size] : llvm::enumerate(shape)) {
          auto offset = cast<AffineConstantExpr>(box.offsets[d]);
          address = address * size + at[d] + offset.getValue();
        }
        Number &number = (*made)[address];
        if (!box.source) {
          number = scalar;
        } else if (source) {
          int64_t from = 0;
          for (auto [size, place] :
               llvm::zip_equal(shapeOf(box.source), box.map.compose(at)))
            from = from * size + place;
          number = (*source)[from];
        }
      }
      return true;
    });
  }
  return made;
}

/// An op that joins what was accumulated and something else.
std::unique_ptr<std::vector<Number>>
StaticTensors::reduction(linalg::LinalgOp op, unsigned result) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  int64_t steps = 1;
  for (int64_t extent : extents)
    if (llvm::MulOverflow(steps, extent, steps) || steps > mostElements ||
        extent == 0)
      return nullptr;
  ElementGraph graph(op->getContext());
  if (extents.size() > ElementGraph::mostLoops)
    return nullptr;
  Indices loops;
  for (int64_t extent : extents)
    loops.push_back(graph.loop(graph.addLoop(extent)));
  const Element *yield = graph.yielded(op, result, loops);
  if (!yield || yield->kind != Element::Kind::Compute ||
      yield->operands.size() != 2)
    return nullptr;
  auto accumulates = [&](const Element *element) {
    return element->kind == Element::Kind::Accumulator &&
           element->value == op->getResult(result);
  };
  unsigned own = accumulates(yield->operands[0]) ? 0 : 1;
  if (!accumulates(yield->operands[own]))
    return nullptr;
  Value init = op.getDpsInitOperand(result)->get();
  const std::vector<Number> *start = find(init);
  if (!start)
    return nullptr;
  auto made = std::make_unique<std::vector<Number>>(*start);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  ArrayRef<int64_t> shape = shapeOf(init);
  RowEvaluator rows(graph, *this, extents.size() - 1);
  bool all = forEachRow(extents, [&](ArrayRef<int64_t> at) {
    rows.at().assign(at.begin(), at.end());
    const NumberRow *row = rows.row(yield->operands[1 - own]);
    SmallVector<int64_t> index(at);
    for (int64_t i = 0; row && i < extents.back(); ++i) {
      index.back() = i;
      int64_t address = 0;
      for (auto [size, place] : llvm::zip_equal(shape, map.compose(index)))
        address = address * size + place;
      Number accumulated = (*made)[address], added = row->at(i), next{};
      const Number *operands[2];
      operands[own] = &accumulated;
      operands[1 - own] = &added;
      if (!computeNumbers(yield->op, operands, next))
        return false;
      (*made)[address] = next;
    }
    return row != nullptr;
  });
  return all ? std::move(made) : nullptr;
}
