//===- DescribeLayout.cpp - mesh and layouts in a manifest ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Codegen/DescribeLayout.h"
#include "llvm/Support/ErrorHandling.h"

using namespace tp::target;
namespace rt = tp::runtime;

rt::Mesh tp::target::describeMesh(const tp::Mesh &mesh) {
  rt::Mesh described;
  for (const tp::MeshAxis &axis : mesh.axes)
    described.axes.push_back({axis.name, axis.size});
  described.deviceOrder = mesh.deviceOrder;
  return described;
}

rt::AxisPart tp::target::describePart(const tp::Mesh &mesh,
                                      const tp::AxisPart &part) {
  int64_t minor = mesh.axes[part.axis].size / (part.major * part.size);
  return {int64_t(part.axis), part.size, minor};
}

rt::Reduction tp::target::describeReduction(tp::ReductionKind kind) {
  switch (kind) {
  case tp::ReductionKind::Sum:
    return rt::Reduction::Sum;
  case tp::ReductionKind::Avg:
    return rt::Reduction::Avg;
  case tp::ReductionKind::Product:
    return rt::Reduction::Product;
  case tp::ReductionKind::Max:
    return rt::Reduction::Max;
  case tp::ReductionKind::Min:
    return rt::Reduction::Min;
  }
  llvm_unreachable("unknown kind of reduction");
}

rt::PortLayout tp::target::describeLayout(const tp::Mesh &mesh,
                                          const tp::Layout &layout) {
  rt::PortLayout described;
  for (const tp::AxisPlacement &entry : layout.entries) {
    rt::AxisPlacement &placement = described.emplace_back();
    placement.part = describePart(mesh, entry.part);
    switch (entry.placement.kind) {
    case tp::PlacementKind::Replicate:
      break;
    case tp::PlacementKind::Shard:
      placement.what = rt::Sharded{entry.placement.dim, entry.placement.unit,
                                   entry.placement.segments};
      break;
    case tp::PlacementKind::Partial:
      placement.what =
          rt::Partial{describeReduction(entry.placement.reduction)};
      break;
    }
  }
  return described;
}
