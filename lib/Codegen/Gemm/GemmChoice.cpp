//===- GemmChoice.cpp - which contractions are GEMMs ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction is a GEMM where its operands lie in memory as one can read
// them. What stands in the way is moved: the order of an operand, a part of the
// epilogue, or at last a copy is made.
//
//===----------------------------------------------------------------------===//

#include "Attention/Attention.h"
#include "Elements/IndexExpr.h"
#include "Program/JoinedArguments.h"
#include "Storage/Calls.h"
#include "Storage/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

/// Whether `root` is worth keeping in memory, as a GEMM that adds it needs.
static bool isKept(Value root) {
  if (isa<BlockArgument>(root))
    return true;
  Operation *op = root.getDefiningOp();
  if (isa<arith::ConstantOp>(op) || worksOnMemory(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return false;
  // What is read twice and puts together several tensors is kept anyway.
  auto readsTensor = [](OpOperand *operand) {
    return isa<RankedTensorType>(operand->get().getType()) &&
           !splatOf(operand->get());
  };
  bool gathers =
      !linalgOp.getBlock()->getOps<tensor::ExtractOp>().empty() ||
      llvm::count_if(linalgOp.getDpsInputOperands(), readsTensor) > 1;
  return !isElementwise(linalgOp) || (gathers && !root.hasOneUse());
}

/// Notes the longest epilogue that a GEMM may have, and the shorter ones.
void StoragePlan::takeEpilogues(Contraction &contraction) {
  auto mayRead = [&](Value value) {
    Value root = rootOf(value);
    return !withinEpilogues.contains(root) && (isStored(root) || isKept(root));
  };
  std::vector<Contraction> forms = formsWithEpilogue(contraction, mayRead);
  // What follows an attention is no part of its steps.
  llvm::erase_if(forms, [&](const Contraction &form) {
    return attentionOfStep(form.result.getDefiningOp()) !=
           attentionOfStep(contraction.op);
  });
  if (forms.empty())
    return;
  std::vector<Contraction> &others = shorter[contraction.op];
  others.push_back(contraction);
  others.insert(others.end(), forms.begin(), forms.end() - 1);
  contraction = forms.back();
  store(contraction.result);
  for (const EpilogueTerm &term : contraction.epilogue.terms)
    store(rootOf(term.value));
  withinEpilogues.insert_range(contraction.epilogue.within);
}

/// Leaves a part of the epilogue to kernels; false if there is none.
bool StoragePlan::shorten(Operation *op, Contraction &contraction) {
  auto it = shorter.find(op);
  if (it == shorter.end() || it->second.empty())
    return false;
  contraction = std::move(it->second.back());
  it->second.pop_back();
  store(contraction.result);
  return true;
}

void StoragePlan::leaveToKernels(Operation *op, Contraction &contraction) {
  contraction.result = op->getResult(0);
  contraction.epilogue = {};
  store(contraction.result);
}

/// Notes that the contraction is a GEMM, and what it reads and writes.
void StoragePlan::setGemm(Operation *op, const Contraction &contraction,
                          const Gemm &gemm) {
  bool isNew = gemms.insert_or_assign(op, gemm).second;
  if (!isNew)
    return;
  double alpha = 1.0;
  llvm::SmallSetVector<Value, 4> roots;
  roots.insert(keptOf(contraction.result));
  for (OpOperand *operand : {contraction.lhs, contraction.rhs})
    roots.insert(gemmSource(operand->get(), alpha));
  for (const EpilogueTerm &term : contraction.epilogue.terms)
    roots.insert(rootOf(term.value));
  for (const std::optional<GemmOperand> &chooser :
       {gemm.rows, gemm.terms, gemm.places})
    if (chooser)
      roots.insert(chooser->root);
  for (Value root : roots)
    gemmsAt[root].push_back(op);
}

bool StoragePlan::allGemmsHold(Value root) const {
  auto it = gemmsAt.find(root);
  return it == gemmsAt.end() || llvm::all_of(it->second, [&](Operation *op) {
           return !gemms.contains(op) ||
                  analyse(contractions.find(op)->second).has_value();
         });
}

/// Keeps the value behind a GEMM operand in the operand's order, if that makes
/// this contraction a GEMM and spoils no other.
bool StoragePlan::tryPush(Value operand, const Contraction &contraction) {
  double alpha = 1.0;
  Value root = gemmSource(operand, alpha);
  // A matrix that is looked up is not kept.
  if (!isStored(root) || ordered.contains(root) || alpha != 1.0)
    return false;
  AffineMap before = storage(root).address;
  if (!request(operand))
    return false;
  if (analyse(contraction) && allGemmsHold(root))
    return true;
  storage(root).address = before;
  ordered.erase(root);
  return false;
}

/// Whether it is a GEMM, perhaps after one of its operands is kept in its
/// order.
bool StoragePlan::holds(const Contraction &contraction) {
  return analyse(contraction) || tryPush(contraction.lhs->get(), contraction) ||
         tryPush(contraction.rhs->get(), contraction);
}

/// Parts that are not all written by GEMMs are kept by themselves, and a kernel
/// puts them together.
void StoragePlan::settleSubviews() {
  llvm::DenseMap<Value, Operation *> writers;
  for (auto &[op, contraction] : contractions)
    if (gemms.contains(op))
      writers[contraction.result] = op;
  for (auto concat : function.front().getOps<tensor::ConcatOp>()) {
    ValueRange inputs = concat.getInputs();
    if (!subviewOf(inputs.front()) || llvm::all_of(inputs, [&](Value input) {
          return writers.contains(input);
        }))
      continue;
    for (Value input : inputs) {
      subviews.erase(input);
      store(input);
    }
  }
}

/// Whether an operand has one stride for each loop of its product, and columns
/// that follow each other.
bool StoragePlan::fitsAttention(OpOperand &operand,
                                const StepLoops &step) const {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  IndexSpace space = IndexSpace::ofExtents(loops);
  Indices index =
      applyMap(op.getMatchingIndexingMap(&operand),
               identityIndices(loops.size(), op->getContext()), {}, space);
  double alpha = 1.0;
  auto address = addressOf(*this, operand.get(), index, space, alpha);
  auto form = address ? linearForm(address->second, loops.size(), 0)
                      : std::optional<LinearForm>();
  if (!form)
    return false;
  int64_t expected = 1;
  for (unsigned loop = step.endColumn; loop-- > step.firstColumn;) {
    if (loops[loop] > 1 && form->dimStrides[loop] != expected)
      return false;
    expected *= loops[loop];
  }
  return true;
}

/// What an attention reads may lie otherwise: gathered keys rank by rank, keys
/// with their columns apart. A product takes them so, an attention reads
/// copies, which cost little beside products of many queries.
void StoragePlan::fitAttentions() {
  constexpr int64_t manyQueries = 16;
  for (auto &[op, contraction] : contractions)
    for (OpOperand *operand : {contraction.lhs, contraction.rhs}) {
      std::optional<StepLoops> step = loopsOfStep(*operand);
      if (!step || step->queries < manyQueries ||
          fitsAttention(*operand, *step))
        continue;
      if (isStored(operand->get()))
        copyInto(*operand);
      else
        pack(operand->get());
      // Columns last.
      auto linalgOp = cast<linalg::LinalgOp>(op);
      AffineMap map = linalgOp.getMatchingIndexingMap(operand);
      SmallVector<int64_t> order;
      for (bool isColumn : {false, true})
        for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
          auto loop = dyn_cast<AffineDimExpr>(expr);
          if (isColumn == (loop && loop.getPosition() >= step->firstColumn &&
                           loop.getPosition() < step->endColumn))
            order.push_back(dim);
        }
      storage(operand->get()).address =
          placesInOrder(shapeOf(operand->get()), order, op->getContext());
    }
}

void StoragePlan::chooseGemms() {
  fitAttentions();
  for (auto &[op, contraction] : contractions) {
    bool held = holds(contraction);
    while (!held && shorten(op, contraction))
      held = holds(contraction);
    for (OpOperand *operand :
         {contraction.terms, contraction.lhs, contraction.rhs}) {
      if (held)
        break;
      // A copy of the operand in its own order.
      if (!operand || isStored(operand->get()))
        continue;
      pack(operand->get());
      held = analyse(contraction).has_value();
    }
    if (!held && requesters.contains(keptOf(contraction.result))) {
      withdraw(keptOf(contraction.result));
      held = analyse(contraction).has_value();
    }
    if (held) {
      setGemm(op, contraction, *analyse(contraction));
      continue;
    }
    // A kernel adds up, and another one does the rest.
    leaveToKernels(op, contraction);
  }
  settleSubviews();
  for (bool settled = false; !settled;) {
    settled = true;
    for (auto &[op, contraction] : contractions) {
      if (!gemms.contains(op))
        continue;
      // What was settled later may be in the way.
      if (std::optional<Gemm> gemm = analyse(contraction)) {
        gemms[op] = *gemm;
        continue;
      }
      gemms.erase(op);
      leaveToKernels(op, contraction);
      settleSubviews();
      settled = false;
    }
  }
}
