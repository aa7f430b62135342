//===- LayoutOps.cpp - pins and layout changes ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSyntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// tp.needed
//===----------------------------------------------------------------------===//

bool tp::isShapeOrOne(RankedTensorType type, RankedTensorType of) {
  return type.getRank() == of.getRank() &&
         llvm::all_of(llvm::zip_equal(type.getShape(), of.getShape()),
                      [](auto sizes) {
                        auto [size, whole] = sizes;
                        return size == whole || size == 1;
                      });
}

LogicalResult NeededOp::verify() {
  if (!isShapeOrOne(getCondition().getType(), getType()))
    return emitOpError() << "expected a condition with the operand's "
                            "dimensions, each of its size or of 1, got "
                         << getType() << " and " << getCondition().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// tp.constrain
//===----------------------------------------------------------------------===//

LogicalResult ConstrainOp::verify() {
  if (!getMesh().getValue().axisByName(getAxis()))
    return emitOpError() << "the mesh has no axis '" << getAxis() << "'";
  auto type = cast<RankedTensorType>(getSource().getType());
  int64_t elements = 1;
  for (int64_t size : getView()) {
    if (size < 0)
      return emitOpError() << "a view has static sizes, got " << size;
    if (llvm::MulOverflow(elements, size, elements))
      return emitOpError() << "the view has more than 2^63 elements, the value "
                              "is a "
                           << type;
  }
  if (!type.hasStaticShape() || elements != type.getNumElements())
    return emitOpError() << "the view has " << elements
                         << " elements, the value is a " << type;
  const Placement &placement = getPlacement().getValue();
  int64_t rank = getView().size();
  if (placement.isShard() && (placement.dim < 0 || placement.dim >= rank))
    return emitOpError() << toString(placement)
                         << " needs that dimension, the view has rank " << rank;
  if (getDims() && !placement.isShard())
    return emitOpError() << "only a shard is of dimensions, got "
                         << toString(placement);
  for (int64_t dim : getDims().value_or(ArrayRef<int64_t>()))
    if (dim < 0 || dim >= type.getRank())
      return emitOpError() << "may shard dimension " << dim
                           << ", the value has rank " << type.getRank();
  if (getLazy() && !placement.isReplicate())
    return emitOpError() << "only a replicated placement can be lazy, got "
                         << toString(placement);
  return success();
}

OpFoldResult ConstrainOp::fold(FoldAdaptor) {
  // The same pin twice says nothing new.
  auto outer = getSource().getDefiningOp<ConstrainOp>();
  if (outer && outer.getMesh() == getMesh() && outer.getAxis() == getAxis() &&
      outer.getPlacement() == getPlacement() && outer.getView() == getView() &&
      outer.getLazy() == getLazy() && outer.getDims() == getDims())
    return getSource();
  return {};
}

//===----------------------------------------------------------------------===//
// tp.redistribute
//===----------------------------------------------------------------------===//

/// Operand and result both carry layouts, on one mesh, over one plain type.
static LogicalResult verifyLayoutChange(Operation *op) {
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  LayoutAttr source = LayoutAttr::of(from), target = LayoutAttr::of(to);
  if (!source || !target)
    return op->emitOpError()
           << "operand and result carry layouts, got " << (source ? to : from);
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return op->emitOpError()
           << "a layout change keeps shape and element type, got " << from
           << " and " << to;
  if (source.getMesh() != target.getMesh())
    return op->emitOpError() << "a layout change stays on one mesh, got "
                             << source.getMesh() << " and " << target.getMesh();
  return success();
}

LogicalResult RedistributeOp::verify() { return verifyLayoutChange(*this); }

OpFoldResult RedistributeOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  return {};
}

LogicalResult RedistributeOp::canonicalize(RedistributeOp op,
                                           PatternRewriter &rewriter) {
  // What lies between two changes is not seen by anyone else.
  auto inner = op.getSource().getDefiningOp<RedistributeOp>();
  if (!inner || !inner->hasOneUse())
    return failure();
  rewriter.replaceOpWithNewOp<RedistributeOp>(op, op.getType(),
                                              inner.getSource());
  return success();
}

//===----------------------------------------------------------------------===//
// Custom directives of the assembly formats
//===----------------------------------------------------------------------===//

namespace tp {
static ParseResult parsePlacement(OpAsmParser &parser, PlacementAttr &attr) {
  Placement placement;
  if (tp::parsePlacement(parser, placement))
    return failure();
  attr = PlacementAttr::get(parser.getContext(), placement);
  return success();
}

static void printPlacement(OpAsmPrinter &printer, Operation *,
                           PlacementAttr attr) {
  tp::printPlacement(printer, attr.getValue());
}

static ParseResult parseReduction(OpAsmParser &parser, ReductionAttr &attr) {
  StringRef text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&text))
    return failure();
  std::optional<ReductionKind> kind = parseReductionKind(text);
  if (!kind)
    return parser.emitError(loc)
           << "expected sum, avg, product, max or min, got '" << text << "'";
  attr = ReductionAttr::get(parser.getContext(), *kind);
  return success();
}

static void printReduction(OpAsmPrinter &printer, Operation *,
                           ReductionAttr attr) {
  printer << toString(attr.getValue());
}
} // namespace tp

#define GET_OP_CLASSES
#include "tp/IR/TPOps.cpp.inc"
