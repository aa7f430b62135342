//===- CollectiveOps.cpp - what the ranks exchange ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/TP.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

namespace {
/// What a collective does to the layout of its operand on its axes.
struct LayoutStep {
  Placement from, to;
};

/// The placement that `layout` has on all of `axes`, or null.
const Placement *placementOn(const Layout &layout, AxesAttr axes) {
  const Placement *placement = nullptr;
  for (AxisPart part : axes.getParts()) {
    const AxisPlacement *entry = layout.find(part);
    if (!entry || (placement && !(entry->placement == *placement)))
      return nullptr;
    placement = &entry->placement;
  }
  return placement;
}

/// True if `axes` are the minor-most parts that shard `dim`.
bool isMinorMost(const Layout &layout, AxesAttr axes, int64_t dim) {
  std::vector<AxisPart> parts = layout.partsSharding(dim);
  ArrayRef<AxisPart> minor(axes.getParts());
  return parts.size() >= minor.size() &&
         ArrayRef(parts).take_back(minor.size()) == minor;
}
} // namespace

/// The rules common to both forms: one element type and mesh, and either both
/// types carry a layout or none does.
static FailureOr<bool> verifyForm(Operation *op, AxesAttr axes) {
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  if (from.getElementType() != to.getElementType())
    return op->emitOpError() << "operand and result have one element type, got "
                             << from << " and " << to;
  if (axes.getParts().empty())
    return op->emitOpError() << "a collective runs over at least one axis";
  LayoutAttr source = LayoutAttr::of(from), target = LayoutAttr::of(to);
  if (!source != !target)
    return op->emitOpError() << "operand and result both carry a layout or "
                                "both are plain, got "
                             << from << " and " << to;
  if (!source) {
    if (!from.hasStaticShape() || !to.hasStaticShape())
      return op->emitOpError()
             << "shapes are static, got " << from << " and " << to;
    return false;
  }
  if (source.getMesh() != target.getMesh() ||
      source.getMesh() != axes.getMesh())
    return op->emitOpError()
           << "axes and layouts are of one mesh, got " << axes.getMesh() << ", "
           << source.getMesh() << " and " << target.getMesh();
  if (from.getShape() != to.getShape())
    return op->emitOpError() << "with layouts the global shape stays, got "
                             << from << " and " << to;
  return true;
}

static LogicalResult verifyStep(Operation *op, AxesAttr axes, LayoutStep step) {
  LayoutAttr source = LayoutAttr::of(op->getOperand(0).getType());
  LayoutAttr target = LayoutAttr::of(op->getResult(0).getType());
  const Placement *before = placementOn(source.getValue(), axes);
  bool fits = before && before->kind == step.from.kind;
  if (fits && before->isPartial())
    fits = before->reduction == step.from.reduction;
  if (fits && before->isShard())
    fits = before->dim == step.from.dim &&
           isMinorMost(source.getValue(), axes, before->dim);
  if (!fits)
    return op->emitOpError() << "the operand is " << toString(step.from)
                             << " on " << axes << ", got " << source;
  // Unit and segments of a new shard are the result's to choose.
  if (const Placement *after = placementOn(target.getValue(), axes))
    if (after->isShard() && step.to.isShard() && after->dim == step.to.dim)
      step.to = *after;
  Layout expected = source.getValue();
  expected.place(axes.getParts(), step.to);
  if (expected != target.getValue())
    return op->emitOpError() << "the result's layout is "
                             << expected.toString(source.getMesh().getValue())
                             << ", got " << target;
  return success();
}

/// Plain form: the result's shape is the operand's with dimension `dim`
/// multiplied or divided by the group's size.
static LogicalResult verifyShape(Operation *op, SmallVector<int64_t> expected) {
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  if (ArrayRef(expected) == to.getShape())
    return success();
  InFlightDiagnostic diag = op->emitOpError() << "the result's shape is [";
  llvm::interleaveComma(expected, diag);
  return diag << "], got " << to;
}

static LogicalResult verifyDim(Operation *op, int64_t dim) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  if (dim >= 0 && dim < type.getRank())
    return success();
  return op->emitOpError() << "dimension " << dim
                           << " does not exist, the operand is a " << type;
}

static SmallVector<int64_t> operandShape(Operation *op) {
  return SmallVector<int64_t>(
      cast<RankedTensorType>(op->getOperand(0).getType()).getShape());
}

/// Divides `shape[dim]` by the group's size.
static LogicalResult divide(Operation *op, SmallVectorImpl<int64_t> &shape,
                            int64_t dim, AxesAttr axes) {
  if (shape[dim] % axes.groupSize() != 0)
    return op->emitOpError()
           << "dimension " << dim << " of size " << shape[dim]
           << " is a multiple of the group's size " << axes.groupSize();
  shape[dim] /= axes.groupSize();
  return success();
}

LogicalResult AllReduceOp::verify() {
  FailureOr<bool> hasLayouts = verifyForm(*this, getAxes());
  if (failed(hasLayouts))
    return failure();
  if (*hasLayouts)
    return verifyStep(*this, getAxes(),
                      {Placement::partial(getReduction().getValue()),
                       Placement::replicate()});
  return verifyShape(*this, operandShape(*this));
}

LogicalResult AllGatherOp::verify() {
  FailureOr<bool> hasLayouts = verifyForm(*this, getAxes());
  if (failed(hasLayouts) || failed(verifyDim(*this, getDim())))
    return failure();
  if (*hasLayouts)
    return verifyStep(*this, getAxes(),
                      {Placement::shard(getDim()), Placement::replicate()});
  SmallVector<int64_t> shape = operandShape(*this);
  shape[getDim()] *= getAxes().groupSize();
  return verifyShape(*this, shape);
}

LogicalResult ReduceScatterOp::verify() {
  FailureOr<bool> hasLayouts = verifyForm(*this, getAxes());
  if (failed(hasLayouts) || failed(verifyDim(*this, getDim())))
    return failure();
  if (*hasLayouts)
    return verifyStep(*this, getAxes(),
                      {Placement::partial(getReduction().getValue()),
                       Placement::shard(getDim())});
  SmallVector<int64_t> shape = operandShape(*this);
  if (failed(divide(*this, shape, getDim(), getAxes())))
    return failure();
  return verifyShape(*this, shape);
}

LogicalResult AllToAllOp::verify() {
  FailureOr<bool> hasLayouts = verifyForm(*this, getAxes());
  if (failed(hasLayouts) || failed(verifyDim(*this, getSplitDim())) ||
      failed(verifyDim(*this, getConcatDim())))
    return failure();
  if (getSplitDim() == getConcatDim())
    return emitOpError() << "split and concat are different dimensions, got "
                         << getSplitDim() << " twice";
  if (*hasLayouts)
    return verifyStep(
        *this, getAxes(),
        {Placement::shard(getConcatDim()), Placement::shard(getSplitDim())});
  SmallVector<int64_t> shape = operandShape(*this);
  if (failed(divide(*this, shape, getSplitDim(), getAxes())))
    return failure();
  shape[getConcatDim()] *= getAxes().groupSize();
  return verifyShape(*this, shape);
}

LogicalResult PermuteOp::verify() {
  FailureOr<bool> hasLayouts = verifyForm(*this, getAxes());
  if (failed(hasLayouts))
    return failure();
  int64_t size = getAxes().groupSize();
  if (static_cast<int64_t>(getSources().size()) != size ||
      llvm::any_of(getSources(), [&](int64_t source) {
        return source < 0 || source >= size;
      }))
    return emitOpError() << "sources names one of " << size
                         << " positions for each of them";
  if (!*hasLayouts)
    return verifyShape(*this, operandShape(*this));

  auto type = cast<RankedTensorType>(getType());
  const Mesh &mesh = getAxes().getMesh().getValue();
  Layout source = LayoutAttr::of(getSource().getType()).getValue();
  Layout target = LayoutAttr::of(type).getValue();
  if (source.hasPartial() || target.hasPartial())
    return emitOpError() << "a permuted value is not partial";
  if (source.localShape(type.getShape()) != target.localShape(type.getShape()))
    return emitOpError() << "a permutation keeps the local shape";
  for (const std::vector<int64_t> &group : mesh.groups(getAxes().getParts()))
    for (auto [rank, position] : llvm::zip(group, getSources()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (target.intervals(mesh, dim, type.getDimSize(dim), rank) !=
            source.intervals(mesh, dim, type.getDimSize(dim), group[position]))
          return emitOpError()
                 << "rank " << group[position] << " does not hold what rank "
                 << rank << " needs of dimension " << dim;
  return success();
}

//===----------------------------------------------------------------------===//
// Folders: a group of one exchanges nothing.
//===----------------------------------------------------------------------===//

template <typename OpTy> static OpFoldResult foldGroupOfOne(OpTy op) {
  if (op.getAxes().groupSize() == 1 && op.getSource().getType() == op.getType())
    return op.getSource();
  return {};
}

OpFoldResult AllReduceOp::fold(FoldAdaptor) { return foldGroupOfOne(*this); }
OpFoldResult ReduceScatterOp::fold(FoldAdaptor) {
  return foldGroupOfOne(*this);
}
OpFoldResult AllToAllOp::fold(FoldAdaptor) { return foldGroupOfOne(*this); }
OpFoldResult PermuteOp::fold(FoldAdaptor) { return foldGroupOfOne(*this); }

OpFoldResult AllGatherOp::fold(FoldAdaptor) {
  // Gathering the slices of a value gives the value.
  if (auto slice = getSource().getDefiningOp<LocalSliceOp>())
    if (slice.getDim() == getDim() && slice.getAxes() == getAxes() &&
        slice.getSource().getType() == getType())
      return slice.getSource();
  return foldGroupOfOne(*this);
}
