//===- SkipRows.cpp - pass tp-skip-rows -----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a reader leaves out is left out where it would be made.
//
//===----------------------------------------------------------------------===//

#include "SkipRows.h"
#include "CodegenPlan.h"
#include "NeededElements.h"
#include "SkipTerms.h"
#include "Storage/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Codegen/CodegenPasses.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/TP.h"

namespace tp {
#define GEN_PASS_DEF_SKIPROWS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

namespace {
class RowSkipper {
public:
  explicit RowSkipper(func::FuncOp function) : function(function) {}

  unsigned run();

private:
  Value maskOf(Condition needed, Operation *op);
  void skip(const Condition &needed, Operation *op);

  func::FuncOp function;
  /// Of the shapes that tp.needed takes, by what they are made of.
  std::vector<std::pair<Condition, Value>> masks;
};
} // namespace

/// The condition is of rows, or of columns, of the product: it depends on no
/// loops of both operands' own.
static bool isOfRows(const Contraction &contraction, AffineMap place) {
  linalg::LinalgOp op = contraction.op;
  AffineMap sum = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  auto belongsTo = [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return llvm::all_of(llvm::seq(sum.getNumResults()), [&](unsigned dim) {
      if (!place.isFunctionOfDim(dim))
        return true;
      auto loop = dyn_cast<AffineDimExpr>(sum.getResult(dim));
      return loop && map.isFunctionOfDim(loop.getPosition());
    });
  };
  return belongsTo(contraction.lhs) || belongsTo(contraction.rhs);
}

/// Whether time is saved where `op` makes some rows.
static bool isWorth(Operation &op, AffineMap place) {
  if (op.hasAttr(tp::attr::attention))
    return false;
  if (std::optional<Contraction> contraction = contractionOf(&op))
    return isOfRows(*contraction, place);
  // Of what is computed element by element rows are left out.
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  auto isTensor = [](OpOperand *operand) {
    return isa<RankedTensorType>(operand->get().getType());
  };
  unsigned rank = place.getNumDims();
  return linalgOp && linalgOp.hasPureTensorSemantics() &&
         isElementwise(linalgOp) && !viewOf(op.getResult(0)) &&
         llvm::any_of(linalgOp.getDpsInputOperands(), isTensor) && rank > 0 &&
         !place.isFunctionOfDim(rank - 1) &&
         shapeOf(op.getResult(0)).back() > 1;
}

/// Of what is needed under a condition, a select by that condition takes one
/// side.
static void takeSelected(linalg::LinalgOp op, Condition needed) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      !isElementwise(op))
    return;
  needed.place = needed.place.compose(
      op.getIndexingMapMatchingResult(cast<OpResult>(op->getResult(0))));
  for (auto select :
       llvm::make_early_inc_range(op.getBlock()->getOps<arith::SelectOp>())) {
    std::optional<Condition> own = conditionOf(op, select);
    if (!own || own->value != needed.value || own->place != needed.place)
      continue;
    select.replaceAllUsesWith(needed.wanted ? select.getTrueValue()
                                            : select.getFalseValue());
    select.erase();
  }
}

/// Whether `condition` is there before `user`, perhaps once what makes it has
/// moved.
static bool makeAvailable(Value condition, Operation *user) {
  SmallVector<Operation *> makers;
  SmallVector<Value> work = {condition};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *maker = work.pop_back_val().getDefiningOp();
    if (!maker || maker->getBlock() != user->getBlock() ||
        maker->isBeforeInBlock(user) || !seen.insert(maker).second)
      continue;
    if (maker == user || !isMemoryEffectFree(maker))
      return false;
    makers.push_back(maker);
    llvm::append_range(work, tp::inputsOf(maker));
  }
  llvm::sort(makers,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *maker : makers)
    maker->moveBefore(user);
  return true;
}

/// The condition with a dimension for each of the result of `op`.
Value RowSkipper::maskOf(Condition needed, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  OpBuilder builder(op);
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> dims;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    bool depends = needed.place.isFunctionOfDim(dim);
    shape.push_back(depends ? size : 1);
    dims.push_back(depends ? builder.getAffineDimExpr(dim)
                           : builder.getAffineConstantExpr(0));
  }
  needed.place = needed.place.replaceDimsAndSymbols(dims, {}, shape.size(), 0);
  for (auto &[known, value] : masks)
    if (known == needed && shapeOf(value) == ArrayRef(shape)) {
      // It may have been made for an op that stands behind this one.
      bool isThere = makeAvailable(value, op);
      assert(isThere && "a mask of a condition that is there");
      (void)isThere;
      return value;
    }
  Location loc = needed.value.getLoc();
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, builder.getI1Type());
  SmallVector<utils::IteratorType> loops(shape.size(),
                                         utils::IteratorType::parallel);
  auto made = linalg::GenericOp::create(
      builder, loc, empty.getType(), needed.value, empty,
      ArrayRef{needed.place, builder.getMultiDimIdentityMap(shape.size())},
      loops, [&](OpBuilder &inner, Location, ValueRange arguments) {
        Value is = arguments[0];
        if (!needed.wanted) {
          Value one =
              arith::ConstantOp::create(inner, loc, inner.getBoolAttr(true));
          is = arith::XOrIOp::create(inner, loc, is, one);
        }
        linalg::YieldOp::create(inner, loc, is);
      });
  masks.emplace_back(needed, made.getResult(0));
  return made.getResult(0);
}

void RowSkipper::skip(const Condition &needed, Operation *op) {
  Value mask = maskOf(needed, op), value = op->getResult(0);
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  auto some =
      tp::NeededOp::create(builder, op->getLoc(), value.getType(), value, mask);
  value.replaceAllUsesExcept(some.getResult(), some);
}

unsigned RowSkipper::run() {
  llvm::DenseMap<Value, Needed> needs = neededElements(function);
  std::vector<std::pair<Operation *, Condition>> found;
  for (Operation &op : function.front()) {
    if (op.getNumResults() != 1)
      continue;
    Needed needed = needs.lookup(op.getResult(0));
    if (!needed.isSome())
      continue;
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      takeSelected(linalgOp, needed.condition);
    if (isWorth(op, needed.condition.place))
      found.emplace_back(&op, needed.condition);
  }
  unsigned skipped = 0;
  for (auto &[op, needed] : found)
    if (makeAvailable(needed.value, op)) {
      skip(needed, op);
      ++skipped;
    }
  return skipped;
}

unsigned tp::target::skipRows(func::FuncOp function,
                              const TargetTraits &traits) {
  if (!traits.leavesRows)
    return 0;
  unsigned numTerms = skipTerms(function);
  return numTerms + RowSkipper(function).run();
}

namespace {
struct SkipRowsPass : tp::impl::SkipRowsBase<SkipRowsPass> {
  using SkipRowsBase::SkipRowsBase;

  void runOnOperation() override {
    FailureOr<PassInput> input =
        passInputOnTensors(getOperation(), target, "tp-skip-rows");
    if (failed(input))
      return signalPassFailure();
    for (func::FuncOp function : input->functions)
      numSkipped += skipRows(function, input->traits);
  }
};
} // namespace
