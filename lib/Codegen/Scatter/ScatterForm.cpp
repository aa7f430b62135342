//===- ScatterForm.cpp - the explicit form of a scatter -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace tp::target;

/// The loop and the operand that `condition` compares.
static std::optional<PlacedLoop> placedBy(linalg::LinalgOp op,
                                          Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      !compare.getLhs().getType().isIndex())
    return std::nullopt;
  Value index = compare.getLhs(), place = compare.getRhs();
  if (!index.getDefiningOp<linalg::IndexOp>())
    std::swap(index, place);
  auto indexOp = index.getDefiningOp<linalg::IndexOp>();
  auto argument = dyn_cast<BlockArgument>(place);
  if (!indexOp || !argument || argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *operand = operandOfArgument(op, argument);
  if (!operand || !op.isDpsInput(operand) ||
      !isa<RankedTensorType>(operand->get().getType()) ||
      op.getIteratorTypesArray()[indexOp.getDim()] !=
          utils::IteratorType::parallel)
    return std::nullopt;
  return PlacedLoop{unsigned(indexOp.getDim()), operand};
}

SmallVector<PlacedLoop> tp::target::placedLoops(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || op.getNumReductionLoops() == 0 ||
      llvm::any_of(*op.getBlock(),
                   [](Operation &inner) { return isa<cf::AssertOp>(inner); }))
    return {};
  AffineMap written = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!written.isProjectedPermutation() ||
      written.getNumResults() != op.getNumParallelLoops())
    return {};
  auto select = op.getBlock()->getTerminator()->getOperand(0)
                    .getDefiningOp<arith::SelectOp>();
  if (!select || select.getFalseValue() !=
                     op.getMatchingBlockArgument(op.getDpsInitOperand(0)))
    return {};
  SmallVector<PlacedLoop> placed;
  SmallVector<Value> conditions = {select.getCondition()};
  while (!conditions.empty()) {
    Value condition = conditions.pop_back_val();
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      conditions.append({both.getRhs(), both.getLhs()});
      continue;
    }
    std::optional<PlacedLoop> found = placedBy(op, condition);
    if (found && llvm::none_of(placed, [&](const PlacedLoop &other) {
          return other.loop == found->loop;
        }))
      placed.push_back(*found);
  }
  // A place is known before its loop is.
  llvm::erase_if(placed, [&](const PlacedLoop &loop) {
    AffineMap map = op.getMatchingIndexingMap(loop.place);
    return llvm::any_of(placed, [&](const PlacedLoop &other) {
      return map.isFunctionOfDim(other.loop);
    });
  });
  return placed;
}

bool tp::target::scatteringPays(ArrayRef<int64_t> extents,
                                ArrayRef<bool> reduces,
                                ArrayRef<unsigned> scattered,
                                const TargetTraits &traits) {
  // A step of a reduction costs less than one that goes to memory.
  constexpr int64_t stepsOfReduction = 4;
  int64_t all = 1, elements = 1, steps = 1;
  for (auto [loop, extent] : llvm::enumerate(extents)) {
    all *= extent;
    if (!reduces[loop])
      elements *= extent;
    if (!llvm::is_contained(scattered, loop))
      steps *= extent;
  }
  return !scattered.empty() && elements > 0 &&
         elements >= traits.fewestScattered &&
         all >= stepsOfReduction * (elements + steps);
}

SmallVector<ScatteredLoop>
tp::target::scatteredLoops(const ComputeLoop &computeLoop) {
  SmallVector<ScatteredLoop> scattered;
  if (!computeLoop.isReduction())
    return scattered;
  for (const PlacedLoop &placed : placedLoops(computeLoop.reduction))
    if (auto dim = dyn_cast<AffineDimExpr>(computeLoop.base[placed.loop]))
      scattered.push_back({dim.getPosition(), placed.place});
  return scattered;
}
