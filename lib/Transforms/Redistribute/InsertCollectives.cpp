//===- InsertCollectives.cpp - layout changes become collectives ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/TP.h"
#include "tp/Transforms/Redistribute/Passes.h"
#include "llvm/ADT/STLExtras.h"

namespace tp {
#define GEN_PASS_DEF_INSERTCOLLECTIVES
#include "tp/Transforms/Redistribute/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
/// Leads one value from its layout to another, one axis part at a time. Every
/// step is an op whose verifier checks the layouts it goes between.
class LayoutPath {
public:
  LayoutPath(RedistributeOp op)
      : op(op), builder(op), mesh(LayoutAttr::of(op.getType()).getMesh()),
        value(op.getSource()),
        current(LayoutAttr::of(value.getType()).getValue()),
        target(LayoutAttr::of(op.getType()).getValue()) {}

  FailureOr<Value> build() {
    auto type = cast<RankedTensorType>(op.getType());
    if (current.isUneven(type.getShape()) || target.isUneven(type.getShape()))
      return op.emitOpError()
             << "changes the layout of a dimension that does not divide over "
                "its axes, from "
             << current.toString(mesh.getValue()) << " to "
             << target.toString(mesh.getValue());
    for (const AxisPlacement &entry : target.entries)
      if (!current.find(entry.part))
        return op.emitOpError()
               << "splits axis '" << mesh.getValue().axes[entry.part.axis].name
               << "' in another way than its operand";
    reduce();
    move();
    gather();
    cut();
    makePartial();
    if (current != target)
      return op.emitOpError()
             << "found no way from " << LayoutAttr::of(op.getSource().getType())
             << " to " << LayoutAttr::of(op.getType());
    return value;
  }

private:
  const Placement &wanted(AxisPart part) {
    return target.find(part)->placement;
  }

  AxesAttr axes(AxisPart part) {
    return AxesAttr::get(builder.getContext(), mesh, {part});
  }

  /// Records that the value now has `placement` on `part`, and gives its type.
  RankedTensorType advance(AxisPart part, const Placement &placement) {
    current.place({part}, placement);
    return LayoutAttr::get(builder.getContext(), mesh, current)
        .attachTo(cast<RankedTensorType>(value.getType()));
  }

  /// True if cutting dimension `dim` over `part` next agrees with the target:
  /// what shards it now is what comes before `part` there.
  bool isNextOn(int64_t dim, AxisPart part) {
    std::vector<AxisPart> parts = current.partsSharding(dim);
    std::vector<AxisPart> goal = target.partsSharding(dim);
    return goal.size() > parts.size() && goal[parts.size()] == part &&
           std::equal(parts.begin(), parts.end(), goal.begin());
  }

  void reduce() {
    for (const AxisPlacement &entry : Layout(current).entries) {
      const auto &[part, from] = entry;
      Placement to = wanted(part);
      if (!from.isPartial() || from == to)
        continue;
      auto kind = ReductionAttr::get(builder.getContext(), from.reduction);
      if (to.isShard() && isNextOn(to.dim, part))
        value = ReduceScatterOp::create(builder, op.getLoc(), advance(part, to),
                                        value, kind, to.dim, axes(part));
      else
        value = AllReduceOp::create(builder, op.getLoc(),
                                    advance(part, Placement::replicate()),
                                    value, kind, axes(part));
    }
  }

  void move() {
    for (const AxisPlacement &entry : Layout(current).entries) {
      const auto &[part, from] = entry;
      Placement to = wanted(part);
      if (!from.isShard() || !to.isShard() || from.dim == to.dim ||
          current.partsSharding(from.dim).back() != part ||
          !isNextOn(to.dim, part))
        continue;
      value = AllToAllOp::create(builder, op.getLoc(), advance(part, to), value,
                                 to.dim, from.dim, axes(part));
    }
  }

  void gather() {
    int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      while (true) {
        std::vector<AxisPart> parts = current.partsSharding(dim);
        std::vector<AxisPart> goal = target.partsSharding(dim);
        bool fits = parts.size() <= goal.size() &&
                    std::equal(parts.begin(), parts.end(), goal.begin());
        if (fits)
          break;
        AxisPart minor = parts.back();
        value = AllGatherOp::create(builder, op.getLoc(),
                                    advance(minor, Placement::replicate()),
                                    value, dim, axes(minor));
      }
    }
  }

  void cut() {
    int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      std::vector<AxisPart> goal = target.partsSharding(dim);
      size_t done = current.partsSharding(dim).size();
      for (AxisPart part : ArrayRef(goal).drop_front(done))
        value = LocalSliceOp::create(builder, op.getLoc(),
                                     advance(part, wanted(part)), value, dim,
                                     axes(part));
    }
  }

  void makePartial() {
    for (const AxisPlacement &entry : Layout(current).entries) {
      Placement to = wanted(entry.part);
      if (!to.isPartial() || entry.placement == to)
        continue;
      value = LocalPartialOp::create(
          builder, op.getLoc(), advance(entry.part, to), value,
          ReductionAttr::get(builder.getContext(), to.reduction),
          axes(entry.part));
    }
  }

  RedistributeOp op;
  OpBuilder builder;
  MeshAttr mesh;
  Value value;
  Layout current, target;
};

struct InsertCollectivesPass
    : tp::impl::InsertCollectivesBase<InsertCollectivesPass> {
  void runOnOperation() override {
    SmallVector<RedistributeOp> changes;
    getOperation()->walk([&](RedistributeOp op) { changes.push_back(op); });
    for (RedistributeOp change : changes) {
      FailureOr<Value> value = LayoutPath(change).build();
      if (failed(value))
        return signalPassFailure();
      // The last step is the value that the change was.
      Operation *last = value->getDefiningOp();
      if (Attribute ids = change->getAttr(attr::values);
          ids && *value != change.getSource())
        last->setAttr(attr::values, ids);
      // Every step exists for the change's reason.
      for (Value step = *value; step != change.getSource();
           step = step.getDefiningOp()->getOperand(0))
        if (Attribute reason = change->getAttr(attr::reason))
          step.getDefiningOp()->setAttr(attr::reason, reason);
      change.replaceAllUsesWith(*value);
      change.erase();
    }
  }
};
} // namespace
