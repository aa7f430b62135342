//===- RecomputeElements.cpp - pass tp-recompute-elements -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters and clean-ups merge what the forward and the backward pass of a
// step both compute, so it has to be kept in between. Memory is dearer than a
// few operations: what the backward pass can compute from values that are there
// anyway, or from smaller ones, it computes.
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "Elements/ElementCost.h"
#include "Elements/ViewAnalysis.h"
#include "Storage.h"
#include "mlir/IR/IRMapping.h"
#include "tp/Codegen/CodegenPasses.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortNames.h"
#include "tp/IR/TP.h"

namespace tp {
#define GEN_PASS_DEF_RECOMPUTEELEMENTS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

/// An element that costs more operations is kept: two error functions and what
/// is around them cost less, random numbers more.
static constexpr int64_t mostOperations = 64;
/// For a product or a collective a value is computed again in a pass of its own
/// over memory. A norm's last step costs less than that pass, a GELU more.
static constexpr int64_t mostOperationsOfStored = 12;
/// What is kept for such a value is at most this part of it.
static constexpr int64_t leastSavingOfStored = 16;
/// Ways to have one value again that are looked at. Ops that share operands
/// have more than anyone could look at.
static constexpr unsigned mostTries = 64;

static bool isBackward(Operation *op) {
  return tp::isOfBackwardPass(op->getLoc());
}

/// Whether all that `user` does is to show `value` in another form.
static bool isViewOf(Operation *user, Value value) {
  if (user->getNumResults() != 1)
    return false;
  std::optional<View> view = viewOf(user->getResult(0));
  return view && view->source == value;
}

namespace {
/// How the backward pass can have a value again.
struct Again {
  /// Ops that it repeats, operands first.
  llvm::SetVector<Operation *> ops;
  /// Values that are kept for it, and were not before.
  llvm::SetVector<Value> leaves;
  int64_t operations = 0;

  int64_t bytes() const {
    int64_t sum = 0;
    for (Value leaf : leaves)
      sum += numElements(leaf) *
             elementBytes(getElementTypeOrSelf(leaf.getType()));
    return sum;
  }
};

class Recomputer {
public:
  explicit Recomputer(func::FuncOp function)
      : body(function.front()), updates(tp::updatesOf(function)) {}
  unsigned run();

private:
  struct Readers {
    bool forward = false, backward = false;
    /// Some reader of the backward pass needs the value in memory.
    bool asStored = false;
    bool isResult = false;
    /// A condition is read where its rows are made, before tp.needed.
    bool isCondition = false;
  };
  template <typename Visit> bool anyReader(Value value, Visit visit) const;
  Readers readersOf(Value value) const;
  bool isReadBackward(Value value) const;
  Operation *firstBackwardUser(Value value) const;
  bool isKept(Value root) const;
  bool canRepeat(Operation *op) const;
  void addOperands(Again &again, Operation *op);
  void add(Again &again, Value value);
  void repeat(Value value, const Again &again, Operation *place);
  void replace(Value value, Value copy, OpBuilder &builder);

  Block &body;
  /// The arguments that results update.
  llvm::MapVector<unsigned, unsigned> updates;
  /// Of the value that is looked at.
  unsigned tries = 0;
};
} // namespace

/// Whether `visit(user, inBody, isView)` is true of a user of the value, or of
/// a view of it; `inBody` is the op of the function that the user is in.
template <typename Visit>
bool Recomputer::anyReader(Value value, Visit visit) const {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    for (Operation *user : next.getUsers()) {
      bool isView = isViewOf(user, next);
      if (isView)
        work.push_back(user->getResult(0));
      if (visit(user, body.findAncestorOpInBlock(*user), isView))
        return true;
    }
  }
  return false;
}

/// Who reads the value, through views.
Recomputer::Readers Recomputer::readersOf(Value value) const {
  Readers readers;
  anyReader(value, [&](Operation *user, Operation *inBody, bool isView) {
    if (isView)
      return false;
    bool isBack = isBackward(inBody);
    (isBack ? readers.backward : readers.forward) = true;
    if (isBack)
      readers.asStored |=
          !isa<linalg::LinalgOp>(user) || contractionOf(user).has_value();
    readers.isResult |= user->hasTrait<OpTrait::IsTerminator>();
    readers.isCondition |= isa<tp::NeededOp>(user);
    return false;
  });
  return readers;
}

bool Recomputer::isReadBackward(Value value) const {
  return anyReader(value, [](Operation *, Operation *inBody, bool isView) {
    return !isView && isBackward(inBody);
  });
}

/// Asked once a value is repeated: ops are numbered anew after each insertion.
Operation *Recomputer::firstBackwardUser(Value value) const {
  Operation *first = nullptr;
  anyReader(value, [&](Operation *, Operation *inBody, bool) {
    if (isBackward(inBody) && (!first || inBody->isBeforeInBlock(first)))
      first = inBody;
    return false;
  });
  return first;
}

/// Whether the value is in memory during the backward pass whatever this pass
/// does. Arguments are, unless the step writes them.
bool Recomputer::isKept(Value root) const {
  if (auto argument = dyn_cast<BlockArgument>(root))
    return !updates.contains(argument.getArgNumber());
  return root.getDefiningOp<arith::ConstantOp>() || splatOf(root) ||
         isReadBackward(root);
}

bool Recomputer::canRepeat(Operation *op) const {
  auto loops = dyn_cast_if_present<linalg::LinalgOp>(op);
  return loops && loops->getNumResults() == 1 && isElementwise(loops) &&
         loops.hasPureTensorSemantics() && !isBackward(op) &&
         loops.getRegionOutputArgs()[0].use_empty() &&
         llvm::all_of(
             *loops.getBlock(),
             [](Operation &inner) { return isMemoryEffectFree(&inner); }) &&
         bodyCost(loops).loads == 0;
}

void Recomputer::addOperands(Again &again, Operation *op) {
  for (OpOperand *operand : cast<linalg::LinalgOp>(op).getDpsInputOperands())
    if (isa<RankedTensorType>(operand->get().getType()))
      add(again, operand->get());
  again.operations += bodyCost(cast<linalg::LinalgOp>(op)).operations;
  again.ops.insert(op);
}

/// Adds what it takes to have `value`: to keep it, or to repeat what computes
/// it where less has to be kept for that.
void Recomputer::add(Again &again, Value value) {
  Value root = rootOf(value);
  Operation *maker = root.getDefiningOp();
  if (again.ops.contains(maker) || again.leaves.contains(root))
    return;
  // Views between are repeated with their reader.
  if (isKept(root))
    return;
  Again asLeaf = again;
  asLeaf.leaves.insert(root);
  if (tries < mostTries && canRepeat(maker)) {
    ++tries;
    Again repeated = again;
    addOperands(repeated, maker);
    if (repeated.operations <= mostOperations &&
        repeated.bytes() < asLeaf.bytes()) {
      again = std::move(repeated);
      return;
    }
  }
  again = std::move(asLeaf);
}

/// Lets the backward pass read `copy` for `value`, through views of its own.
void Recomputer::replace(Value value, Value copy, OpBuilder &builder) {
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    Operation *user = use.getOwner();
    if (isBackward(body.findAncestorOpInBlock(*user))) {
      use.set(copy);
      continue;
    }
    if (!isViewOf(user, value) || !isReadBackward(user->getResult(0)))
      continue;
    IRMapping mapping;
    mapping.map(value, copy);
    Operation *seen = builder.clone(*user, mapping);
    replace(user->getResult(0), seen->getResult(0), builder);
  }
}

void Recomputer::repeat(Value value, const Again &again, Operation *place) {
  OpBuilder builder(place);
  IRMapping mapping;
  // No clean-up merges what is computed of a kept value with the original.
  auto copyOf = [&](Value operand) {
    SmallVector<Operation *> views;
    Value root = operand;
    for (std::optional<View> view;
         !mapping.contains(root) && (view = viewOf(root)); root = view->source)
      views.push_back(root.getDefiningOp());
    if (!mapping.contains(root) && !splatOf(root) &&
        !root.getDefiningOp<arith::ConstantOp>())
      mapping.map(
          root, tp::KeptOp::create(builder, place->getLoc(), root).getResult());
    for (Operation *view : llvm::reverse(views))
      builder.clone(*view, mapping);
  };
  for (Operation *op : again.ops) {
    for (OpOperand *operand : cast<linalg::LinalgOp>(op).getDpsInputOperands())
      if (isa<RankedTensorType>(operand->get().getType()))
        copyOf(operand->get());
    builder.clone(*op, mapping)->setLoc(place->getLoc());
  }
  replace(value, mapping.lookup(value), builder);
}

unsigned Recomputer::run() {
  unsigned repeated = 0;
  SmallVector<Operation *> ops;
  for (Operation &op : body)
    if (canRepeat(&op) && !viewOf(op.getResult(0)) && !splatOf(op.getResult(0)))
      ops.push_back(&op);
  for (Operation *op : ops) {
    Value value = op->getResult(0);
    Readers readers = readersOf(value);
    if (!readers.forward || !readers.backward || readers.isCondition)
      continue;
    tries = 0;
    Again again;
    addOperands(again, op);
    Again kept;
    kept.leaves.insert(value);
    if (again.operations > mostOperations || again.bytes() >= kept.bytes())
      continue;
    // A product takes a scaling in, and reads what is scaled.
    double alpha = 1.0;
    if (readers.asStored && gemmSource(value, alpha) != value)
      continue;
    if (readers.asStored &&
        (readers.isResult || again.operations > mostOperationsOfStored ||
         again.bytes() > kept.bytes() / leastSavingOfStored))
      continue;
    repeat(value, again, firstBackwardUser(value));
    ++repeated;
  }
  return repeated;
}

unsigned tp::target::recomputeElements(func::FuncOp function) {
  return Recomputer(function).run();
}

namespace {
struct RecomputeElementsPass
    : tp::impl::RecomputeElementsBase<RecomputeElementsPass> {
  using RecomputeElementsBase::RecomputeElementsBase;

  void runOnOperation() override {
    FailureOr<PassInput> input =
        passInputOnTensors(getOperation(), target, "tp-recompute-elements");
    if (failed(input))
      return signalPassFailure();
    for (func::FuncOp function : input->functions) {
      cleanUp(function, input->traits);
      numRepeated += recomputeElements(function);
    }
  }
};
} // namespace
