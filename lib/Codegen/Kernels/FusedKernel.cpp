//===- FusedKernel.cpp - what a compute loop reads ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// Walks the elements a compute loop pulls in, as the emitter will, and notes
/// reads.
class ReadCollector {
public:
  ReadCollector(const StoredValues &plan, const ComputeLoop &computeLoop)
      : plan(plan), space(IndexSpace::ofExtents(computeLoop.extents)) {
    set.cuts.resize(computeLoop.extents.size());
    set.splits.resize(computeLoop.extents.size());
  }

  void element(Value value, Indices index, bool top = false);
  void init(Value value, const Indices &index);
  void body(linalg::LinalgOp op, const Indices &loops,
            llvm::function_ref<bool(OpOperand &)> wanted);
  ReadSet take() {
    set.symbols = std::move(space.symbols);
    return std::move(set);
  }
  ReadSet set;

private:
  SmallVector<AffineExpr> addSymbols(const ScalarSymbols &symbols);
  void scalar(Value value);
  void anyElement(Value tensor);
  void piecewise(const PiecewiseSource &piecewise, const Indices &index);

  const StoredValues &plan;
  IndexSpace space;
  /// One symbol for a scalar, however often the walk meets it: elements that
  /// several places read are then seen to be the same.
  llvm::DenseMap<std::pair<Value, std::pair<int64_t, int64_t>>, AffineExpr>
      symbolOf;
  llvm::DenseSet<std::pair<Value, AffineMap>> seen;
  /// The same of what is read at an index that depends on data: that the
  /// element is read at a known place, too, does not make it known here.
  llvm::DenseSet<std::pair<Value, AffineMap>> seenDependent;
  /// Tensors of which any element is read.
  llvm::DenseSet<Value> seenWhole;
  bool isDependent = false;
};
} // namespace

/// A function-level scalar may come out of a tensor.
void ReadCollector::scalar(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert({value, AffineMap()}).second)
    return;
  for (Value operand : op->getOperands())
    if (!isa<TensorType>(operand.getType()))
      scalar(operand);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    anyElement(extract.getTensor());
}

/// A read at an index that depends on data. What is read may itself be computed
/// on the way, from other tensors.
void ReadCollector::anyElement(Value tensor) {
  if (!seenWhole.insert(tensor).second)
    return;
  Indices index;
  for (int64_t size : cast<RankedTensorType>(tensor.getType()).getShape()) {
    index.push_back(
        getAffineSymbolExpr(space.symbols.size(), tensor.getContext()));
    space.symbols.push_back({0, size - 1});
  }
  if (isDependent)
    return element(tensor, index);
  SmallVector<Read> known = std::exchange(set.reads, {});
  std::swap(seen, seenDependent);
  isDependent = true;
  element(tensor, index);
  isDependent = false;
  std::swap(seen, seenDependent);
  for (const Read &read : set.reads)
    known.push_back({read.root, {}, true});
  set.reads = std::move(known);
}

/// Noted apart, though the loops may read the same element.
void ReadCollector::init(Value value, const Indices &index) {
  SmallVector<Read> known = std::exchange(set.reads, {});
  auto seenInLoops = std::exchange(seen, {});
  auto wholeInLoops = std::exchange(seenWhole, {});
  auto dependentInLoops = std::exchange(seenDependent, {});
  element(value, index);
  for (Read &read : set.reads) {
    read.isInit = true;
    known.push_back(std::move(read));
  }
  set.reads = std::move(known);
  seen = std::move(seenInLoops);
  seenWhole = std::move(wholeInLoops);
  seenDependent = std::move(dependentInLoops);
}

SmallVector<AffineExpr>
ReadCollector::addSymbols(const ScalarSymbols &symbols) {
  SmallVector<AffineExpr> exprs;
  for (auto [value, range] : llvm::zip_equal(symbols.values, symbols.ranges)) {
    auto [it, isNew] = symbolOf.try_emplace({value, {range.lo, range.hi}});
    if (isNew) {
      it->second =
          getAffineSymbolExpr(space.symbols.size(), value.getContext());
      space.symbols.push_back(range);
    }
    exprs.push_back(it->second);
    scalar(value);
  }
  return exprs;
}

void ReadCollector::piecewise(const PiecewiseSource &piecewise,
                              const Indices &index) {
  SmallVector<AffineExpr> symbols = addSymbols(piecewise.symbols);
  for (const SourceBox &box : piecewise.boxes) {
    Indices local;
    for (auto [i, expr] : llvm::enumerate(index)) {
      AffineExpr offset = box.offsets[i].replaceSymbols(symbols);
      local.push_back(simplify(expr - offset, space));
      // A plain loop index is cut where the box begins and ends.
      auto form =
          linearForm(local.back(), set.splits.size(), space.symbols.size());
      if (!form || llvm::any_of(form->symbolStrides,
                                [](int64_t stride) { return stride != 0; }))
        continue;
      int dim = -1;
      for (auto [d, stride] : llvm::enumerate(form->dimStrides))
        if (stride != 0)
          dim = dim == -1 && stride == 1 ? int(d) : -2;
      if (dim < 0)
        continue;
      for (int64_t bound : {int64_t(0), box.sizes[i]})
        set.splits[dim].push_back(bound - form->constant);
    }
    if (!box.source) {
      scalar(box.scalar);
      continue;
    }
    element(box.source, applyMap(box.map, local, {}, space));
  }
}

void ReadCollector::element(Value value, Indices index, bool top) {
  if (!top && plan.isStored(value)) {
    AffineExpr address =
        applyMap(plan.storage(value).address, index, {}, space).front();
    collectCuts(address, set.cuts);
    for (AffineExpr expr : index)
      collectCuts(expr, set.cuts);
    for (const Read &read : set.reads)
      if (read.root == value && read.index == index && !read.dataDependent)
        return;
    set.reads.push_back({value, index, false});
    return;
  }
  if (std::optional<View> view = viewOf(value)) {
    SmallVector<AffineExpr> symbols = addSymbols(view->symbols);
    return element(view->source, applyMap(view->map, index, symbols, space));
  }
  if (std::optional<Splat> splat = splatOf(value)) {
    if (splat->scalar)
      scalar(splat->scalar);
    return;
  }
  if (std::optional<PiecewiseSource> sourceBoxes = piecewiseSourceOf(value))
    return piecewise(*sourceBoxes, index);
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op)
    return;
  // One visit for an element that is inlined at several places.
  AffineMap key =
      AffineMap::inferFromExprList(ArrayRef<Indices>(index), value.getContext())
          .front();
  if (!seen.insert({value, key}).second)
    return;
  unsigned result = cast<OpResult>(value).getResultNumber();
  Indices loops = simplify(*loopsOfElement(op, result, index), space);
  body(op, loops, [](OpOperand &) { return true; });
}

void ReadCollector::body(linalg::LinalgOp op, const Indices &loops,
                         llvm::function_ref<bool(OpOperand &)> wanted) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType())) {
      scalar(operand.get());
      continue;
    }
    if (op.getMatchingBlockArgument(&operand).use_empty() || !wanted(operand))
      continue;
    element(operand.get(),
            applyMap(op.getMatchingIndexingMap(&operand), loops, {}, space));
  }
  op.getBlock()->walk([&](Operation *inner) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
      anyElement(extract.getTensor());
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() != op.getBlock() &&
          !isa<TensorType>(operand.getType()))
        scalar(operand);
  });
}

ReadSet tp::target::collectReads(const StoredValues &plan,
                                 const ComputeLoop &computeLoop) {
  ReadCollector collector(plan, computeLoop);
  if (computeLoop.isReduction()) {
    linalg::LinalgOp op = computeLoop.reduction;
    collector.body(op, computeLoop.base,
                   [&](OpOperand &operand) { return op.isDpsInput(&operand); });
    // The init is read once per result element.
    for (auto [number, index] :
         llvm::zip_equal(computeLoop.resultNumbers, computeLoop.targetIndex))
      collector.init(op.getDpsInitOperand(number)->get(), index);
    for (const ComputeLoop::ScatteredLoop &scattered : computeLoop.scattered)
      collector.element(scattered.place, scattered.index);
  } else {
    collector.element(computeLoop.source, computeLoop.base,
                      /*top=*/computeLoop.source ==
                          computeLoop.targets.front());
    if (computeLoop.where)
      collector.element(computeLoop.where->condition, computeLoop.where->index);
  }
  IndexSpace space = IndexSpace::ofExtents(computeLoop.extents);
  for (auto [target, index] :
       llvm::zip_equal(computeLoop.targets, computeLoop.targetIndex)) {
    if (!plan.isStored(target))
      continue;
    collectCuts(
        applyMap(plan.storage(target).address, index, {}, space).front(),
        collector.set.cuts);
  }
  for (auto [dim, splits] : llvm::enumerate(collector.set.splits)) {
    llvm::sort(splits);
    splits.erase(llvm::unique(splits), splits.end());
    llvm::erase_if(splits, [&](int64_t at) {
      return at <= 0 || at >= computeLoop.extents[dim];
    });
  }
  return collector.take();
}

/// Splits loops until div and mod are gone, as far as divisors allow.
static void refineStage(const StoredValues &plan, ComputeLoop &computeLoop) {
  for (int round = 0; round < 4; ++round) {
    computeLoop.reads = collectReads(plan, computeLoop);
    Refinement finer = refine(computeLoop.extents, computeLoop.reads.cuts,
                              computeLoop.op->getContext());
    if (!finer.changed)
      return;
    IndexSpace space = IndexSpace::ofExtents(finer.extents);
    auto replace = [&](Indices &index) {
      for (AffineExpr &expr : index)
        expr = simplify(expr.replaceDims(finer.old), space);
    };
    replace(computeLoop.base);
    for (Indices &index : computeLoop.targetIndex)
      replace(index);
    SmallVector<bool> reduces;
    for (unsigned owner : finer.owner)
      reduces.push_back(computeLoop.reduces[owner]);
    computeLoop.extents = finer.extents;
    computeLoop.reduces = reduces;
  }
  computeLoop.reads = collectReads(plan, computeLoop);
}

ComputeLoop tp::target::makeElementwise(const StoredValues &plan, Value source,
                                        Value target) {
  ComputeLoop computeLoop;
  computeLoop.op = target.getDefiningOp();
  computeLoop.source = source;
  computeLoop.targets = {target};
  computeLoop.extents.assign(shapeOf(target).begin(), shapeOf(target).end());
  computeLoop.reduces.assign(computeLoop.extents.size(), false);
  IndexSpace space = IndexSpace::ofExtents(computeLoop.extents);
  computeLoop.base = simplify(
      identityIndices(computeLoop.extents.size(), source.getContext()), space);
  computeLoop.targetIndex = {computeLoop.base};
  refineStage(plan, computeLoop);
  return computeLoop;
}

void tp::target::setCondition(const StoredValues &plan,
                              ComputeLoop &computeLoop, Value condition) {
  Indices index = computeLoop.targetIndex.front();
  for (auto [expr, size] : llvm::zip_equal(index, shapeOf(condition)))
    if (size == 1)
      expr = getAffineConstantExpr(0, condition.getContext());
  computeLoop.where = {condition, index};
  computeLoop.reads = collectReads(plan, computeLoop);
}

/// The results of a reduction whose values are needed, following which
/// accumulators the yielded values use.
static SmallVector<unsigned> neededResults(linalg::LinalgOp op) {
  llvm::SmallSetVector<unsigned, 4> needed;
  for (OpResult result : op->getResults())
    if (!result.use_empty())
      needed.insert(result.getResultNumber());
  // One that nothing reads runs for what its body checks.
  if (needed.empty())
    needed.insert(0);
  Operation *yield = op.getBlock()->getTerminator();
  for (unsigned i = 0; i < needed.size(); ++i) {
    SmallVector<Value> work = {yield->getOperand(needed[i])};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() != op.getBlock())
          continue;
        OpOperand *operand = operandOfArgument(op, argument);
        if (operand && op.isDpsInit(operand))
          needed.insert(operand->getOperandNumber() - op.getNumDpsInputs());
      } else if (value.getDefiningOp()->getBlock() == op.getBlock()) {
        llvm::append_range(work, value.getDefiningOp()->getOperands());
      }
    }
  }
  SmallVector<unsigned> sorted(needed.begin(), needed.end());
  llvm::sort(sorted);
  return sorted;
}

ComputeLoop
tp::target::makeReduction(const StoredValues &plan, linalg::LinalgOp op,
                          llvm::function_ref<Value(OpResult)> targetOf) {
  ComputeLoop computeLoop;
  computeLoop.op = op;
  computeLoop.reduction = op;
  computeLoop.extents = op.getStaticLoopRanges();
  for (utils::IteratorType type : op.getIteratorTypesArray())
    computeLoop.reduces.push_back(type == utils::IteratorType::reduction);
  IndexSpace space = IndexSpace::ofExtents(computeLoop.extents);
  computeLoop.base = simplify(
      identityIndices(computeLoop.extents.size(), op.getContext()), space);
  for (unsigned number : neededResults(op)) {
    computeLoop.resultNumbers.push_back(number);
    computeLoop.targets.push_back(targetOf(op->getResult(number)));
    computeLoop.targetIndex.push_back(
        applyMap(op.getMatchingIndexingMap(op.getDpsInitOperand(number)),
                 computeLoop.base, {}, space));
  }
  refineStage(plan, computeLoop);
  return computeLoop;
}
