//===- StoragePlan.cpp - which values are kept in memory, and how ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention/Attention.h"
#include "Calls.h"
#include "Elements/ElementCost.h"
#include "Program/JoinedArguments.h"
#include "Program/MemoryOrder.h"
#include "Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Collective.h"
#include "tp/IR/PortNames.h"

using namespace mlir;
using namespace tp::target;

/// Elements that are recomputed rather than kept cost at most this much.
static constexpr int64_t freeOperations = 12, cheapOperations = 2;

void StoragePlan::store(Value value) {
  if (isStored(value) || subviewOf(value))
    return;
  Storage storage;
  storage.value = value;
  auto type = cast<RankedTensorType>(value.getType());
  storage.elementType = type.getElementType();
  storage.elements = type.getNumElements();
  storage.address = rowMajor(type.getShape(), value.getContext());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    storage.space = Space::Argument;
    storage.index = argument.getArgNumber();
  } else if (value.getDefiningOp<arith::ConstantOp>()) {
    storage.space = Space::Constant;
  }
  storages.insert({value, storage});
}

const Gemm *StoragePlan::gemmOf(Operation *op) const {
  auto it = gemms.find(op);
  return it == gemms.end() ? nullptr : &it->second;
}

const Gemm *StoragePlan::gemmWriting(Operation *op) const {
  auto it = contractionWriting.find(op);
  return it == contractionWriting.end() ? nullptr : gemmOf(it->second);
}

ArrayRef<int64_t> StoragePlan::argumentPermutation(unsigned argument) const {
  auto it = permutations.find(argument);
  return it == permutations.end() ? ArrayRef<int64_t>() : it->second;
}

//===----------------------------------------------------------------------===//
// Kept or recomputed
//===----------------------------------------------------------------------===//

/// The ops that read `value` through views, and whether some view repeats
/// elements.
static void collectUses(Value value, bool repeated,
                        SmallVectorImpl<std::pair<OpOperand *, bool>> &uses) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    // A captured value is used inside the body of a linalg op.
    if (user->getNumResults() == 1) {
      std::optional<View> view = viewOf(user->getResult(0));
      if (view && view->source == value) {
        collectUses(user->getResult(0),
                    repeated ||
                        numElements(user->getResult(0)) > numElements(value),
                    uses);
        continue;
      }
    }
    // An operand that the body never reads is no use.
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(user)) {
      if (linalgOp.getMatchingBlockArgument(&use).use_empty())
        continue;
      AffineMap map = linalgOp.getMatchingIndexingMap(&use);
      SmallVector<int64_t> extents = linalgOp.getStaticLoopRanges();
      for (auto [i, extent] : llvm::enumerate(extents))
        if (extent > 1 && !map.isFunctionOfDim(i))
          repeated = true;
    }
    uses.push_back({&use, repeated});
  }
}

/// What a GEMM writes, and only puts together with others, it writes into the
/// whole.
void StoragePlan::findSubviews() {
  for (auto concat : function.front().getOps<tensor::ConcatOp>()) {
    if (!joinsSteps(concat))
      continue;
    bool all = llvm::all_of(concat.getInputs(), [](Value input) {
      Operation *op = input.getDefiningOp();
      auto rounds = dyn_cast_if_present<linalg::LinalgOp>(op);
      if (rounds && isElementwise(rounds) && rounds.getNumDpsInputs() == 1)
        op = rounds.getDpsInputOperand(0)->get().getDefiningOp();
      return op && contractionOf(op) && input.hasOneUse();
    });
    if (!all)
      continue;
    std::optional<PiecewiseSource> piecewise =
        piecewiseSourceOf(concat.getResult());
    for (const SourceBox &box : piecewise->boxes) {
      Indices place;
      for (auto [d, offset] : llvm::enumerate(box.offsets))
        place.push_back(getAffineDimExpr(d, concat.getContext()) + offset);
      subviews[box.source] = {
          concat.getResult(),
          AffineMap::get(place.size(), 0, place, concat.getContext())};
    }
    store(concat.getResult());
  }
}

void StoragePlan::storeDemanded() {
  for (BlockArgument argument : function.getArguments()) {
    store(argument);
    // As the memory that it is a part of says.
    auto order = function.getArgAttrOfType<DenseI64ArrayAttr>(
        argument.getArgNumber(), tp::attr::permutation);
    if (order)
      storage(argument).address =
          placesInOrder(shapeOf(argument), order, argument.getContext());
  }
  findSubviews();
  for (Operation &op : function.front()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (isa<RankedTensorType>(constant.getType()) &&
          !splatOf(constant.getResult()))
        store(constant.getResult());
      continue;
    }
    if (auto contraction = contractionOf(&op);
        contraction && (!contraction->terms || traits.leavesRows) &&
        hasFactorsOfGemm(*contraction, traits)) {
      if (traits.hasEpilogues)
        takeEpilogues(*contraction);
      contractions.insert({&op, *contraction});
      double alpha = 1.0;
      for (OpOperand *operand : {contraction->lhs, contraction->rhs}) {
        const Lookup *lookup = lookupOf(operand->get());
        store(lookup ? lookup->places : gemmSource(operand->get(), alpha));
      }
      if (contraction->terms)
        store(rootOf(contraction->terms->get()));
    }
    if (worksOnMemory(&op)) {
      for (Value result : op.getResults())
        store(result);
      if (auto allToAll = dyn_cast<tp::AllToAllOp>(op))
        storage(op.getResult(0)).address = receivedOrder(allToAll);
    }
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    bool checks = false;
    if (linalgOp)
      linalgOp.getBlock()->walk([&](Operation *inner) {
        checks |= isa<cf::AssertOp>(inner);
        if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
          Value root = rootOf(extract.getTensor());
          if (!splatOf(root))
            store(root);
        }
      });
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      if (!splatOf(rootOf(extract.getTensor())))
        store(rootOf(extract.getTensor()));
    if (makesBias(&op))
      pack(op.getResult(0));
    // What an attention writes, unless a GEMM's epilogue does.
    if (roundsResult(&op) && !traits.hasEpilogues)
      store(op.getResult(0));
    bool reduces = linalgOp && !isElementwise(linalgOp);
    // A GEMM writes what its epilogue makes of the sum alone.
    if (auto it = contractions.find(&op);
        it != contractions.end() && it->second.result != op.getResult(0))
      continue;
    for (Value result : op.getResults())
      if ((reduces && !result.use_empty()) ||
          (checks && op.use_empty() && result == op.getResult(0)))
        store(result);
  }
}

/// What `op` widens, if to widen every element is all that it does.
static Value widenedBy(linalg::LinalgOp op) {
  if (!op || !isElementwise(op) || op.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1)
    return {};
  auto extension = op.getBlock()
                       ->getTerminator()
                       ->getOperand(0)
                       .getDefiningOp<arith::ExtFOp>();
  OpOperand *input = op.getDpsInputOperand(0);
  bool isAll = extension &&
               extension.getIn() == op.getBlock()->getArgument(0) &&
               op.getMatchingIndexingMap(input).isIdentity() &&
               op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity();
  return isAll ? input->get() : Value();
}

void StoragePlan::decideInlining() {
  llvm::DenseMap<Value, ElementCost> costs;
  auto costOf = [&](Value value) {
    Value root = rootOf(value);
    if (isStored(root))
      return ElementCost{0, 1};
    return costs.lookup(root);
  };
  for (Operation &op : function.front()) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    for (Value result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()) || isStored(result) ||
          withinEpilogues.contains(result) || viewOf(result) ||
          splatOf(result) || isa<tensor::EmptyOp>(op) || lookupOf(result))
        continue;
      ElementCost cost;
      if (linalgOp) {
        cost = bodyCost(linalgOp);
        for (OpOperand &operand : op.getOpOperands())
          if (isa<RankedTensorType>(operand.get().getType()) &&
              !linalgOp.getMatchingBlockArgument(&operand).use_empty()) {
            ElementCost input = costOf(operand.get());
            cost.operations += input.operations;
            cost.loads += input.loads;
          }
      } else if (auto piecewise = piecewiseSourceOf(result)) {
        for (SourceBox &box : piecewise->boxes)
          if (box.source) {
            ElementCost input = costOf(box.source);
            cost.operations = std::max(cost.operations, input.operations) + 1;
            cost.loads = std::max(cost.loads, input.loads);
          }
      }
      costs[result] = cost;

      SmallVector<std::pair<OpOperand *, bool>> uses;
      collectUses(result, false, uses);
      bool repeated = llvm::any_of(uses, [](auto &use) { return use.second; });
      bool free = cost.loads == 0 && cost.operations <= freeOperations;
      bool cheap = cost.loads <= 1 && cost.operations <= cheapOperations;
      if (uses.empty() || free || cheap || (uses.size() == 1 && !repeated))
        continue;
      // To widen costs less than to keep twice the bytes.
      Value narrow = widenedBy(linalgOp);
      if (narrow && !withinEpilogues.contains(rootOf(narrow)) &&
          !splatOf(rootOf(narrow))) {
        store(rootOf(narrow));
        costs[result] = {1, 1};
        continue;
      }
      store(result);
    }
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void StoragePlan::permuteWeights() {
  llvm::MapVector<Value, SmallVector<Operation *>> readers;
  for (auto &[op, contraction] : contractions) {
    auto it = gemms.find(op);
    if (it == gemms.end())
      continue;
    const Gemm &gemm = it->second;
    // Products of few rows read narrow weights best as on disk, and those of
    // many rows widen them in either order.
    if (isa<BlockArgument>(gemm.b.root) && gemm.b.transpose && gemm.m > 1 &&
        gemm.a.root != gemm.b.root &&
        storage(gemm.b.root).elementType == gemm.elementType)
      readers[gemm.b.root].push_back(op);
  }
  // A parameter is stored as the result that updates it.
  llvm::MapVector<unsigned, unsigned> updated = tp::updatesOf(function);
  for (auto &[argument, ops] : readers) {
    if (updated.contains(cast<BlockArgument>(argument).getArgNumber()) ||
        function.getArgAttr(cast<BlockArgument>(argument).getArgNumber(),
                            tp::attr::permutation))
      continue;
    auto kind = function.getArgAttrOfType<StringAttr>(
        cast<BlockArgument>(argument).getArgNumber(), tp::attr::kind);
    if (!kind || kind.getValue() != "parameter" ||
        shapeOf(argument).size() != 2)
      continue;
    SmallVector<std::pair<OpOperand *, bool>> uses;
    collectUses(argument, false, uses);
    bool onlyGemms = llvm::all_of(uses, [&, &ops = ops](auto &use) {
      return llvm::is_contained(ops, use.first->getOwner());
    });
    if (!onlyGemms)
      continue;
    Storage &kept = storage(argument);
    AffineMap before = kept.address;
    MLIRContext *context = argument.getContext();
    SmallVector<int64_t> permutation = {1, 0};
    int64_t rows = shapeOf(argument)[0];
    kept.address = AffineMap::get(2, 0,
                                  getAffineDimExpr(1, context) * rows +
                                      getAffineDimExpr(0, context),
                                  context);
    bool better = llvm::all_of(ops, [&](Operation *op) {
      std::optional<Gemm> gemm = analyse(contractions.find(op)->second);
      return gemm && gemm->b.root == argument && !gemm->b.transpose;
    });
    if (!better) {
      kept.address = before;
      continue;
    }
    permutations[cast<BlockArgument>(argument).getArgNumber()] = permutation;
    for (Operation *op : ops)
      gemms[op] = *analyse(contractions.find(op)->second);
  }
}

LogicalResult StoragePlan::build() {
  takeNeeded();
  takeLookups();
  if (failed(checkProgram(function, traits)))
    return failure();
  storeDemanded();
  decideInlining();
  settleRequests();
  chooseGemms();
  orderSums();
  permuteWeights();
  for (auto &[op, gemm] : gemms)
    contractionWriting[contractions.find(op)->second.result.getDefiningOp()] =
        op;
  return success();
}
