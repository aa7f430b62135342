//===- AxisText.h - layouts and strategies as text --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_AXISTEXT_H
#define TP_LIB_SHARDING_AXISTEXT_H

#include "tp/Sharding/Mesh.h"

namespace tp {

/// The entries of a layout or strategy: `[replicate, shard<0>]` where they are
/// those of the mesh's axes in their order, else each behind its axis part, as
/// in `["tp" = shard<0>]`.
template <typename Entry, typename TextOf>
std::string listOnAxes(const Mesh &mesh, const std::vector<Entry> &entries,
                       TextOf textOf) {
  bool inMeshOrder = entries.size() == mesh.axes.size();
  for (size_t i = 0; inMeshOrder && i < entries.size(); ++i)
    inMeshOrder = entries[i].part == mesh.wholeAxis(i);
  std::string text = "[";
  const char *separator = "";
  for (const Entry &entry : entries) {
    text += std::exchange(separator, ", ");
    if (!inMeshOrder)
      text += toString(entry.part, mesh) + " = ";
    text += textOf(entry);
  }
  return text + "]";
}

} // namespace tp

#endif // TP_LIB_SHARDING_AXISTEXT_H
