//===- CollectiveOps.cpp - what the ranks exchange ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/TP.h"
#include "tp/Sharding/LayoutChange.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// The rules common to both forms: one element type and mesh, and either both
/// types carry a layout or none does.
static FailureOr<bool> verifyForm(Operation *op, AxesAttr axes) {
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  if (from.getElementType() != to.getElementType())
    return op->emitOpError() << "operand and result have one element type, got "
                             << from << " and " << to;
  if (axes && axes.getParts().empty())
    return op->emitOpError() << "a collective runs over at least one axis";
  LayoutAttr source = LayoutAttr::of(from), target = LayoutAttr::of(to);
  if (!source != !target)
    return op->emitOpError() << "operand and result both carry a layout or "
                                "both are plain, got "
                             << from << " and " << to;
  if (!from.hasStaticShape() || !to.hasStaticShape())
    return op->emitOpError()
           << "shapes are static, got " << from << " and " << to;
  if (!source)
    return false;
  if (source.getMesh() != target.getMesh())
    return op->emitOpError() << "a layout change stays on one mesh, got "
                             << source.getMesh() << " and " << target.getMesh();
  if (axes && source.getMesh() != axes.getMesh())
    return op->emitOpError() << "axes and layouts are of one mesh, got "
                             << axes.getMesh() << " and " << source.getMesh();
  if (from.getShape() != to.getShape())
    return op->emitOpError() << "with layouts the global shape stays, got "
                             << from << " and " << to;
  return true;
}

/// True if the axes of `layout` are partial of more than one kind.
static bool mixesKinds(const Layout &layout) {
  std::optional<ReductionKind> kind;
  for (const AxisPlacement &entry : layout.entries) {
    if (!entry.placement.isPartial())
      continue;
    if (kind && *kind != entry.placement.reduction)
      return true;
    kind = entry.placement.reduction;
  }
  return false;
}

/// The result's layout is what `step` over `axes` leaves of the operand's,
/// which is `from` on these axes.
static LogicalResult verifyStep(Operation *op, AxesAttr axes,
                                const Placement &from, LayoutStep step) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  LayoutAttr source = LayoutAttr::of(op->getOperand(0).getType());
  LayoutAttr target = LayoutAttr::of(type);
  const Mesh &mesh = source.getMesh().getValue();
  if (axes)
    step.parts = axes.getParts();
  step.result = target.getValue();
  std::optional<Layout> expected =
      layoutAfter(mesh, type.getShape(), source.getValue(), step);
  if (!expected) {
    // The same step with nothing in its result but what it adds.
    LayoutStep bare = step;
    bare.result.entries.clear();
    for (const AxisPlacement &entry : target.getValue().entries)
      if (entry.placement.isShard() && entry.placement.dim == step.dim &&
          bare.result.entries.empty())
        for (AxisPart part : step.parts)
          bare.result.entries.push_back({part, entry.placement});
    if (!bare.result.entries.empty() &&
        layoutAfter(mesh, type.getShape(), source.getValue(), bare))
      return op->emitOpError()
             << "the result's layout ends with " << axes << " on dimension "
             << step.dim << ", got " << target;
    InFlightDiagnostic diag = op->emitOpError()
                              << "the operand is " << toString(from) << " on "
                              << axes << ", got " << source;
    if (mixesKinds(source.getValue()))
      diag.attachNote() << "where kinds differ the later axes combine first";
    return diag;
  }
  if (!holdsSame(mesh, type.getShape(), *expected, target.getValue()))
    return op->emitOpError() << "the result's layout is "
                             << expected->toString(mesh) << ", got " << target;
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
    return op->emitOpError() << "expected dimension " << dim
                             << " to be a multiple of the group's size "
                             << axes.groupSize() << ", got " << shape[dim];
  shape[dim] /= axes.groupSize();
  return success();
}

/// Multiplies `shape[dim]` by the group's size.
static LogicalResult multiply(Operation *op, SmallVectorImpl<int64_t> &shape,
                              int64_t dim, AxesAttr axes) {
  if (llvm::MulOverflow(shape[dim], axes.groupSize(), shape[dim]))
    return op->emitOpError()
           << "dimension " << dim << " of the result is above 2^63";
  return success();
}

LogicalResult AllReduceOp::verify() {
  FailureOr<bool> hasLayouts = verifyForm(*this, getAxes());
  if (failed(hasLayouts))
    return failure();
  if (*hasLayouts)
    return verifyStep(
        *this, getAxes(), Placement::partial(getReduction().getValue()),
        LayoutStep(StepKind::AllReduce, {}, getReduction().getValue()));
  return verifyShape(*this, operandShape(*this));
}

LogicalResult AllGatherOp::verify() {
  FailureOr<bool> hasLayouts = verifyForm(*this, getAxes());
  if (failed(hasLayouts) || failed(verifyDim(*this, getDim())))
    return failure();
  if (*hasLayouts)
    return verifyStep(
        *this, getAxes(), Placement::shard(getDim()),
        LayoutStep(StepKind::AllGather, {}, ReductionKind::Sum, getDim()));
  SmallVector<int64_t> shape = operandShape(*this);
  if (failed(multiply(*this, shape, getDim(), getAxes())))
    return failure();
  return verifyShape(*this, shape);
}

LogicalResult ReduceScatterOp::verify() {
  FailureOr<bool> hasLayouts = verifyForm(*this, getAxes());
  if (failed(hasLayouts) || failed(verifyDim(*this, getDim())))
    return failure();
  if (*hasLayouts)
    return verifyStep(*this, getAxes(),
                      Placement::partial(getReduction().getValue()),
                      LayoutStep(StepKind::ReduceScatter, {},
                                 getReduction().getValue(), getDim()));
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
    return verifyStep(*this, getAxes(), Placement::shard(getConcatDim()),
                      LayoutStep(StepKind::AllToAll, {}, ReductionKind::Sum,
                                 getSplitDim(), getConcatDim()));
  SmallVector<int64_t> shape = operandShape(*this);
  if (failed(divide(*this, shape, getSplitDim(), getAxes())))
    return failure();
  if (failed(multiply(*this, shape, getConcatDim(), getAxes())))
    return failure();
  return verifyShape(*this, shape);
}

/// A partial placement that `layout` has on a part of `axes`, or null.
static const Placement *partialOn(const Layout &layout, AxesAttr axes) {
  for (const AxisPlacement &entry : layout.entries)
    if (entry.placement.isPartial() &&
        llvm::any_of(axes.getParts(), [&](AxisPart part) {
          return part.axis == entry.part.axis &&
                 part.major < entry.part.major * entry.part.size &&
                 entry.part.major < part.major * part.size;
        }))
      return &entry.placement;
  return nullptr;
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
  auto isPartial = [](const AxisPlacement &entry) {
    return entry.placement.isPartial();
  };
  std::vector<AxisPlacement> before =
      joined(withoutTrivialParts(source)).entries;
  std::vector<AxisPlacement> after =
      joined(withoutTrivialParts(target)).entries;
  if (!llvm::equal(llvm::make_filter_range(before, isPartial),
                   llvm::make_filter_range(after, isPartial)))
    return emitOpError() << "a permutation keeps partial values as they are";
  if (const Placement *over = partialOn(source, getAxes()))
    return emitOpError() << "a permutation is not over axes that are "
                         << toString(*over);
  if (source.localShape(type.getShape()) != target.localShape(type.getShape()))
    return emitOpError() << "a permutation keeps the local shape";
  for (const std::vector<int64_t> &group : mesh.groups(getAxes().getParts()))
    for (auto [rank, position] : llvm::zip(group, getSources()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (!holdsSameOn(mesh, type.getDimSize(dim), dim, source,
                         group[position], target, rank))
          return emitOpError()
                 << "rank " << group[position] << " does not hold what rank "
                 << rank << " needs of dimension " << dim;
  return success();
}

/// A local step exists only where types carry layouts.
static LogicalResult verifyLocalStep(Operation *op, AxesAttr axes,
                                     const LayoutStep &step) {
  FailureOr<bool> hasLayouts = verifyForm(op, axes);
  if (failed(hasLayouts))
    return failure();
  if (!*hasLayouts)
    return op->emitOpError() << "operand and result carry layouts, got "
                             << op->getResult(0).getType();
  return verifyStep(op, axes, Placement::replicate(), step);
}

LogicalResult ReinterpretOp::verify() {
  return verifyLocalStep(*this, AxesAttr(), LayoutStep(StepKind::Reinterpret));
}

LogicalResult LocalSliceOp::verify() {
  if (failed(verifyDim(*this, getDim())))
    return failure();
  return verifyLocalStep(
      *this, getAxes(),
      LayoutStep(StepKind::LocalSlice, {}, ReductionKind::Sum, getDim()));
}

LogicalResult LocalPartialOp::verify() {
  return verifyLocalStep(
      *this, getAxes(),
      LayoutStep(StepKind::LocalPartial, {}, getReduction().getValue()));
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
