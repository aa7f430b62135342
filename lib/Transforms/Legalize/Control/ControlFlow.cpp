//===- ControlFlow.cpp - loops unrolled, conditionals selected ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective under a condition would need the condition to be the same on
// all ranks, and an assignment of layouts to a loop's values. Without control
// flow neither question arises: both sides of a conditional are computed, and
// a loop of constant bounds is its iterations.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp;

/// What unrolling may make of one function, in ops.
static constexpr int64_t maxUnrolledOps = 50000;

bool legalize::foldScalar(Operation *op, OpBuilder &builder) {
  if (op->getNumRegions() != 0 || op->getNumResults() != 1 ||
      !op->getResult(0).getType().isIntOrIndex() ||
      op->hasTrait<OpTrait::ConstantLike>() || !isMemoryEffectFree(op))
    return false;
  SmallVector<Attribute> constants(op->getNumOperands());
  for (auto [constant, operand] : llvm::zip(constants, op->getOperands()))
    if (!matchPattern(operand, m_Constant(&constant)) &&
        !isa<TensorType>(operand.getType()))
      return false;
  SmallVector<OpFoldResult> folded;
  // Folding may first look through a cast, in place.
  for (unsigned round = 0; round < 2 && folded.empty(); ++round)
    if (failed(op->fold(constants, folded)))
      return false;
  if (folded.size() != 1)
    return false;
  Value value = dyn_cast<Value>(folded.front());
  if (!value) {
    auto number = dyn_cast<TypedAttr>(cast<Attribute>(folded.front()));
    if (!number || number.getType() != op->getResult(0).getType())
      return false;
    builder.setInsertionPoint(op);
    value = arith::ConstantOp::create(builder, op->getLoc(), number);
  }
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return true;
}

namespace {
class ControlFlattener {
public:
  explicit ControlFlattener(MLIRContext *context) : builder(context) {}
  LogicalResult flatten(Block &block);

private:
  /// Of an op that is no control flow.
  LogicalResult flattenInside(Operation *op);
  /// Each returns what follows the ops that stand for `op` now.
  FailureOr<Block::iterator> flattenIf(scf::IfOp op);
  FailureOr<Block::iterator> flattenSwitch(scf::IndexSwitchOp op);
  FailureOr<Block::iterator> unroll(scf::ForOp op);
  FailureOr<Block::iterator> unrollForall(scf::ForallOp op);

  /// Replaces `op` by the ops of one of its blocks.
  Block::iterator replaceBy(Operation *op, Block &block);
  /// Moves the ops of `block` in front of `op` so that they do nothing wrong
  /// where `isActive` is false.
  LogicalResult hoist(Operation *op, Block &block, Value isActive);
  LogicalResult spend(Operation *loop, int64_t trips, Block &body);

  OpBuilder builder;
  int64_t unrolledOps = 0;
};
} // namespace

LogicalResult ControlFlattener::flatten(Block &block) {
  for (auto it = block.begin(); it != block.end();) {
    Operation *op = &*it++;
    if (legalize::foldScalar(op, builder))
      continue;
    FailureOr<Block::iterator> next = it;
    if (auto conditional = dyn_cast<scf::IfOp>(op))
      next = flattenIf(conditional);
    else if (auto choice = dyn_cast<scf::IndexSwitchOp>(op))
      next = flattenSwitch(choice);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      next = unroll(loop);
    else if (auto loop = dyn_cast<scf::ForallOp>(op))
      next = unrollForall(loop);
    else if (auto region = dyn_cast<scf::ExecuteRegionOp>(op);
             region && region.getRegion().hasOneBlock())
      next = replaceBy(op, region.getRegion().front());
    else if (failed(flattenInside(op)))
      return failure();
    if (failed(next))
      return failure();
    it = *next;
  }
  return success();
}

LogicalResult ControlFlattener::flattenInside(Operation *op) {
  FailureOr<Operation *> resolved = legalize::resolveShapes(op, builder);
  if (failed(resolved))
    return failure();
  if (*resolved)
    for (Region &region : (*resolved)->getRegions())
      for (Block &inner : region)
        if (failed(flatten(inner)))
          return failure();
  return success();
}

Block::iterator ControlFlattener::replaceBy(Operation *op, Block &block) {
  Operation *terminator = block.getTerminator();
  for (auto [result, value] :
       llvm::zip(op->getResults(), terminator->getOperands()))
    result.replaceAllUsesWith(value);
  terminator->erase();
  Operation *first = block.empty() ? nullptr : &block.front();
  op->getBlock()->getOperations().splice(Block::iterator(op),
                                         block.getOperations());
  Block::iterator next =
      first ? Block::iterator(first) : std::next(Block::iterator(op));
  op->erase();
  return next;
}

//===----------------------------------------------------------------------===//
// Conditionals
//===----------------------------------------------------------------------===//

LogicalResult ControlFlattener::hoist(Operation *op, Block &block,
                                      Value isActive) {
  if (failed(flatten(block)))
    return failure();
  SmallVector<Operation *> inside;
  for (Operation &top : block.without_terminator())
    top.walk([&](Operation *inner) {
      if (!inner->hasTrait<OpTrait::IsTerminator>())
        inside.push_back(inner);
    });
  for (Operation *inner : inside)
    if (failed(legalize::guardOp(op, inner, isActive, builder)))
      return failure();
  op->getBlock()->getOperations().splice(
      Block::iterator(op), block.getOperations(), block.begin(),
      Block::iterator(block.getTerminator()));
  return success();
}

/// Where `condition` holds the yielded values of `yes`, else those of `no`.
static FailureOr<SmallVector<Value>>
selectYielded(OpBuilder &builder, Operation *conditional, Value condition,
              ValueRange yes, ValueRange no) {
  SmallVector<Value> selected;
  for (auto [left, right] : llvm::zip(yes, no)) {
    if (left.getType() != right.getType())
      return conditional->emitError()
             << "'" << conditional->getName() << "' yields " << left.getType()
             << " and " << right.getType()
             << ", expected one static shape; pad the smaller one";
    selected.push_back(
        left == right ? left
                      : arith::SelectOp::create(builder, conditional->getLoc(),
                                                condition, left, right)
                            .getResult());
  }
  return selected;
}

FailureOr<Block::iterator> ControlFlattener::flattenIf(scf::IfOp op) {
  if (std::optional<bool> known = legalize::knownCondition(op.getCondition())) {
    if (*known)
      return replaceBy(op, *op.thenBlock());
    if (op.elseBlock())
      return replaceBy(op, *op.elseBlock());
    Block::iterator next = std::next(Block::iterator(op));
    op.erase();
    return next;
  }
  Location loc = op.getLoc();
  Value condition = op.getCondition();
  SmallVector<Value> yes(op.thenYield().getOperands()), no;
  if (failed(hoist(op, *op.thenBlock(), condition)))
    return failure();
  // Hoisting may have replaced what is yielded.
  yes.assign(op.thenYield().operand_begin(), op.thenYield().operand_end());
  if (op.elseBlock()) {
    builder.setInsertionPoint(op);
    Value isTrue =
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value opposite = arith::XOrIOp::create(builder, loc, condition, isTrue);
    if (failed(hoist(op, *op.elseBlock(), opposite)))
      return failure();
    no.assign(op.elseYield().operand_begin(), op.elseYield().operand_end());
  }
  builder.setInsertionPoint(op);
  auto selected = selectYielded(builder, op, condition, yes, no);
  if (failed(selected))
    return failure();
  op->replaceAllUsesWith(*selected);
  Block::iterator next = std::next(Block::iterator(op));
  op.erase();
  return next;
}

FailureOr<Block::iterator>
ControlFlattener::flattenSwitch(scf::IndexSwitchOp op) {
  Location loc = op.getLoc();
  if (auto constant = getConstantIntValue(op.getArg())) {
    auto found = llvm::find(op.getCases(), *constant);
    return replaceBy(op, found == op.getCases().end()
                             ? op.getDefaultBlock()
                             : op.getCaseBlock(found - op.getCases().begin()));
  }
  builder.setInsertionPoint(op);
  Value isDefault =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  SmallVector<Value> conditions;
  for (int64_t number : op.getCases()) {
    Value constant = arith::ConstantIndexOp::create(builder, loc, number);
    conditions.push_back(arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, op.getArg(), constant));
    Value differs = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, op.getArg(), constant);
    isDefault = arith::AndIOp::create(builder, loc, isDefault, differs);
  }
  if (failed(hoist(op, op.getDefaultBlock(), isDefault)))
    return failure();
  SmallVector<Value> selected(
      op.getDefaultBlock().getTerminator()->getOperands());
  for (auto [i, condition] : llvm::enumerate(conditions)) {
    Block &block = op.getCaseBlock(i);
    if (failed(hoist(op, block, condition)))
      return failure();
    builder.setInsertionPoint(op);
    auto both = selectYielded(builder, op, condition,
                              block.getTerminator()->getOperands(), selected);
    if (failed(both))
      return failure();
    selected = *both;
  }
  op->replaceAllUsesWith(selected);
  Block::iterator next = std::next(Block::iterator(op));
  op.erase();
  return next;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult ControlFlattener::spend(Operation *loop, int64_t trips,
                                      Block &body) {
  int64_t ops = 0;
  body.walk([&](Operation *) { ++ops; });
  if (trips * ops > maxUnrolledOps - unrolledOps)
    return loop->emitError()
           << "unrolling " << trips << " iterations of " << ops
           << " ops makes more than " << maxUnrolledOps
           << " ops of all loops together, expected fewer; write the loop as "
              "linalg.generic";
  unrolledOps += trips * ops;
  return success();
}

/// The number of iterations from `first` below `end`, and the steps' values.
static std::optional<SmallVector<int64_t>>
iterationsOf(std::optional<int64_t> first, std::optional<int64_t> end,
             std::optional<int64_t> step) {
  if (!first || !end || !step || *step < 1)
    return std::nullopt;
  SmallVector<int64_t> values;
  for (int64_t i = *first; i < *end && values.size() <= maxUnrolledOps;) {
    values.push_back(i);
    if (*step > *end - i)
      break;
    i += *step;
  }
  return values;
}

FailureOr<Block::iterator> ControlFlattener::unroll(scf::ForOp op) {
  auto iterations = iterationsOf(getConstantIntValue(op.getLowerBound()),
                                 getConstantIntValue(op.getUpperBound()),
                                 getConstantIntValue(op.getStep()));
  // Bounds that are not below zero compare the same as unsigned numbers.
  if (op.getUnsignedCmp() && iterations &&
      (*getConstantIntValue(op.getLowerBound()) < 0 ||
       *getConstantIntValue(op.getUpperBound()) < 0))
    return op.emitError() << "'scf.for' with unsigned bounds of "
                             "2^(width - 1) or more is not handled, expected "
                             "smaller ones";
  if (!iterations)
    return op.emitError()
           << "'scf.for' is only handled with constant bounds and a positive "
              "step, which are unrolled; write the loop as linalg.generic";
  if (failed(spend(op, iterations->size(), *op.getBody())))
    return failure();
  Operation *before = op->getPrevNode();
  SmallVector<Value> carried(op.getInitArgs());
  builder.setInsertionPoint(op);
  for (int64_t i : *iterations) {
    IRMapping mapping;
    mapping.map(op.getInductionVar(),
                arith::ConstantOp::create(
                    builder, op.getLoc(),
                    builder.getIntegerAttr(op.getInductionVar().getType(), i))
                    .getResult());
    mapping.map(op.getRegionIterArgs(), carried);
    for (Operation &inner : op.getBody()->without_terminator())
      builder.clone(inner, mapping);
    for (auto [value, yielded] :
         llvm::zip(carried, op.getBody()->getTerminator()->getOperands()))
      value = mapping.lookupOrDefault(yielded);
  }
  op->replaceAllUsesWith(carried);
  Block *block = op->getBlock();
  op.erase();
  return before ? std::next(Block::iterator(before)) : block->begin();
}

FailureOr<Block::iterator> ControlFlattener::unrollForall(scf::ForallOp op) {
  SmallVector<SmallVector<int64_t>> loops;
  int64_t trips = 1;
  for (auto [first, end, step] :
       llvm::zip(op.getMixedLowerBound(), op.getMixedUpperBound(),
                 op.getMixedStep())) {
    auto iterations =
        iterationsOf(getConstantIntValue(first), getConstantIntValue(end),
                     getConstantIntValue(step));
    if (!iterations)
      return op.emitError()
             << "'scf.forall' is only handled with constant bounds, which are "
                "unrolled; write the loop as linalg.generic";
    loops.push_back(*iterations);
    trips = std::min<int64_t>(trips * loops.back().size(), maxUnrolledOps + 1);
  }
  if (failed(spend(op, trips, *op.getBody())))
    return failure();
  Operation *before = op->getPrevNode();
  builder.setInsertionPoint(op);
  // Iterations read what was there before and write what is there after all.
  SmallVector<Value> written(op.getOutputs());
  for (int64_t trip = 0; trip < trips; ++trip) {
    IRMapping mapping;
    mapping.map(op.getRegionIterArgs(), op.getOutputs());
    int64_t rest = trip;
    for (int64_t i = loops.size() - 1; i >= 0; --i) {
      int64_t size = loops[i].size();
      mapping.map(op.getInductionVar(i),
                  arith::ConstantIndexOp::create(builder, op.getLoc(),
                                                 loops[i][rest % size])
                      .getResult());
      rest /= size;
    }
    for (Operation &inner : op.getBody()->without_terminator())
      builder.clone(inner, mapping);
    for (Operation &inner : op.getTerminator().getYieldingOps()) {
      auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(inner);
      if (!insert)
        return inner.emitError()
               << "'" << inner.getName()
               << "' at the end of scf.forall is not handled, expected "
                  "tensor.parallel_insert_slice";
      auto at = llvm::find(op.getRegionIterArgs(), insert.getDest());
      Value &dest = written[at - op.getRegionIterArgs().begin()];
      auto here = [&](SmallVector<OpFoldResult> mixed) {
        for (OpFoldResult &entry : mixed)
          if (auto value = dyn_cast<Value>(entry))
            entry = mapping.lookupOrDefault(value);
        return mixed;
      };
      dest = tensor::InsertSliceOp::create(
          builder, insert.getLoc(), mapping.lookupOrDefault(insert.getSource()),
          dest, here(insert.getMixedOffsets()), here(insert.getMixedSizes()),
          here(insert.getMixedStrides()));
    }
  }
  op->replaceAllUsesWith(written);
  Block *block = op->getBlock();
  op.erase();
  return before ? std::next(Block::iterator(before)) : block->begin();
}

LogicalResult legalize::flattenControl(func::FuncOp function) {
  return ControlFlattener(function.getContext())
      .flatten(function.getBody().front());
}
