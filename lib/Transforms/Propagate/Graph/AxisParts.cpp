//===- AxisParts.cpp - sub-axes for few heads -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of kv key/value heads on n > kv ranks, g = gcd(kv, n) groups of ranks get
// whole heads, and the n / g ranks of a group share them: heads are sharded
// over a major sub-axis of size g. Query heads that go with them divide
// further, over the minor one. With g = 1 heads stay whole on some ranks and
// others have none.
//
//===----------------------------------------------------------------------===//

#include "Heads.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

/// Whether the port, or the parameter whose state it is, is gathered where it
/// is used; before axes are cut.
static bool isFullySharded(const AssignmentGraph &graph, const Node &node,
                           unsigned axis) {
  auto isSo = [&](const Node &each) {
    return axis < each.free.size() && each.free[axis] == FreePort::FullySharded;
  };
  return isSo(node) || (node.tiedTo && isSo(graph.nodes[*node.tiedTo]));
}

/// The sizes of major sub-axes of an axis of `ranks` over which heads of
/// weights that are sharded on `axis`, or may be, divide.
static std::set<int64_t> majorSizes(const AssignmentGraph &graph, unsigned axis,
                                    int64_t ranks) {
  std::set<int64_t> sizes;
  for (const Node &node : graph.nodes) {
    if (node.kind != Node::Kind::Argument)
      continue;
    unsigned value = node.results.front();
    SmallVector<int64_t> dims;
    // Nothing computes with a shard of what is gathered.
    if (isFullySharded(graph, node, axis))
      continue;
    if (node.free[axis])
      llvm::append_range(dims,
                         llvm::seq<int64_t>(0, graph.type(value).getRank()));
    else if (node.pins[axis] && node.pins[axis]->inChunksOfUses)
      dims.push_back(node.pins[axis]->placement.dim);
    for (int64_t dim : dims)
      for (SlotUse use : graph.uses[value]) {
        int64_t heads = 1;
        for (int64_t size : headFactors(graph, use, dim)) {
          heads *= size;
          if (heads >= ranks)
            break;
          if (int64_t groups = std::gcd(heads, ranks); groups > 1)
            sizes.insert(groups);
        }
      }
  }
  return sizes;
}

/// What a shard of a weight comes to on a minor sub-axis. True if ranks share
/// all heads there.
static bool shareHeads(HeadSharing sharing, Pin &pin) {
  pin.orReplicate |= sharing == HeadSharing::Some;
  if (sharing == HeadSharing::All)
    pin = Pin();
  return sharing == HeadSharing::All;
}

void propagate::cutAxes(AssignmentGraph &graph) {
  const Mesh &mesh = graph.mesh();
  graph.parts.clear();
  SmallVector<unsigned> axisOf;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    int64_t ranks = mesh.axes[axis].size, major = 1;
    for (int64_t size : majorSizes(graph, axis, ranks)) {
      // Sub-axes nest: sizes that do not divide each other cannot all be had.
      if (size % major != 0)
        continue;
      graph.parts.push_back({axis, major, size / major});
      axisOf.push_back(axis);
      major = size;
    }
    graph.parts.push_back({axis, major, ranks / major});
    axisOf.push_back(axis);
  }
  graph.sharesHeads.assign(graph.parts.size(), false);
  SmallVector<SmallVector<bool, 2>> fullySharded;
  for (const Node &node : graph.nodes)
    for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
      if (axis == 0)
        fullySharded.emplace_back();
      fullySharded.back().push_back(isFullySharded(graph, node, axis));
    }
  for (auto [at, node] : llvm::enumerate(graph.nodes)) {
    AxisPins pins = std::move(node.pins);
    SmallVector<std::optional<FreePort>, 2> free = std::move(node.free);
    node.pins.clear();
    node.free.clear();
    for (auto [number, part] : llvm::enumerate(graph.parts)) {
      unsigned axis = axisOf[number];
      node.free.push_back(axis < free.size() ? free[axis] : std::nullopt);
      if (node.kind == Node::Kind::Argument && node.free[number] &&
          !fullySharded[at][axis] && part.major > 1)
        for (int64_t dim = 0; dim < graph.type(node.results.front()).getRank();
             ++dim)
          graph.sharesHeads[number] |=
              headSharing(graph, node.results.front(), dim, part) ==
              HeadSharing::All;
      std::optional<Pin> &pin = node.pins.emplace_back(pins[axis]);
      if (!pin || !pin->placement.isShard() || part.major == 1)
        continue;
      if (node.kind == Node::Kind::Constrain)
        pin->orReplicate = pin->dims.size() > 1;
      else if (node.kind == Node::Kind::Argument && pin->inChunksOfUses)
        graph.sharesHeads[number] |= shareHeads(
            headSharing(graph, node.results.front(), pin->placement.dim, part),
            *pin);
    }
  }
  for (Node &node : graph.nodes)
    for (size_t part = 0; node.tiedTo && part < node.pins.size(); ++part)
      if (part >= node.free.size() || !node.free[part])
        node.pins[part] = graph.nodes[*node.tiedTo].pins[part];
}
