//===- Frame.cpp - the values of one run ----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Frame.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

ShardView Frame::view(Value value, TensorData array) const {
  ShardView view{std::move(array), {}};
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return view;
  LayoutAttr layout = isSharded() ? LayoutAttr::of(type) : LayoutAttr();
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (layout)
      view.held.push_back(layout.getValue().intervals(
          layout.getMesh().getValue(), dim, size, rank));
    else if (size > 0)
      view.held.push_back({{0, 0, size}});
    else
      view.held.emplace_back();
  }
  return view;
}

SmallVector<int64_t> Frame::bufferShape(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  if (isSharded())
    if (LayoutAttr layout = LayoutAttr::of(tensor))
      return layout.localShape(tensor.getShape());
  return SmallVector<int64_t>(tensor.getShape());
}

TensorData Frame::allocate(Type type) const {
  return TensorData::poison(getElementTypeOrSelf(type), bufferShape(type));
}

InFlightDiagnostic Frame::error(Operation *op) const {
  InFlightDiagnostic diag = op->emitOpError();
  if (kind != Kind::Global)
    diag << "rank " << rank << " ";
  return diag;
}

static constexpr StringLiteral unrunnableMark = "unrunnable";

static InFlightDiagnostic marked(InFlightDiagnostic diag) {
  diag.getUnderlyingDiagnostic()->getMetadata().emplace_back(
      StringRef(unrunnableMark));
  return diag;
}

InFlightDiagnostic Frame::dataError(Operation *op) const {
  return kind == Kind::Global ? marked(error(op)) : error(op);
}

InFlightDiagnostic simulator::unrunnable(Operation *op) {
  return marked(op->emitOpError());
}

bool simulator::isUnrunnable(Diagnostic &diagnostic) {
  return llvm::any_of(
      diagnostic.getMetadata(), [](DiagnosticArgument &argument) {
        return argument.getKind() ==
                   DiagnosticArgument::DiagnosticArgumentKind::String &&
               argument.getAsString() == unrunnableMark;
      });
}

static LogicalResult checkType(Operation *op, Type type) {
  // One tensor of 2 GiB; more than that is not meant for an interpreter.
  constexpr int64_t maxElements = int64_t(1) << 28;
  if (!storageOf(getElementTypeOrSelf(type)))
    return unrunnable(op) << "cannot be simulated: no numbers of type " << type
                          << " are known";
  if (!isa<ShapedType>(type))
    return success();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return unrunnable(op) << "cannot be simulated: expected ranked tensors "
                             "of static shape, got "
                          << type;
  int64_t elements = 1;
  for (int64_t size : tensor.getShape())
    if (__builtin_mul_overflow(elements, size, &elements) ||
        elements > maxElements)
      return unrunnable(op) << "cannot be simulated: " << type
                            << " has more than " << maxElements << " elements";
  return success();
}

LogicalResult simulator::checkTypes(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (failed(checkType(op, type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(checkType(op, type)))
      return failure();
  return success();
}
