//===- StoreWeights.cpp - pass tp-store-weights ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter changes its element type, and so do the views of it and the
// collectives that bring its shards together. Products and lookups widen
// elements where they use them; all other ops read a tensor that is widened
// before, which kernels compute element by element.
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "Elements/ViewAnalysis.h"
#include "Storage/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Codegen/CodegenPasses.h"
#include "tp/Codegen/WeightStorage.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/FloatCasts.h"
#include "tp/IR/PortNames.h"
#include "llvm/ADT/SetVector.h"

namespace tp {
#define GEN_PASS_DEF_STOREWEIGHTS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

LogicalResult tp::checkWeightStorage(Location location, StringRef type,
                                     StringRef target) {
  if (target != "cpu")
    return emitError(location)
           << "weight storage is for CPU artifacts, expected the target 'cpu', "
              "got '"
           << target << "': export the model in the type that a device is to "
           << "have its weights in";
  if (type == "f16" || type == "bf16")
    return success();
  InFlightDiagnostic error = emitError(location)
                             << "weights are stored in f16 or bf16, got '"
                             << type << "'";
  if (type.starts_with("q"))
    error << ": blocks of quantised numbers are not handled";
  return error;
}

static RankedTensorType withElements(Type type, Type element) {
  return cast<RankedTensorType>(type).clone(element);
}

namespace {
/// Changes the uses of narrow values, which have been those of wide ones.
class Narrowing {
public:
  Narrowing(Type narrow, Type wide) : narrow(narrow), wide(wide) {}

  void changeUses(Value value);

private:
  Value clonedView(Operation *op, Value value);
  void widenInside(linalg::LinalgOp op, Value value);
  void widenBehind(tensor::ExtractOp extract);

  Type narrow, wide;
};
} // namespace

/// The view `op` of `value`.
Value Narrowing::clonedView(Operation *op, Value value) {
  OpBuilder builder(op);
  Value old = op->getResult(0);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp) {
    Operation *clone = builder.clone(*op);
    clone->getResult(0).setType(withElements(old.getType(), narrow));
    return clone->getResult(0);
  }
  OpOperand *read = nullptr;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == value &&
        linalgOp.getMatchingBlockArgument(&operand) ==
            linalgOp.getBlock()->getTerminator()->getOperand(0))
      read = &operand;
  RankedTensorType type = withElements(old.getType(), narrow);
  Value empty =
      tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), narrow);
  AffineMap maps[2] = {
      linalgOp.getMatchingIndexingMap(read),
      linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0))};
  return linalg::GenericOp::create(
             builder, op->getLoc(), type, value, empty, maps,
             linalgOp.getIteratorTypesArray(),
             [](OpBuilder &inner, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(inner, loc, arguments[0]);
             })
      .getResult(0);
}

/// Lets the body of `op` widen what it gets of `value`.
void Narrowing::widenInside(linalg::LinalgOp op, Value value) {
  OpBuilder builder(op);
  auto wideOp = linalg::GenericOp::create(
      builder, op.getLoc(), op->getResultTypes(), op.getDpsInputs(),
      op.getDpsInits(), op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        IRMapping mapping;
        for (auto [operand, argument] :
             llvm::zip_equal(op->getOpOperands(), arguments))
          mapping.map(op.getMatchingBlockArgument(&operand),
                      operand.get() == value
                          ? arith::ExtFOp::create(inner, loc, wide, argument)
                                .getResult()
                          : Value(argument));
        for (Operation &old : *op.getBlock())
          inner.clone(old, mapping);
      });
  wideOp->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(wideOp);
  op->erase();
}

void Narrowing::widenBehind(tensor::ExtractOp extract) {
  OpBuilder builder(extract);
  builder.setInsertionPointAfter(extract);
  Value element = extract.getResult();
  element.setType(narrow);
  auto widened =
      arith::ExtFOp::create(builder, extract.getLoc(), wide, element);
  element.replaceAllUsesExcept(widened, widened);
}

/// Whether `value` is a factor of a product that `op` adds up.
static bool isFactor(Operation *op, Value value) {
  std::optional<Contraction> contraction = contractionOf(op);
  if (!contraction)
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    return operand.get() != value || &operand == contraction->lhs ||
           &operand == contraction->rhs;
  });
}

void Narrowing::changeUses(Value value) {
  llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
  Value widened;
  for (Operation *op : users) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      widenBehind(extract);
      continue;
    }
    if (isFactor(op, value)) {
      widenInside(cast<linalg::LinalgOp>(op), value);
      continue;
    }
    bool moves = isa<tp::AllGatherOp, tp::AllToAllOp>(op);
    if (!moves && op->getNumResults() == 1) {
      std::optional<View> view = viewOf(op->getResult(0));
      moves = view && view->source == value;
    }
    if (moves) {
      Value moved = clonedView(op, value);
      op->getResult(0).replaceAllUsesWith(moved);
      op->erase();
      changeUses(moved);
      continue;
    }
    if (!widened) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      widened = tp::castElements(builder, op->getLoc(), value, wide);
    }
    op->replaceUsesOfWith(value, widened);
  }
}

/// Whether argument `number` is a parameter whose storage can be changed.
static bool isMatrix(func::FuncOp function, unsigned number) {
  auto kind = function.getArgAttrOfType<StringAttr>(number, tp::attr::kind);
  auto type =
      dyn_cast<RankedTensorType>(function.getArgument(number).getType());
  return kind && kind.getValue() == "parameter" && type &&
         type.getElementType().isF32() && type.getRank() >= 2;
}

static void store(func::FuncOp function, unsigned number, Type narrow) {
  BlockArgument argument = function.getArgument(number);
  Type wide = getElementTypeOrSelf(argument);
  argument.setType(withElements(argument.getType(), narrow));
  SmallVector<Type> inputs(function.getArgumentTypes());
  inputs[number] = argument.getType();
  function.setType(FunctionType::get(function.getContext(), inputs,
                                     function.getResultTypes()));
  if (auto global =
          function.getArgAttrOfType<TypeAttr>(number, tp::attr::globalType))
    function.setArgAttr(number, tp::attr::globalType,
                        TypeAttr::get(withElements(global.getValue(), narrow)));
  function.setArgAttr(number, tp::attr::roundedFrom, TypeAttr::get(wide));
  Narrowing(narrow, wide).changeUses(argument);
}

namespace {
struct StoreWeightsPass : tp::impl::StoreWeightsBase<StoreWeightsPass> {
  using StoreWeightsBase::StoreWeightsBase;

  LogicalResult run() {
    ModuleOp module = getOperation();
    if (failed(tp::checkWeightStorage(module.getLoc(), type, target)))
      return failure();
    FailureOr<PassInput> input =
        passInputOnTensors(module, target, "tp-store-weights");
    if (failed(input))
      return failure();
    Builder builder(&getContext());
    Type narrow = type == "f16" ? Type(builder.getF16Type())
                                : Type(builder.getBF16Type());
    ArrayRef<func::FuncOp> functions = input->functions;
    tp::SharedArguments shared(functions);
    // What one entry updates has its type in all.
    llvm::DenseSet<std::pair<unsigned, unsigned>> updated;
    for (auto [entry, each] : llvm::enumerate(functions)) {
      func::FuncOp function = each;
      if (!function.getBody().hasOneBlock())
        return success();
      // What is a view is not told from a body that computes what is not used,
      // as the partition leaves a place beside its end.
      IRRewriter rewriter(&getContext());
      (void)runRegionDCE(rewriter, function->getRegions());
      for (auto [argument, result] : tp::updatesOf(function)) {
        if (!isMatrix(function, argument))
          continue;
        emitRemark(function.getArgument(argument).getLoc())
            << "parameter " << function.getArgAttr(argument, tp::attr::name)
            << " stays in f32: result #" << result << " updates it";
        updated.insert({entry, argument});
        if (auto tensor = shared.tensorOf(entry, argument))
          for (tp::EntryArgument other : shared.tensors()[*tensor])
            updated.insert({other.entry, other.argument});
      }
    }
    unsigned stored = 0;
    for (auto [entry, function] : llvm::enumerate(functions))
      for (unsigned i = 0; i < func::FuncOp(function).getNumArguments(); ++i)
        if (isMatrix(function, i) && !updated.contains({entry, i})) {
          store(function, i, narrow);
          ++stored;
        }
    numStored += stored;
    if (stored == 0)
      emitWarning(module.getLoc())
          << "no weight is stored in " << type << ": expected parameters of "
          << "f32 with two dimensions or more that no result updates";
    return success();
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace
