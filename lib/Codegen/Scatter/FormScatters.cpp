//===- FormScatters.cpp - pass tp-form-scatters ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an iteration yields is a graph of scalars, so that conditions are found
// in the body and in the elementwise ops before it. Where a condition fails the
// iteration has to keep what the reduction has. A condition that equates a loop
// of the result with data is solved for the loop: that is the place.
//
//===----------------------------------------------------------------------===//

#include "Scatter.h"
#include "ScatterCondition.h"
#include "Elements/ElementOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "tp/Codegen/CodegenPasses.h"

namespace tp {
#define GEN_PASS_DEF_FORMSCATTERS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

namespace {
class ScatterFormer {
public:
  ScatterFormer(linalg::LinalgOp op, const TargetTraits &traits)
      : op(op), traits(traits), graph(op->getContext()) {}

  bool form();

private:
  bool findPlaces();
  bool findChecks();
  bool isPlaced(unsigned loop) const {
    return llvm::any_of(places, [&](const Place &place) {
      return place.loop == loop;
    });
  }
  Value makePlaces(OpBuilder &builder, const Place &place, bool withChecks);
  void rewrite();

  linalg::LinalgOp op;
  const TargetTraits &traits;
  ElementGraph graph;
  Indices loops;
  SmallVector<Place> places;
  /// The conditions of the body's checks, which the first place carries.
  SmallVector<std::pair<cf::AssertOp, const Element *>> checks;
};
} // namespace

bool ScatterFormer::findPlaces() {
  SmallVector<const Element *> conditions = writeConditions(
      op, graph.yielded(op, 0, loops, /*withChecks=*/true));
  for (const Element *condition : conditions) {
    std::optional<Place> best;
    for (unsigned loop = 0; loop < loops.size(); ++loop) {
      if (op.getIteratorTypesArray()[loop] != utils::IteratorType::parallel ||
          graph.extent(loop) < 2 || isPlaced(loop) ||
          (best && graph.extent(best->loop) >= graph.extent(loop)))
        continue;
      std::optional<Place> place = solveFor(condition, loop, graph);
      // Places are known before their loops are.
      if (!place || llvm::any_of(places, [&](const Place &other) {
            return (other.loops >> loop & 1) || (place->loops >> other.loop & 1);
          }))
        continue;
      best = place;
    }
    if (best)
      places.push_back(*best);
  }
  return !places.empty();
}

/// What the body checks says nothing of the place: it is checked once for each.
bool ScatterFormer::findChecks() {
  for (auto check : op.getBlock()->getOps<cf::AssertOp>()) {
    const Element *condition = graph.inBody(op, check.getArg(), loops);
    if (!condition || dependsOnAccumulator(condition) ||
        llvm::any_of(places, [&](const Place &place) {
          return condition->dependsOn(place.loop);
        }))
      return false;
    places.front().loops |= condition->loops;
    checks.push_back({check, condition});
  }
  return llvm::none_of(ArrayRef(places).drop_front(), [&](const Place &place) {
    return places.front().loops >> place.loop & 1;
  });
}

/// The places as a tensor over the loops that they depend on.
Value ScatterFormer::makePlaces(OpBuilder &builder, const Place &place,
                                bool withChecks) {
  Location loc = op.getLoc();
  SmallVector<unsigned> over;
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    if (place.loops >> loop & 1)
      over.push_back(loop);
  SmallVector<const Element *> elements;
  for (auto [factor, element] : place.terms)
    elements.push_back(element);
  if (withChecks)
    for (auto [check, condition] : checks)
      elements.push_back(condition);
  auto combine = [&](OpBuilder &inner, ValueRange scalars) -> Value {
    if (withChecks)
      for (auto [check, condition] : llvm::zip_equal(
               checks, scalars.drop_front(place.terms.size())))
        cf::AssertOp::create(inner, check.first.getLoc(), condition,
                             check.first.getMsg());
    auto type = inner.getIntegerType(place.width);
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(
          inner, loc,
          inner.getIntegerAttr(type,
                               APInt(place.width, value, /*isSigned=*/true,
                                     /*implicitTrunc=*/true)));
    };
    Value sum = number(place.constant);
    auto add = [&](Value value, int64_t factor) {
      value = integerOf(inner, loc, value, type);
      if (factor != 1)
        value = arith::MulIOp::create(inner, loc, value, number(factor));
      sum = arith::AddIOp::create(inner, loc, sum, value);
    };
    for (auto [term, scalar] : llvm::zip(place.terms, scalars))
      add(scalar, term.first);
    for (auto [position, loop] : llvm::enumerate(over))
      if (place.factors[loop] != 0)
        add(linalg::IndexOp::create(inner, loc, position),
            place.factors[loop]);
    // What is below zero is beyond the end.
    if (place.width < 64)
      return arith::IndexCastUIOp::create(inner, loc, inner.getIndexType(),
                                          sum);
    return arith::IndexCastOp::create(inner, loc, inner.getIndexType(), sum);
  };
  return materialise(builder, loc, graph, elements, over,
                     builder.getIndexType(), combine)
      .getResult(0);
}

void ScatterFormer::rewrite() {
  OpBuilder builder(op);
  MLIRContext *context = op->getContext();
  unsigned numLoops = loops.size();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (auto [number, place] : llvm::enumerate(places)) {
    inputs.push_back(makePlaces(builder, place, number == 0));
    Indices over;
    for (unsigned loop = 0; loop < numLoops; ++loop)
      if (place.loops >> loop & 1)
        over.push_back(getAffineDimExpr(loop, context));
    maps.push_back(AffineMap::get(numLoops, 0, over, context));
  }
  llvm::append_range(inputs, op.getDpsInputs());
  llvm::append_range(maps, op.getIndexingMapsArray());
  Block &body = *op.getBlock();
  auto made = linalg::GenericOp::create(
      builder, op.getLoc(), op->getResultTypes(), inputs, op.getDpsInits(),
      maps, op.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(body.getArguments(), arguments.drop_front(places.size()));
        for (Operation &nested : body.without_terminator())
          if (!isa<cf::AssertOp>(nested))
            inner.clone(nested, mapping);
        Value hit;
        for (auto [place, argument] : llvm::zip(places, arguments)) {
          Value index = linalg::IndexOp::create(inner, loc, place.loop);
          Value here = arith::CmpIOp::create(
              inner, loc, arith::CmpIPredicate::eq, index, argument);
          hit = hit ? arith::AndIOp::create(inner, loc, hit, here).getResult()
                    : here;
        }
        Value next = mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
        linalg::YieldOp::create(
            inner, loc,
            arith::SelectOp::create(inner, loc, hit, next, arguments.back())
                .getResult());
      });
  op->getResult(0).replaceAllUsesWith(made.getResult(0));
  op->erase();
}

bool ScatterFormer::form() {
  if (op->getNumResults() != 1 || op.getNumReductionLoops() == 0 ||
      op.getNumLoops() > ElementGraph::mostLoops ||
      op->getResult(0).use_empty() || !placedLoops(op).empty() ||
      llvm::any_of(op.getDpsInputs(), [](Value input) {
        return !isa<RankedTensorType>(input.getType());
      }))
    return false;
  AffineMap written = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (!written.isProjectedPermutation() ||
      written.getNumResults() != op.getNumParallelLoops() ||
      llvm::is_contained(extents, 0))
    return false;
  for (int64_t extent : extents)
    loops.push_back(graph.loop(graph.addLoop(extent)));
  SmallVector<bool> reduces;
  for (utils::IteratorType type : op.getIteratorTypesArray())
    reduces.push_back(type == utils::IteratorType::reduction);
  if (!findPlaces() || !findChecks())
    return false;
  SmallVector<unsigned> scattered;
  for (const Place &place : places)
    scattered.push_back(place.loop);
  if (!scatteringPays(extents, reduces, scattered, traits))
    return false;
  rewrite();
  return true;
}

unsigned tp::target::formScatters(func::FuncOp function,
                                  const TargetTraits &traits) {
  unsigned formed = 0;
  for (auto op : llvm::make_early_inc_range(
           function.front().getOps<linalg::LinalgOp>()))
    formed += ScatterFormer(op, traits).form();
  return formed;
}

namespace {
struct FormScattersPass : tp::impl::FormScattersBase<FormScattersPass> {
  using FormScattersBase::FormScattersBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                    linalg::LinalgDialect, math::MathDialect,
                    tensor::TensorDialect>();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    std::optional<TargetTraits> traits = traitsOf(target);
    if (!traits) {
      function->emitError("tp-form-scatters: expected the target 'cpu' or "
                          "'cuda', got '")
          << target << "'";
      return signalPassFailure();
    }
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return;
    numFormed += formScatters(function, *traits);
  }
};
} // namespace
