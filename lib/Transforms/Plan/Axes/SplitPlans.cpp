//===- SplitPlans.cpp - one plan for each axis ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan of several axes shards is a shard on each of them, and the axes
// that shard one dimension do so in the order of the mesh. So such a plan is
// the same plan for each of its axes. tp.fully_shard takes one dimension for
// all axes that it is for (AxisModelBuilder::evenShard).
//
//===----------------------------------------------------------------------===//

#include "SplitPlans.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/PlanStyle.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;

/// `axis 'dp'`, or `axes 'dp', 'cp'`.
static std::string axesText(PlanOp plan) {
  std::string text = plan.getAxes().size() == 1 ? "axis " : "axes ";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(plan.getAxes().getAsValueRange<StringAttr>(), os,
                        [&](StringRef axis) { os << "'" << axis << "'"; });
  return text;
}

static LogicalResult verifyDistinct(ArrayRef<PlanOp> plans) {
  llvm::SmallDenseMap<Attribute, PlanOp> byAxes;
  for (PlanOp plan : plans) {
    auto [it, isNew] = byAxes.try_emplace(plan.getAxes(), plan);
    if (isNew)
      continue;
    InFlightDiagnostic diag = plan.emitError()
                              << axesText(plan)
                              << (plan.getAxes().size() == 1 ? " has" : " have")
                              << " a plan already";
    diag.attachNote(it->second.getLoc()) << "it is here";
    return diag;
  }
  return success();
}

/// What no entry names is chosen on an axis, or replicated there.
static LogicalResult verifyAuto(StringRef axis, ArrayRef<PlanOp> plans) {
  PlanOp first = plans.front();
  for (PlanOp plan : plans) {
    if (plan.getIsAuto() == first.getIsAuto())
      continue;
    InFlightDiagnostic diag =
        plan.emitError() << "axis '" << axis << "' is in a plan with 'auto' "
                         << "and in one without, expected it in all plans for "
                            "the axis or in none";
    diag.attachNote(first.getLoc()) << "the other is here";
    return diag;
  }
  return success();
}

/// A plan for `axis` with the entries of `plans`, before the first of them.
static PlanOp joined(StringRef axis, ArrayRef<PlanOp> plans) {
  PlanOp first = plans.front();
  OpBuilder builder(first);
  std::string name = first.getPlanName().str();
  if (first.getAxes().size() > 1)
    name += ("_" + axis).str();
  auto plan = PlanOp::create(builder, first.getLoc(), name, first.getMesh(),
                             axis, first.getIsAuto());
  if (llvm::any_of(plans,
                   [](PlanOp each) { return each->hasAttr(optionalPlan); }))
    plan->setAttr(optionalPlan, builder.getUnitAttr());
  builder.setInsertionPointToEnd(&plan.getBody().emplaceBlock());
  for (PlanOp each : plans)
    for (Operation &entry : each.getBody().front())
      builder.clone(entry);
  return plan;
}

LogicalResult tp::splitPlans(SmallVector<PlanOp> &plans, const Mesh &mesh) {
  if (failed(verifyDistinct(plans)))
    return failure();
  llvm::MapVector<StringRef, SmallVector<PlanOp>> byAxis;
  for (PlanOp plan : plans)
    for (StringRef axis : plan.getAxes().getAsValueRange<StringAttr>())
      if (mesh.axisByName(axis))
        byAxis[axis].push_back(plan);
  SmallVector<PlanOp> split;
  for (auto &[axis, ofAxis] : byAxis) {
    if (failed(verifyAuto(axis, ofAxis)))
      return failure();
    bool isOne = ofAxis.size() == 1 && ofAxis.front().getAxes().size() == 1;
    split.push_back(isOne ? ofAxis.front() : joined(axis, ofAxis));
  }
  for (PlanOp plan : plans)
    if (!llvm::is_contained(split, plan))
      plan.erase();
  plans = std::move(split);
  return success();
}
