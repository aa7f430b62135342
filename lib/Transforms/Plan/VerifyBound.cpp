//===- VerifyBound.cpp - what tp-apply-plan leaves behind -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ports/PartialPorts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/PortAttributes.h"
#include "tp/Transforms/Plan/PlanPasses.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYBOUND
#include "tp/Transforms/Plan/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The pin of a port speaks of axes of the mesh and dimensions of its type.
static LogicalResult verifyPin(func::FuncOp function, PortSide side,
                               unsigned number, Type type, Attribute pin,
                               MeshAttr mesh) {
  std::string port = (side == PortSide::Argument ? "argument " : "result ") +
                     std::to_string(number);
  auto axes = dyn_cast_or_null<DictionaryAttr>(pin);
  if (!axes)
    return function.emitError() << port << " has no '" << attr::pin << "'";
  for (NamedAttribute axis : axes) {
    if (freePortOf(axis.getValue()) &&
        mesh.getValue().axisByName(axis.getName()))
      continue;
    auto placement = dyn_cast<PlacementAttr>(axis.getValue());
    if (!placement || !mesh.getValue().axisByName(axis.getName()))
      return function.emitError()
             << port << ": expected a placement on an axis of " << mesh
             << ", got " << axis.getName() << " = " << axis.getValue();
    const Placement &value = placement.getValue();
    int64_t rank = cast<RankedTensorType>(type).getRank();
    if (value.isShard() && (value.dim < 0 || value.dim >= rank))
      return function.emitError() << port << " cannot be " << toString(value)
                                  << ", it is a " << type;
    if (std::string why =
            whyNotPartial(function, side, number, axis.getName(), value);
        !why.empty())
      return function.emitError()
             << port << " cannot be " << toString(value) << ": " << why;
  }
  return success();
}

static LogicalResult verifyFunction(func::FuncOp function, MeshAttr mesh) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (!isa<RankedTensorType>(type))
      continue;
    if (failed(verifyPin(function, PortSide::Argument, i, type,
                         function.getArgAttr(i, attr::pin), mesh)))
      return failure();
    auto axes = function.getArgAttrOfType<DictionaryAttr>(i, attr::pin);
    for (const MeshAxis &axis : mesh.getValue().axes)
      if (!axes.get(axis.name))
        return function.emitError()
               << "argument " << i << " is not pinned on axis '" << axis.name
               << "'";
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (Attribute pin = function.getResultAttr(i, attr::pin))
      if (failed(verifyPin(function, PortSide::Result, i, type, pin, mesh)))
        return failure();
  if (function->hasAttr(attr::recompute))
    return function.emitError()
           << "has '" << attr::recompute
           << "', expected tp-recompute to have run behind tp-apply-plan";
  WalkResult walk = function.walk([&](ConstrainOp op) {
    if (op.getMesh() == mesh)
      return WalkResult::advance();
    op.emitError() << "is of mesh " << op.getMesh() << ", the module's is "
                   << mesh;
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct VerifyBoundPass : tp::impl::VerifyBoundBase<VerifyBoundPass> {
  LogicalResult verify() {
    ModuleOp module = getOperation();
    auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh);
    if (!mesh)
      return module.emitError()
             << "expected a module with '" << attr::mesh << "'";
    auto bindings = module->getAttrOfType<ArrayAttr>(attr::bindings);
    if (!bindings)
      return module.emitError()
             << "expected a module with '" << attr::bindings << "'";
    for (PlanOp plan : module.getOps<PlanOp>())
      return plan.emitError() << "the plan is still in the module";
    for (Attribute row : bindings) {
      auto binding = dyn_cast<DictionaryAttr>(row);
      auto status = binding ? binding.getAs<StringAttr>("status") : nullptr;
      auto values = binding ? binding.getAs<ArrayAttr>("values") : nullptr;
      // What is computed again has no layout by that.
      auto style = binding ? binding.getAs<StringAttr>("style") : nullptr;
      bool hasLayouts = !style || style.getValue() != attr::recomputeStyle;
      if (!status || !values ||
          (status.getValue() == "bound" && values.empty() && hasLayouts))
        return module.emitError()
               << "an entry ended neither as bound, overridden nor without "
                  "effect: "
               << row;
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration() && failed(verifyFunction(function, mesh)))
        return failure();
    return success();
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verify()))
      signalPassFailure();
  }
};
} // namespace
