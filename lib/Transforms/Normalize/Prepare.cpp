//===- Prepare.cpp - before dimensions are refined ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "tp/Transforms/Normalize/NormalizePasses.h"

using namespace mlir;
using namespace tp;

static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
    else if (auto generic = dyn_cast<linalg::GenericOp>(op))
      eraseDeadOps(*generic.getBlock());
}

void tp::eraseDeadOps(func::FuncOp function) {
  ::eraseDeadOps(function.getBody().front());
}

static DenseElementsAttr splatOf(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat() ? elements : DenseElementsAttr();
}

/// The values of the body that some live result is computed from.
static llvm::SmallDenseSet<Value> liveBodyValues(linalg::GenericOp op) {
  llvm::SmallDenseSet<Value> live;
  SmallVector<Value> worklist;
  auto reach = [&](Value value) {
    if (live.insert(value).second)
      worklist.push_back(value);
  };
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [result, yielded] :
       llvm::zip(op.getResults(), yield->getOperands()))
    if (!result.use_empty())
      reach(yielded);
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!isMemoryEffectFree(&inner))
      llvm::for_each(inner.getOperands(), reach);
  while (!worklist.empty()) {
    Operation *def = worklist.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != op.getBlock())
      continue;
    def->walk(
        [&](Operation *inner) { llvm::for_each(inner->getOperands(), reach); });
  }
  return live;
}

/// Rebuilds a generic without the results nobody reads (softmax's argmax) and
/// without its splat inputs, whose scalar the body then captures.
static void slim(linalg::GenericOp op, OpBuilder &builder) {
  llvm::SmallDenseSet<Value> live = liveBodyValues(op);
  Block *body = op.getBlock();
  unsigned numInputs = op.getNumDpsInputs();
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<unsigned> keptResults, keptArguments;
  SmallVector<std::pair<unsigned, TypedAttr>> scalars;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    unsigned number = operand->getOperandNumber();
    DenseElementsAttr splat = splatOf(operand->get());
    if (splat && isa<FloatType, IntegerType>(splat.getElementType())) {
      scalars.push_back({number, splat.getSplatValue<TypedAttr>()});
      continue;
    }
    inputs.push_back(operand->get());
    maps.push_back(op.getMatchingIndexingMap(operand));
    keptArguments.push_back(number);
  }
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    bool keep = !op.getResult(i).use_empty() ||
                live.contains(body->getArgument(numInputs + i));
    if (!keep)
      continue;
    keptResults.push_back(i);
    keptArguments.push_back(numInputs + i);
    inits.push_back(op.getOutputs()[i]);
    maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(i)));
  }
  // Loops need a tensor that spans them.
  bool shrinks = !scalars.empty() || keptResults.size() != op.getNumResults();
  if (!shrinks || keptResults.empty() ||
      !inversePermutation(concatAffineMaps(maps, op.getContext())))
    return;

  builder.setInsertionPoint(op);
  IRMapping mapping;
  for (auto [number, scalar] : scalars)
    mapping.map(
        body->getArgument(number),
        arith::ConstantOp::create(builder, op.getLoc(), scalar).getResult());
  auto slimmed = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(ValueRange(inits)), inputs, inits, maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        for (auto [number, argument] : llvm::zip(keptArguments, arguments)) {
          argument.setLoc(body->getArgument(number).getLoc());
          mapping.map(body->getArgument(number), argument);
        }
        for (Operation &inner : body->without_terminator()) {
          bool needed = !isMemoryEffectFree(&inner) ||
                        llvm::any_of(inner.getResults(), [&](Value result) {
                          return live.contains(result);
                        });
          if (needed)
            nested.clone(inner, mapping);
        }
        SmallVector<Value> yielded;
        for (unsigned i : keptResults)
          yielded.push_back(
              mapping.lookupOrDefault(body->getTerminator()->getOperand(i)));
        linalg::YieldOp::create(nested, body->getTerminator()->getLoc(),
                                yielded);
      });
  for (auto [i, result] : llvm::zip(keptResults, slimmed.getResults()))
    op.getResult(i).replaceAllUsesWith(result);
  op.erase();
}

/// True for a generic that computes its elements from their indices alone.
static bool isOfIndices(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 0 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != 0 ||
      !op.getOutputs()[0].getDefiningOp<tensor::EmptyOp>())
    return false;
  for (Operation &inner : op.getBlock()->without_terminator())
    if (inner.getNumRegions() != 0 || !isMemoryEffectFree(&inner) ||
        llvm::any_of(inner.getOperandTypes(), llvm::IsaPred<ShapedType>))
      return false;
  return true;
}

/// True for ops that are made anew for every user.
static bool isCopiedPerUse(Operation *op) {
  if (isa<tensor::EmptyOp>(op))
    return true;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return isOfIndices(generic);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>() != nullptr;
  return isa<arith::ConstantOp>(op) && splatOf(op->getResult(0));
}

/// Gives a use its own copy of an init, a splat or indices, right before
/// `user`: otherwise 0 to 255 would make a vocabulary of 256 and 16 x 16
/// positions one dimension.
static void ownOperand(OpOperand &use, Operation *user, OpBuilder &builder) {
  Operation *def = use.get().getDefiningOp();
  if (!def || !isCopiedPerUse(def) || def->getBlock() != user->getBlock())
    return;
  if (def->hasOneUse()) {
    def->moveBefore(user);
  } else {
    builder.setInsertionPoint(user);
    def = builder.clone(*def);
    use.set(def->getResult(0));
  }
  // A shared op names its first user.
  if (!isa<linalg::GenericOp>(def))
    def->setLoc(user->getLoc());
  for (OpOperand &operand : def->getOpOperands())
    ownOperand(operand, def, builder);
}

LogicalResult tp::prepare(func::FuncOp function) {
  Block &block = function.getBody().front();
  IRRewriter rewriter(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto named = dyn_cast<linalg::LinalgOp>(op);
    if (!named || isa<linalg::GenericOp, linalg::FillOp>(op))
      continue;
    if (!named.hasPureTensorSemantics())
      return op.emitError() << "expected an op on tensors";
    rewriter.setInsertionPoint(&op);
    if (failed(linalg::generalizeNamedOp(rewriter, named)))
      return op.emitError()
             << "cannot write '" << op.getName() << "' as linalg.generic";
  }
  widenSums(function);
  joinPaddedParts(function);
  eraseDeadOps(function);
  // Backwards, so that a dead result frees what computed it.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      slim(generic, rewriter);
  eraseDeadOps(function);
  splitLookups(function);
  pairStridedSlices(function);
  eraseDeadOps(function);
  for (Operation &op : block)
    op.walk([&](Operation *user) {
      for (OpOperand &use : user->getOpOperands())
        ownOperand(use, &op, rewriter);
    });
  eraseDeadOps(function);
  return success();
}
