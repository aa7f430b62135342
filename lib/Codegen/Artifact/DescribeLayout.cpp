//===- DescribeLayout.cpp - mesh and layouts in a manifest ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Codegen/DescribeLayout.h"
#include <cassert>

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

rt::PortLayout tp::target::describeLayout(const tp::Mesh &mesh,
                                          const tp::Layout &layout) {
  rt::PortLayout described;
  for (const tp::AxisPlacement &entry : layout.entries) {
    assert(!entry.placement.isPartial() && "a port is never partial");
    rt::AxisPlacement &placement = described.emplace_back();
    placement.part = describePart(mesh, entry.part);
    if (entry.placement.isShard())
      placement.what = rt::Sharded{entry.placement.dim, entry.placement.unit,
                                   entry.placement.segments};
  }
  return described;
}
