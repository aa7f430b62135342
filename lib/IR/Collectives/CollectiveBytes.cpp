//===- CollectiveBytes.cpp - bytes of a collective ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/Collectives/CollectiveBytes.h"
#include "tp/IR/ElementBytes.h"
#include "tp/Sharding/StepCost.h"

using namespace mlir;
using namespace tp;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The number of elements that are no padding on the rank that has most, which
/// is the first along all axes.
static int64_t mostElements(LayoutAttr layout, ArrayRef<int64_t> shape) {
  const Mesh &mesh = layout.getMesh().getValue();
  int64_t first = mesh.rankAt(std::vector<int64_t>(mesh.axes.size(), 0));
  int64_t elements = 1;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t held = 0;
    for (const Interval &piece :
         layout.getValue().intervals(mesh, dim, size, first))
      held += piece.size;
    elements *= held;
  }
  return elements;
}

static StepKind stepOf(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return StepKind::AllReduce;
  case CollectiveKind::AllGather:
    return StepKind::AllGather;
  case CollectiveKind::ReduceScatter:
    return StepKind::ReduceScatter;
  case CollectiveKind::AllToAll:
    return StepKind::AllToAll;
  case CollectiveKind::Permute:
    return StepKind::Permute;
  }
  llvm_unreachable("unknown kind of collective");
}

/// The larger side of a rank's collective, whose types are those of its blocks.
static int64_t elementsOfBlocks(Operation *op) {
  return std::max(typeOf(op->getOperand(0)).getNumElements(),
                  typeOf(op->getResult(0)).getNumElements());
}

static int64_t wireElements(Operation *op, const Collective &collective) {
  RankedTensorType result = typeOf(op->getResult(0));
  LayoutAttr from = LayoutAttr::of(op->getOperand(0).getType());
  LayoutAttr to = LayoutAttr::of(result);
  if (!from || !to)
    return elementsOfBlocks(op);
  auto exchange = dyn_cast<AllToAllOp>(op);
  return elementsMoved(
      stepOf(collective.kind), ReductionKind::Sum,
      exchange ? exchange.getSplitDim() : 0, from.localShape(result.getShape()),
      to.localShape(result.getShape()), collective.axes.groupSize());
}

int64_t tp::payloadElements(Operation *op) {
  RankedTensorType result = typeOf(op->getResult(0));
  LayoutAttr from = LayoutAttr::of(op->getOperand(0).getType());
  LayoutAttr to = LayoutAttr::of(result);
  if (from && to)
    return std::max(mostElements(from, result.getShape()),
                    mostElements(to, result.getShape()));
  if (auto elements = op->getAttrOfType<IntegerAttr>(attr::payload))
    return elements.getInt();
  return elementsOfBlocks(op);
}

CollectiveBytes tp::bytesOfCollective(Operation *op) {
  Collective collective = *asCollective(op);
  int64_t bytes = elementBytes(typeOf(op->getResult(0)).getElementType());
  CollectiveBytes result;
  result.payload = payloadElements(op) * bytes;
  result.wire = wireElements(op, collective) * bytes;
  result.ring =
      ringBytes(collective.kind, result.payload, collective.axes.groupSize());
  return result;
}
