//===- InsertCollectives.cpp - layout changes become collectives ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Sharding/RedistributionPath.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"

namespace tp {
#define GEN_PASS_DEF_INSERTCOLLECTIVES
#include "tp/Transforms/Redistribute/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The op of one step, on `value`.
static Value createStep(OpBuilder &builder, Location loc, MeshAttr mesh,
                        Value value, const LayoutStep &step) {
  MLIRContext *context = builder.getContext();
  Type type = LayoutAttr::get(context, mesh, step.result)
                  .attachTo(cast<RankedTensorType>(value.getType()));
  auto axes = AxesAttr::get(context, mesh, step.parts);
  auto kind = ReductionAttr::get(context, step.reduction);
  switch (step.kind) {
  case StepKind::Reinterpret:
    return ReinterpretOp::create(builder, loc, type, value);
  case StepKind::LocalSlice:
    return LocalSliceOp::create(builder, loc, type, value, step.dim, axes);
  case StepKind::LocalPartial:
    return LocalPartialOp::create(builder, loc, type, value, kind, axes);
  case StepKind::AllReduce:
    return AllReduceOp::create(builder, loc, type, value, kind, axes);
  case StepKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, value, kind, step.dim,
                                   axes);
  case StepKind::AllGather:
    return AllGatherOp::create(builder, loc, type, value, step.dim, axes);
  case StepKind::AllToAll:
    return AllToAllOp::create(builder, loc, type, value, step.dim,
                              step.sourceDim, axes);
  case StepKind::Permute:
    return PermuteOp::create(builder, loc, type, value, step.sources, axes);
  }
  llvm_unreachable("unknown step");
}

namespace {
/// The paths found so far, by mesh.
using KnownPaths = llvm::DenseMap<MeshAttr, RedistributionPaths>;
} // namespace

/// The path that is taken, or the fixed-order one where the former contains a
/// partial value of a kind that its elements cannot have.
static std::vector<LayoutStep> pathOf(RankedTensorType type, LayoutAttr from,
                                      LayoutAttr to, KnownPaths &known) {
  const Mesh &mesh = to.getMesh().getValue();
  Type element = type.getElementType();
  const std::vector<LayoutStep> &taken =
      known.try_emplace(to.getMesh(), mesh)
          .first->second.path(type.getShape(), elementBytes(element),
                              from.getValue(), to.getValue());
  // The fixed order makes nothing partial that the target has not so.
  bool hasIdentities = llvm::all_of(taken, [&](const LayoutStep &step) {
    return step.kind != StepKind::LocalPartial ||
           combinesCopies(step.reduction) ||
           identityOf(step.reduction, element);
  });
  return hasIdentities ? taken
                       : fixedOrderPath(mesh, type.getShape(), from.getValue(),
                                        to.getValue());
}

/// Replaces one layout change by the steps of its path.
static LogicalResult replace(RedistributeOp change, KnownPaths &known) {
  auto type = cast<RankedTensorType>(change.getType());
  LayoutAttr from = LayoutAttr::of(change.getSource().getType());
  LayoutAttr to = LayoutAttr::of(type);
  if (!type.hasStaticShape())
    return change.emitOpError() << "needs a static shape, got " << type;
  std::vector<LayoutStep> path = pathOf(type, from, to, known);
  if (path.empty() && from != to)
    return change.emitOpError()
           << "found no path from " << from << " to " << to;
  OpBuilder builder(change);
  Value value = change.getSource();
  for (const LayoutStep &step : path) {
    value = createStep(builder, change.getLoc(), to.getMesh(), value, step);
    // Every step exists for the change's reason.
    for (StringRef why : {attr::reason, attr::cause, attr::gather, attr::ring})
      if (Attribute given = change->getAttr(why))
        value.getDefiningOp()->setAttr(why, given);
  }
  // The last step is the value that the change was.
  if (Attribute ids = change->getAttr(attr::values); ids && !path.empty())
    value.getDefiningOp()->setAttr(attr::values, ids);
  change.replaceAllUsesWith(value);
  change.erase();
  return success();
}

namespace {
struct InsertCollectivesPass
    : tp::impl::InsertCollectivesBase<InsertCollectivesPass> {
  void runOnOperation() override {
    SmallVector<RedistributeOp> changes;
    getOperation()->walk([&](RedistributeOp op) { changes.push_back(op); });
    KnownPaths known;
    for (RedistributeOp change : changes)
      if (failed(replace(change, known)))
        return signalPassFailure();
  }
};
} // namespace
