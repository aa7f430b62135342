//===- LoopSolver.cpp - one op's loops over another's ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The op's elements are looked at over its own loops. Where they come to a
// tensor that the other op reads too, the two indices are one: each is a number
// of digits, and digits with the same weight are the same loop.
//
//===----------------------------------------------------------------------===//

#include "LoopSolver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp::target;

Indices LoopSolution::ofOp(const IndexSpace &space) const {
  Indices found;
  for (AffineExpr expr : loops.old)
    found.push_back(simplify(expr.replaceDims(values), space));
  return found;
}

std::optional<unsigned> LoopSolution::loop(unsigned number) const {
  if (auto dim = dyn_cast<AffineDimExpr>(values[number]))
    return dim.getPosition();
  return std::nullopt;
}

SmallVector<ElementPlace> tp::target::placesBehind(const ElementGraph &graph,
                                                   const Element *element) {
  llvm::SetVector<const Element *> reached;
  reached.insert(element);
  SmallVector<ElementPlace> places;
  for (unsigned i = 0; i < reached.size(); ++i) {
    const Element *each = reached[i];
    llvm::append_range(places, graph.placesOf(each));
    for (const Element *operand : each->operands)
      reached.insert(operand);
  }
  return places;
}

namespace {
/// One digit of an index.
struct Digit {
  unsigned loop;
  int64_t weight;
};

class Solver {
public:
  Solver(const Contraction &product, const ElementGraph &graph,
         const Refinement &loops)
      : product(product), graph(graph), own(product.op->getContext()) {
    for (int64_t extent : loops.extents)
      own.addLoop(extent);
    solution.loops = loops;
    solution.values.assign(loops.extents.size(), AffineExpr());
    start = simplify(loops.old, own.space());
  }

  bool run(ArrayRef<ElementPlace> anchors, const Indices *result) {
    if (result) {
      AffineMap map = op().getMatchingIndexingMap(op().getDpsInitOperand(0));
      if (!equate(applyMap(map, start, {}, own.space()), *result))
        return false;
    }
    for (OpOperand *operand : {product.lhs, product.rhs}) {
      const Element *element = own.element(
          operand->get(), applyMap(op().getMatchingIndexingMap(operand), start,
                                   {}, own.space()));
      for (const ElementPlace &place : placesBehind(own, element))
        for (const ElementPlace &anchor : anchors)
          if (anchor.tensor == place.tensor &&
              !equate(place.indices, anchor.indices))
            return false;
    }
    for (auto [value, extent] :
         llvm::zip_equal(solution.values, solution.loops.extents)) {
      if (extent == 1)
        value = getAffineConstantExpr(0, op()->getContext());
      if (!value)
        return false;
    }
    return true;
  }

  /// Where the op's loops have to be cut for each to be one of the graph's;
  /// none if they are.
  std::optional<SmallVector<SmallVector<int64_t>>> cuts() const {
    SmallVector<SmallVector<int64_t>> found(solution.values.size());
    bool any = false;
    for (auto [value, cut] : llvm::zip_equal(solution.values, found)) {
      auto digits = digitsOf(value, graph.space());
      if (!digits || digits->size() < 2)
        continue;
      for (const Digit &digit : *digits)
        if (digit.weight > 1) {
          cut.push_back(digit.weight);
          any = true;
        }
    }
    return any ? std::optional(std::move(found)) : std::nullopt;
  }

  bool isPlain() const {
    return llvm::all_of(
        llvm::zip_equal(solution.values, solution.loops.extents),
        [&](auto each) {
          auto [value, extent] = each;
          auto dim = dyn_cast<AffineDimExpr>(value);
          return extent == 1 ||
                 (dim && graph.extent(dim.getPosition()) == extent);
        });
  }

  LoopSolution solution;

private:
  linalg::LinalgOp op() const { return product.op; }

  static std::optional<SmallVector<Digit>> digitsOf(AffineExpr expr,
                                                    const IndexSpace &space) {
    std::optional<LinearForm> form = linearForm(expr, space.dims.size(), 0);
    if (!form || form->constant != 0)
      return std::nullopt;
    SmallVector<Digit> digits;
    for (auto [loop, weight] : llvm::enumerate(form->dimStrides))
      if (weight != 0)
        digits.push_back({unsigned(loop), weight});
    llvm::sort(digits, [](const Digit &a, const Digit &b) {
      return a.weight > b.weight;
    });
    return digits;
  }

  bool assign(unsigned loop, AffineExpr value) {
    value = simplify(value, graph.space());
    AffineExpr &known = solution.values[loop];
    if (known)
      return known == value;
    known = value;
    return true;
  }

  /// False where they cannot be equal; what cannot be read tells nothing.
  bool equate(const Indices &mine, const Indices &theirs) {
    for (auto [a, b] : llvm::zip_equal(mine, theirs)) {
      auto own = digitsOf(a, this->own.space());
      auto other = digitsOf(b, graph.space());
      if (!own || !other)
        continue;
      if (own->size() == 1) {
        // One loop is all of the other's digits.
        int64_t weight = own->front().weight;
        AffineExpr value = getAffineConstantExpr(0, op()->getContext());
        for (const Digit &digit : *other) {
          if (digit.weight % weight)
            return false;
          value = value + graph.loop(digit.loop) * (digit.weight / weight);
        }
        if (!assign(own->front().loop, value))
          return false;
        continue;
      }
      if (own->size() != other->size())
        continue;
      for (auto [x, y] : llvm::zip_equal(*own, *other))
        if (x.weight != y.weight ||
            this->own.extent(x.loop) != graph.extent(y.loop))
          return false;
      for (auto [x, y] : llvm::zip_equal(*own, *other))
        if (!assign(x.loop, graph.loop(y.loop)))
          return false;
    }
    return true;
  }

  const Contraction &product;
  const ElementGraph &graph;
  /// Over the op's loops, refined.
  ElementGraph own;
  Indices start;
};
} // namespace

std::optional<LoopSolution>
tp::target::solveLoops(const Contraction &product, const ElementGraph &graph,
                       ArrayRef<ElementPlace> anchors, const Indices *result) {
  linalg::LinalgOp op = product.op;
  MLIRContext *context = op->getContext();
  Refinement loops = Refinement::none(op.getStaticLoopRanges(), context);
  for (int round = 0; round < 4; ++round) {
    if (llvm::is_contained(loops.extents, 0) ||
        loops.extents.size() > ElementGraph::mostLoops)
      return std::nullopt;
    Solver solver(product, graph, loops);
    if (!solver.run(anchors, result))
      return std::nullopt;
    auto cuts = solver.cuts();
    if (!cuts)
      return solver.isPlain() ? std::optional(std::move(solver.solution))
                              : std::nullopt;
    if (!loops.splitAt(*cuts, context))
      return std::nullopt;
  }
  return std::nullopt;
}
