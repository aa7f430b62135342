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
#include "tp/IR/CustomOps.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/LocalOpBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

std::optional<unsigned> tp::linalgLoopIndexOf(Value value) {
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
       def && isa<TPDialect>(def->getDialect()) && !isa<CustomOp>(def) &&
       def->getNumOperands() == 1;
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

namespace {
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
          std::optional<unsigned> found = linalgLoopIndexOf(index);
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
          else if (!hasSums(type))
            factor.unsplittable = "a table or result of a type without a sum";
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

  /// True if what is looked up in `table`, and every result, has an identity of
  /// sum for the ranks that do not hold the element.
  bool hasSums(RankedTensorType table) {
    auto hasSum = [](Type type) {
      return static_cast<bool>(
          identityOf(ReductionKind::Sum, getElementTypeOrSelf(type)));
    };
    return hasSum(table) && llvm::all_of(op->getResultTypes(), hasSum);
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
        // What an iteration makes of its accumulator the next one takes.
        if (reduces && result != kind)
          continue;
        if (!result || !initsAgree(subset, reduces))
          continue;
        rule.passthroughs.push_back({kind, subset, *result});
      }
    }
  }

  /// An init has its result's type, so one that the body reads takes part in
  /// every pass. A reduction adds a partial once per element only if its
  /// accumulator is partial as well, of the kind it combines by (or of an
  /// average, under a sum).
  bool initsAgree(ArrayRef<unsigned> subset, bool reduces) {
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
    return true;
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
} // namespace

FailureOr<ShardingRule> tp::linalgShardingRule(linalg::LinalgOp op) {
  return LinalgRule(op).build();
}
