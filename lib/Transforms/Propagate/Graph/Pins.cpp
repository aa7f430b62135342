//===- Pins.cpp - layouts that a plan asks for ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

bool Pin::allows(const Placement &made) const {
  if (made == placement || (orReplicate && made.isReplicate()))
    return true;
  if (lazy && placement.isReplicate() && made.isPartial())
    return true;
  if (!placement.isShard() || !made.isShard())
    return false;
  if (!dims.empty())
    return llvm::is_contained(dims, made.dim);
  return inChunksOfUses && made.dim == placement.dim &&
         (placement.segments.empty() || made.segments == placement.segments);
}

static LogicalResult
checkPlacement(Placement &placement, ArrayRef<int64_t> shape,
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
  int64_t sum = 0;
  for (int64_t segment : placement.segments)
    sum += segment;
  if (!placement.segments.empty() && sum != shape[placement.dim])
    return emitError() << "the segments of " << toString(placement)
                       << " add up to " << sum << ", dimension "
                       << placement.dim << " has size " << shape[placement.dim];
  return success();
}

/// Equal chunks are the same in every unit.
static void dropUnit(Placement &placement, ArrayRef<int64_t> shape,
                     int64_t ranks) {
  if (!placement.isShard())
    return;
  SmallVector<int64_t> segments(placement.segments.begin(),
                                placement.segments.end());
  if (segments.empty())
    segments.push_back(shape[placement.dim]);
  if (llvm::all_of(segments, [&](int64_t segment) {
        return segment % (placement.unit * ranks) == 0;
      }))
    placement.unit = 1;
}

FailureOr<AxisPins>
propagate::portPins(DictionaryAttr attributes, RankedTensorType type,
                    const Mesh &mesh,
                    function_ref<InFlightDiagnostic()> emitError) {
  AxisPins pins(mesh.axes.size());
  Attribute attribute = attributes ? attributes.get(attr::pin) : Attribute();
  if (!attribute)
    return pins;
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  if (!entries)
    return emitError() << "attribute '" << attr::pin
                       << "' is a dictionary from axes to #tp.placement, got "
                       << attribute;
  for (NamedAttribute entry : entries) {
    auto placement = dyn_cast<PlacementAttr>(entry.getValue());
    std::optional<unsigned> axis = mesh.axisByName(entry.getName());
    if (!axis)
      return emitError() << "pinned on axis '" << entry.getName().getValue()
                         << "', which the mesh does not have";
    if (freePortOf(entry.getValue()))
      continue;
    if (!placement)
      return emitError() << "attribute '" << attr::pin
                         << "' expects a #tp.placement for an axis, got "
                         << entry.getValue();
    Pin pin;
    pin.placement = placement.getValue();
    if (failed(checkPlacement(pin.placement, type.getShape(), emitError)))
      return failure();
    dropUnit(pin.placement, type.getShape(), mesh.axes[*axis].size);
    auto kind = attributes.getAs<StringAttr>(attr::kind);
    // What updates an argument has the chunks of that one.
    bool isState =
        (kind && kind != "user_input") || attributes.contains(attr::updates);
    pin.inChunksOfUses =
        isState && pin.placement.isShard() && pin.placement.unit == 1;
    for (auto [other, earlier] : llvm::enumerate(pins)) {
      if (!earlier || !earlier->placement.isShard() ||
          !pin.placement.isShard() || pin.inChunksOfUses ||
          earlier->placement.dim != pin.placement.dim ||
          earlier->placement.segments == pin.placement.segments)
        continue;
      return emitError() << "pinned to " << toString(earlier->placement)
                         << " on axis '" << mesh.axes[other].name << "' and to "
                         << toString(pin.placement) << " on axis '"
                         << mesh.axes[*axis].name
                         << "', but axes that shard one dimension agree on "
                            "its segments";
    }
    pins[*axis] = pin;
  }
  return pins;
}

SmallVector<std::optional<FreePort>, 2>
propagate::freePorts(DictionaryAttr attributes, const Mesh &mesh) {
  SmallVector<std::optional<FreePort>, 2> free(mesh.axes.size());
  auto pins = attributes ? attributes.getAs<DictionaryAttr>(attr::pin)
                         : DictionaryAttr();
  for (auto [axis, port] : llvm::zip_equal(mesh.axes, free))
    port = pins ? freePortOf(pins.get(axis.name)) : std::nullopt;
  return free;
}

FailureOr<AxisPins> propagate::constrainPins(ConstrainOp op, const Mesh &mesh) {
  AxisPins pins(mesh.axes.size());
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
  Pin pin;
  pin.placement = op.getPlacement().getValue();
  pin.lazy = op.getLazy();
  if (failed(checkPlacement(pin.placement, shape, emitError)))
    return failure();
  if (pin.placement.isShard() && pin.placement.segments.empty()) {
    pin.dims = {pin.placement.dim};
    if (std::optional<ArrayRef<int64_t>> dims = op.getDims())
      pin.dims.assign(dims->begin(), dims->end());
  }
  pins[*axis] = pin;
  return pins;
}
