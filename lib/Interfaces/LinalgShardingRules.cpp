//===- LinalgShardingRules.cpp - rules of linalg ops ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rule for all structured linalg ops, read from their indexing maps and
// bodies: factor i is loop i. A table that the body reads by tensor.extract is
// a slot too; a dimension of it read at exactly `linalg.index i` is factor i,
// and one read at computed indices is an indexed factor of its own.
//
//===----------------------------------------------------------------------===//

#include "LinalgShardingRules.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/LocalOpBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

namespace {
/// The loop whose index `value` is, looking through casts that keep it.
std::optional<unsigned> loopIndexOf(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (auto index = dyn_cast<linalg::IndexOp>(def))
      return index.getDim();
    if (!isa<arith::IndexCastOp>(def))
      return std::nullopt;
    value = def->getOperand(0);
  }
  return std::nullopt;
}

/// How `combiner` combines where it starts from `init`. maxnumf and minnumf
/// ignore NaN and a maximum over ranks does not; from an identity, which is
/// none, they never make one.
std::optional<ReductionKind> reductionFromIdentity(Operation &combiner,
                                                   Value init) {
  // Between the fill and its use may be changes of layout.
  for (Operation *def = init.getDefiningOp();
       def && isa<TPDialect>(def->getDialect()) && def->getNumOperands() == 1;
       def = init.getDefiningOp())
    init = def->getOperand(0);
  auto fill = init.getDefiningOp<linalg::FillOp>();
  auto startsFrom = [&](ReductionKind kind) {
    return fill && isIdentityConstant(fill.value(), kind);
  };
  if (isa<arith::MaxNumFOp>(combiner) && startsFrom(ReductionKind::Max))
    return ReductionKind::Max;
  if (isa<arith::MinNumFOp>(combiner) && startsFrom(ReductionKind::Min))
    return ReductionKind::Min;
  return std::nullopt;
}

/// Builds the rule of one structured op.
class LinalgRule {
public:
  explicit LinalgRule(linalg::LinalgOp op)
      : op(op), body(*op.getBlock()), ranges(op.getStaticLoopRanges()) {}

  FailureOr<ShardingRule> build() {
    if (llvm::any_of(ranges, ShapedType::isDynamic))
      return op.emitOpError("has a dynamic shape, expected static sizes; "
                            "export the model with fixed sizes");
    if (!op.hasPureTensorSemantics())
      return op.emitOpError("works on buffers, expected tensors");
    rule.slots = slotsOf(op);
    addLoops();
    addOperands();
    addTables();
    addCombiners();
    addPasses();
    addFreePartials();
    rule.work = std::max<double>(1, body.getOperations().size() - 1);
    for (int64_t size : ranges)
      rule.work *= size;
    return std::move(rule);
  }

private:
  void addLoops() {
    for (auto [size, iterator] :
         llvm::zip(ranges, op.getIteratorTypesArray())) {
      Factor &factor = rule.factors.emplace_back();
      factor.size = size;
      factor.kind = iterator == utils::IteratorType::parallel
                        ? FactorKind::Parallel
                        : FactorKind::Reduction;
      if (iterator != utils::IteratorType::parallel &&
          iterator != utils::IteratorType::reduction)
        factor.unsplittable = "a window loop cannot be split";
    }
  }

  /// A dimension's factors by the map result that indexes it.
  DimFactors factorsOf(AffineExpr expr) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return {dim.getPosition()};
    // A loop that meets others in one dimension (a convolution's window) would
    // need a halo.
    expr.walk([&](AffineExpr inner) {
      if (auto dim = dyn_cast<AffineDimExpr>(inner))
        rule.factors[dim.getPosition()].unsplittable =
            "a loop that is added to another in an index cannot be split";
    });
    return {};
  }

  void addOperands() {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      TensorFactors dims;
      for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
        dims.push_back(factorsOf(expr));
      bool isInit = op.isDpsInit(&operand);
      rule.initOf.push_back(
          isInit ? std::optional<unsigned>(
                       op.getTiedOpResult(&operand).getResultNumber())
                 : std::nullopt);
      if (isInit)
        rule.resultFactors.push_back(dims);
      rule.slotFactors.push_back(std::move(dims));
    }
    numOperandSlots = rule.slotFactors.size();
  }

  void addTables() {
    for (Value table : llvm::drop_begin(rule.slots, numOperandSlots)) {
      auto type = cast<RankedTensorType>(table.getType());
      TensorFactors dims(type.getRank());
      // Every read must say the same of a dimension; otherwise the dimension is
      // no factor and the table stays whole there.
      SmallVector<bool> isIndexed(type.getRank(), true);
      SmallVector<std::optional<unsigned>> loop(type.getRank());
      bool first = true, onlyExtracts = true;
      forEachRead(table, onlyExtracts, [&](tensor::ExtractOp read) {
        for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
          std::optional<unsigned> found = loopIndexOf(index);
          if (found && ranges[*found] != type.getDimSize(dim))
            found = std::nullopt, isIndexed[dim] = false;
          if (found || matchPattern(index, m_Constant()))
            isIndexed[dim] = false;
          loop[dim] = first || loop[dim] == found ? found : std::nullopt;
        }
        first = false;
      });
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        if (!onlyExtracts)
          continue;
        if (loop[dim]) {
          dims[dim] = {*loop[dim]};
        } else if (isIndexed[dim]) {
          dims[dim] = {static_cast<unsigned>(rule.factors.size())};
          Factor &factor = rule.factors.emplace_back();
          factor.kind = FactorKind::Indexed;
          factor.size = type.getDimSize(dim);
          factor.combiners.assign(op->getNumResults(), ReductionKind::Sum);
          if (!passes(ReductionKind::Sum,
                      {static_cast<unsigned>(rule.slotFactors.size())}))
            factor.unsplittable = "the results are not linear in the table";
          else if (type.getElementType().isInteger(1))
            factor.unsplittable = "a table of i1 has no sum";
          else if (!llvm::all_of(
                       op.getRegionOutputArgs(),
                       [](BlockArgument arg) { return arg.use_empty(); }))
            // The accumulator would be partial too, and a product of two
            // partial values is none.
            factor.unsplittable = "the results accumulate onto their inits";
        }
      }
      rule.slotFactors.push_back(std::move(dims));
      rule.initOf.push_back(std::nullopt);
    }
  }

  void forEachRead(Value table, bool &onlyExtracts,
                   llvm::function_ref<void(tensor::ExtractOp)> visit) {
    body.walk([&](Operation *user) {
      if (!llvm::is_contained(user->getOperands(), table))
        return;
      auto read = dyn_cast<tensor::ExtractOp>(user);
      if (read && read->getBlock() == &body)
        visit(read);
      else
        onlyExtracts = false;
    });
  }

  void addCombiners() {
    SmallVector<std::string> whyNot(op->getNumResults());
    SmallVector<ReductionKind> kinds(op->getNumResults(), ReductionKind::Sum);
    SmallVector<BlockArgument> outputs(op.getRegionOutputArgs());
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      SmallVector<Operation *> combiners;
      Value reduced = matchReduction(outputs, i, combiners);
      std::optional<ReductionKind> kind;
      if (reduced && combiners.size() == 1) {
        kind = reductionKindOf(combiners.front());
        if (!kind)
          kind = reductionFromIdentity(*combiners.front(),
                                       op.getDpsInitOperand(i)->get());
      }
      if (kind)
        kinds[i] = *kind;
      else
        whyNot[i] = "result #" + std::to_string(i) +
                    " is not a reduction whose parts combine by sum, product, "
                    "max or min";
    }
    for (Factor &factor : rule.factors) {
      if (factor.kind != FactorKind::Reduction)
        continue;
      factor.combiners.assign(kinds.begin(), kinds.end());
      for (const std::string &why : whyNot)
        if (!why.empty() && factor.unsplittable.empty())
          factor.unsplittable = why;
    }
  }

  /// The scalar that stands for slot `slot` in the body.
  bool isScalarOf(Value value, ArrayRef<unsigned> slots) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != &body)
        return false;
      // Slots count tensor operands only, block arguments all of them.
      unsigned slot = 0;
      for (OpOperand &operand : op->getOpOperands()) {
        bool isTensor = isa<RankedTensorType>(operand.get().getType());
        if (op.getMatchingBlockArgument(&operand) == argument)
          return isTensor && llvm::is_contained(slots, slot);
        slot += isTensor;
      }
      return false;
    }
    auto read = value.getDefiningOp<tensor::ExtractOp>();
    if (!read || read->getBlock() != &body)
      return false;
    for (unsigned slot : slots)
      if (slot >= numOperandSlots && rule.slots[slot] == read.getTensor())
        return true;
    return false;
  }

  std::optional<ReductionKind> passes(ReductionKind kind,
                                      ArrayRef<unsigned> slots) {
    return partialThroughBody(
        body, kind, [&](Value value) { return isScalarOf(value, slots); });
  }

  void addPasses() {
    // Reading a table at computed places, or looping over window indices, does
    // not matter for partial values: the same elements are read on all ranks.
    SmallVector<unsigned> candidates;
    for (unsigned slot = 0; slot < rule.slots.size(); ++slot) {
      bool isRead = slot >= numOperandSlots ||
                    llvm::any_of(body.getArguments(), [&](BlockArgument arg) {
                      return !arg.use_empty() && isScalarOf(arg, {slot});
                    });
      if (isRead)
        candidates.push_back(slot);
    }
    bool reduces = llvm::any_of(rule.factors, [](const Factor &factor) {
      return factor.kind == FactorKind::Reduction;
    });
    // Subsets grow fast; beyond six tensors only single ones and all together
    // are tried.
    unsigned n = candidates.size();
    SmallVector<SmallVector<unsigned, 4>> subsets;
    if (n <= 6) {
      for (unsigned mask = 1; mask < (1u << n); ++mask) {
        SmallVector<unsigned, 4> &subset = subsets.emplace_back();
        for (unsigned i = 0; i < n; ++i)
          if (mask >> i & 1)
            subset.push_back(candidates[i]);
      }
    } else {
      for (unsigned slot : candidates)
        subsets.push_back({slot});
      subsets.emplace_back(candidates.begin(), candidates.end());
    }
    for (ReductionKind kind : allReductionKinds) {
      for (const SmallVector<unsigned, 4> &subset : subsets) {
        std::optional<ReductionKind> result = passes(kind, subset);
        if (!result || !initsAgree(subset, reduces, *result))
          continue;
        rule.passes.push_back({kind, subset, *result});
      }
    }
  }

  /// An init has its result's type, so one that the body reads takes part in
  /// every pass. A reduction adds a partial once per element only if its
  /// accumulator is partial as well, of the kind it combines by (or of an
  /// average, under a sum).
  bool initsAgree(ArrayRef<unsigned> subset, bool reduces,
                  ReductionKind result) {
    for (unsigned slot = 0; slot < numOperandSlots; ++slot) {
      if (!rule.initOf[slot])
        continue;
      bool isRead = false;
      for (BlockArgument arg : body.getArguments())
        isRead |= !arg.use_empty() && isScalarOf(arg, {slot});
      if (isRead != llvm::is_contained(subset, slot))
        return false;
      if (reduces && !isRead)
        return false;
    }
    return !reduces || result != ReductionKind::Product;
  }

  void addFreePartials() {
    // A fill with an identity, and a body that yields one, is partial as it
    // stands. Where the body reads anything else the value is not known.
    if (numOperandSlots != rule.slots.size() ||
        !llvm::all_of(rule.initOf,
                      [](auto init) { return init.has_value(); }) ||
        !llvm::all_of(op.getRegionOutputArgs(),
                      [](BlockArgument arg) { return arg.use_empty(); }))
      return;
    for (ReductionKind kind : allReductionKinds) {
      bool all =
          llvm::all_of(body.getTerminator()->getOperands(), [&](Value yielded) {
            if (auto arg = dyn_cast<BlockArgument>(yielded);
                arg && arg.getOwner() == &body)
              yielded = op.getMatchingOpOperand(arg)->get();
            return isIdentityConstant(yielded, kind);
          });
      if (all)
        rule.freePartials.push_back(kind);
    }
  }

  linalg::LinalgOp op;
  Block &body;
  SmallVector<int64_t> ranges;
  ShardingRule rule;
  unsigned numOperandSlots = 0;
};

//===----------------------------------------------------------------------===//
// The op of one rank
//===----------------------------------------------------------------------===//

/// Makes the body of the op that one rank runs speak of what it did globally.
/// Buffers of uneven chunks end in padding that holds anything: it must not get
/// into a reduction, choose an element, divide or fail an assertion.
class LocalBody {
public:
  LocalBody(LocalOpBuilder &local, linalg::LinalgOp op, unsigned numLoops,
            unsigned numOperandSlots)
      : local(local), builder(local.builder), op(op), body(*op.getBlock()),
        numLoops(numLoops), numOperandSlots(numOperandSlots) {}

  /// True if `op` needs to be rewritten beyond its types under this strategy,
  /// `body` being its body.
  static bool isNeeded(LocalOpBuilder &local, linalg::LinalgOp op) {
    Block &body = *op.getBlock();
    bool readsIndex = !body.getOps<linalg::IndexOp>().empty();
    bool hasTables = !body.getOps<tensor::ExtractOp>().empty();
    for (unsigned factor = 0; factor < local.rule.factors.size(); ++factor)
      if (local.isSplit(factor) &&
          (readsIndex || hasTables || local.isUneven(factor)))
        return true;
    return false;
  }

  void rewrite() {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    for (unsigned factor = 0; factor < local.rule.factors.size(); ++factor)
      if (local.isSplit(factor))
        local.prepareIndices(factor);
    auto indices = llvm::to_vector(body.getOps<linalg::IndexOp>());
    builder.setInsertionPointToStart(&body);
    findValidity();
    guardTraps();
    for (unsigned slot = numOperandSlots; slot < local.rule.slots.size();
         ++slot)
      localizeReads(slot);
    maskReductions();
    globalize(indices);
  }

private:
  Value indexOf(unsigned loop) {
    return linalg::IndexOp::create(builder, op.getLoc(), loop);
  }

  Value both(Value a, Value b) {
    if (!a || !b)
      return a ? a : b;
    return arith::AndIOp::create(builder, op.getLoc(), a, b);
  }

  /// Sets `isElement` (the iteration is one of the rank's) and `isReduced` (its
  /// indices of reduction loops are), null where they always are.
  void findValidity() {
    for (unsigned loop = 0; loop < numLoops; ++loop) {
      if (!local.isSplit(loop) || !local.isUneven(loop))
        continue;
      Value valid = local.isValid(loop, indexOf(loop));
      isElement = both(isElement, valid);
      if (local.rule.factors[loop].kind == FactorKind::Reduction)
        isReduced = both(isReduced, valid);
    }
  }

  Value selectOrZero(Value condition, Value index, Location loc) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    return arith::SelectOp::create(builder, loc, condition, index, zero);
  }

  void guardTraps() {
    if (!isElement)
      return;
    body.walk([&](Operation *inner) {
      Location loc = inner->getLoc();
      builder.setInsertionPoint(inner);
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
              arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
              inner)) {
        Value divisor = inner->getOperand(1);
        Value one = arith::ConstantOp::create(
            builder, loc, builder.getOneAttr(divisor.getType()));
        inner->setOperand(
            1, arith::SelectOp::create(builder, loc, isElement, divisor, one));
      } else if (auto read = dyn_cast<tensor::ExtractOp>(inner);
                 read && read->getBlock() != &body) {
        for (OpOperand &index : read.getIndicesMutable())
          index.set(selectOrZero(isElement, index.get(), loc));
      } else if (auto assertion = dyn_cast<cf::AssertOp>(inner)) {
        Value always =
            arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
        assertion.getArgMutable().assign(arith::SelectOp::create(
            builder, loc, isElement, assertion.getArg(), always));
      }
    });
  }

  /// Rewrites the reads of table slot `slot`: indices into a sharded dimension
  /// become the rank's own, and where a computed index lies elsewhere the read
  /// yields 0.
  void localizeReads(unsigned slot) {
    for (auto read : llvm::to_vector(body.getOps<tensor::ExtractOp>())) {
      if (read.getTensor() != local.slot(slot))
        continue;
      Location loc = read.getLoc();
      builder.setInsertionPoint(read);
      SmallVector<Value> indices(read.getIndices());
      Value isHere;
      for (auto [dim, factors] :
           llvm::enumerate(local.rule.slotFactors[slot])) {
        bool isSplit = !factors.empty() && local.isSplit(factors.front());
        if (isSplit && factors.front() < numLoops) {
          indices[dim] = indexOf(factors.front());
          continue;
        }
        std::optional<unsigned> loop = loopIndexOf(indices[dim]);
        bool isInside =
            !isElement ||
            (loop && !(local.isSplit(*loop) && local.isUneven(*loop)));
        if (!isInside)
          indices[dim] = selectOrZero(isElement, indices[dim], loc);
        if (!isSplit)
          continue;
        unsigned factor = factors.front();
        Value offset = local.offset(factor), end = local.end(factor);
        Value index = indices[dim];
        Value isAfter = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sge, index, offset);
        Value isBefore = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::slt, index, end);
        Value holds = arith::AndIOp::create(builder, loc, isAfter, isBefore);
        Value own = arith::SubIOp::create(builder, loc, index, offset);
        indices[dim] = selectOrZero(holds, own, loc);
        isHere = both(isHere, holds);
      }
      read.getIndicesMutable().assign(indices);
      if (!isHere)
        continue;
      builder.setInsertionPointAfter(read);
      Value identity = arith::ConstantOp::create(
          builder, loc, identityOf(ReductionKind::Sum, read.getType()));
      auto masked =
          arith::SelectOp::create(builder, loc, isHere, read, identity);
      read->getResult(0).replaceAllUsesExcept(masked, masked);
    }
  }

  /// An iteration beyond the rank's end leaves the accumulators as they are.
  void maskReductions() {
    if (!isReduced)
      return;
    Operation *yield = body.getTerminator();
    builder.setInsertionPoint(yield);
    for (auto [i, output] : llvm::enumerate(op.getRegionOutputArgs()))
      yield->setOperand(i,
                        arith::SelectOp::create(builder, op.getLoc(), isReduced,
                                                yield->getOperand(i), output));
  }

  /// linalg.index counts the rank's part; what the body computes with is the
  /// global index.
  void globalize(ArrayRef<linalg::IndexOp> indices) {
    for (linalg::IndexOp index : indices) {
      unsigned loop = index.getDim();
      if (!local.isSplit(loop))
        continue;
      builder.setInsertionPointAfter(index);
      Value own = indexOf(loop);
      index->getResult(0).replaceAllUsesWith(local.globalIndex(loop, own));
      index->erase();
    }
  }

  LocalOpBuilder &local;
  OpBuilder &builder;
  linalg::LinalgOp op;
  Block &body;
  unsigned numLoops, numOperandSlots;
  Value isElement, isReduced;
};
} // namespace

FailureOr<SmallVector<Value>> tp::createLocalLinalg(Operation *op,
                                                    LocalOpBuilder &local) {
  OpBuilder &builder = local.builder;
  IRMapping mapping = local.mapping();
  Operation *clone = builder.clone(*op, mapping);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    clone->getResult(i).setType(local.resultType(i));
  auto localOp = cast<linalg::LinalgOp>(clone);
  if (!LocalBody::isNeeded(local, localOp))
    return SmallVector<Value>(clone->getResults());

  // The bodies of named ops are fixed.
  if (!isa<linalg::GenericOp>(clone)) {
    IRRewriter rewriter(builder);
    rewriter.setInsertionPoint(clone);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, localOp);
    if (failed(generic))
      return op->emitOpError("has no general form, which splitting a dimension "
                             "unevenly needs");
    localOp = cast<linalg::LinalgOp>(generic->getOperation());
  }
  auto global = cast<linalg::LinalgOp>(op);
  unsigned numOperandSlots = llvm::count_if(op->getOperands(), [](Value v) {
    return isa<RankedTensorType>(v.getType());
  });
  LocalBody(local, localOp, global.getNumLoops(), numOperandSlots).rewrite();
  return SmallVector<Value>(localOp->getResults());
}

FailureOr<ShardingRule> tp::linalgShardingRule(linalg::LinalgOp op) {
  return LinalgRule(op).build();
}
