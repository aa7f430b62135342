//===- Pins.cpp - layouts that a plan asks for ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

static LogicalResult
checkPlacement(Placement &placement, ArrayRef<int64_t> shape, unsigned axis,
               const Mesh &mesh, bool mayBeUneven,
               function_ref<InFlightDiagnostic()> emitError) {
  if (!placement.isShard())
    return success();
  int64_t rank = shape.size();
  if (placement.dim < 0)
    placement.dim += rank;
  if (placement.dim < 0 || placement.dim >= rank)
    return emitError() << "a tensor of " << rank
                       << " dimensions cannot be laid out as "
                       << toString(placement) << ": no such dimension";
  if (!placement.segments.empty())
    return emitError() << "segments of a packed dimension are not handled yet";
  int64_t size = shape[placement.dim], ranks = mesh.axes[axis].size;
  bool isEven = size % (ranks * placement.unit) == 0;
  if (isEven)
    placement.unit = 1;
  if (!isEven && (!mayBeUneven || placement.unit != 1))
    return emitError() << "dimension " << placement.dim << " of size " << size
                       << " does not divide over the " << ranks
                       << " ranks of axis '" << mesh.axes[axis].name << "'"
                       << (placement.unit == 1
                               ? ""
                               : " in units of " +
                                     std::to_string(placement.unit));
  return success();
}

FailureOr<SmallVector<std::optional<Pin>, 2>>
propagate::portPins(DictionaryAttr attributes, RankedTensorType type,
                    const Mesh &mesh,
                    function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<std::optional<Pin>, 2> pins(mesh.axes.size());
  Attribute attribute = attributes ? attributes.get(pinAttribute) : Attribute();
  if (!attribute)
    return pins;
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  if (!entries)
    return emitError() << "attribute '" << pinAttribute
                       << "' is a dictionary from axes to #tp.placement, got "
                       << attribute;
  for (NamedAttribute entry : entries) {
    auto placement = dyn_cast<PlacementAttr>(entry.getValue());
    std::optional<unsigned> axis = mesh.axisByName(entry.getName());
    if (!axis)
      return emitError() << "pinned on axis '" << entry.getName().getValue()
                         << "', which the mesh does not have";
    if (!placement)
      return emitError() << "attribute '" << pinAttribute
                         << "' expects a #tp.placement for an axis, got "
                         << entry.getValue();
    Pin pin = {placement.getValue()};
    if (failed(checkPlacement(pin.placement, type.getShape(), *axis, mesh,
                              /*mayBeUneven=*/true, emitError)))
      return failure();
    pins[*axis] = pin;
  }
  return pins;
}

FailureOr<SmallVector<std::optional<Pin>, 2>>
propagate::constrainPins(ConstrainOp op, const Mesh &mesh) {
  SmallVector<std::optional<Pin>, 2> pins(mesh.axes.size());
  auto emitError = [&] { return op.emitOpError(); };
  ArrayRef<int64_t> shape = op.getType().getShape();
  if (!(op.getMesh().getValue() == mesh))
    return emitError() << "is for another mesh than the program's";
  if (op.getView() != shape)
    return emitError() << "has a view other than the value's shape; "
                          "tp-normalize has to move the reshape between them";
  std::optional<unsigned> axis = mesh.axisByName(op.getAxis());
  if (!axis)
    return emitError() << "is on axis '" << op.getAxis()
                       << "', which the mesh does not have";
  Pin pin = {op.getPlacement().getValue(), op.getLazy()};
  if (failed(checkPlacement(pin.placement, shape, *axis, mesh,
                            /*mayBeUneven=*/false, emitError)))
    return failure();
  pins[*axis] = pin;
  return pins;
}
