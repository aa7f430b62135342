//===- VerifyMaterialized.cpp - layouts in all types ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Transforms/Redistribute/VerifyMaterialized.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/CustomOps.h"
#include "tp/Interfaces/ReplicatedRule.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYMATERIALIZED
#include "tp/Transforms/Redistribute/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static LogicalResult verifyLayout(Operation *op, Type type, Layout expected,
                                  const Mesh &mesh, const Twine &what) {
  LayoutAttr actual = LayoutAttr::of(type);
  if (actual && actual.getValue() == expected)
    return success();
  return op->emitOpError() << what << " has layout "
                           << (actual ? actual.getValue().toString(mesh)
                                      : std::string("none"))
                           << ", its strategy asks for "
                           << expected.toString(mesh);
}

/// Layouts of operands and results are those the strategy asks for.
static LogicalResult verifyStrategy(Operation *op, StrategyAttr strategy) {
  FailureOr<ShardingRule> rule = ruleUnder(op, strategy.getValue());
  if (failed(rule))
    return failure();
  const Mesh &mesh = strategy.getMesh().getValue();
  if (std::string why = rule->whyIllegal(strategy.getValue(), mesh);
      !why.empty())
    return op->emitOpError() << "has an illegal strategy " << why;
  for (auto [slot, value] : llvm::enumerate(rule->slots))
    if (failed(verifyLayout(op, value.getType(),
                            rule->slotLayout(slot, strategy.getValue()), mesh,
                            "tensor operand #" + Twine(slot))))
      return failure();
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    if (isa<RankedTensorType>(type) &&
        failed(verifyLayout(op, type,
                            rule->resultLayout(i, strategy.getValue()), mesh,
                            "result #" + Twine(i))))
      return failure();
  return success();
}

LogicalResult tp::verifyLayoutsInTypes(func::FuncOp func) {
  for (Type type : func.getArgumentTypes())
    if (isa<RankedTensorType>(type) && !LayoutAttr::of(type))
      return func.emitOpError() << "argument type " << type << " has no layout";
  for (Operation &op : func.getBody().front()) {
    bool hasTensors = !slotsOf(&op).empty();
    for (Type type : op.getResultTypes()) {
      if (!isa<RankedTensorType>(type))
        continue;
      hasTensors = true;
      if (!LayoutAttr::of(type))
        return op.emitOpError() << "result type " << type << " has no layout";
    }
    if (!hasTensors)
      continue;
    if (isa<ConstrainOp>(op))
      return op.emitOpError("is left, expected none after tp-materialize");
    if (isa<tensor::CastOp>(op) &&
        op.getOperand(0).getType() != op.getResult(0).getType())
      return op.emitOpError("changes the layout; only tp.redistribute may");
    if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      if (TypeRange(ret.getOperandTypes()) != TypeRange(func.getResultTypes()))
        return op.emitOpError("returns other layouts than the function's type");
      continue;
    }
    if (isa<TPDialect>(op.getDialect()) && !isa<CustomOp, KeptOp>(op))
      continue;
    auto strategy = op.getAttrOfType<StrategyAttr>(attr::strategy);
    if (!strategy)
      return op.emitOpError(
          "works on tensors with layouts and has no strategy");
    if (failed(verifyStrategy(&op, strategy)))
      return failure();
  }
  return success();
}

LogicalResult tp::verifyLayoutsInTypes(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isDeclaration() && failed(verifyLayoutsInTypes(func)))
      return failure();
  return success();
}

LogicalResult tp::forEachBody(
    ModuleOp module,
    llvm::function_ref<LogicalResult(func::FuncOp, MeshAttr)> transform) {
  MeshAttr mesh = meshOf(module);
  if (!mesh)
    return module.emitError("the module has no ")
           << attr::mesh << "; run tp-apply-plan before";
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isDeclaration() && failed(transform(func, mesh)))
      return failure();
  return success();
}

namespace {
struct VerifyMaterializedPass
    : tp::impl::VerifyMaterializedBase<VerifyMaterializedPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyLayoutsInTypes(getOperation())))
      signalPassFailure();
  }
};
} // namespace
