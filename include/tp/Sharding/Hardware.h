//===- Hardware.h - the machine a program is laid out for -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes of equal devices, a rank on each: fast links in a node, slower ones
// between nodes. Read from a small JSON file (docs/hardware.md); all times in
// the compiler come from here.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_HARDWARE_H
#define TP_SHARDING_HARDWARE_H

#include "tp/Files/SourceText.h"
#include "tp/Sharding/Mesh.h"
#include "tp/Sharding/RingCost.h"
#include <map>

namespace tp {

/// What a ring of ranks sends over.
struct Link {
  /// Bytes per second a rank sends to its neighbour in the ring.
  double bandwidth = Machine().linkBandwidth;
  /// Seconds that a collective takes at least.
  double latency = Machine().collectiveLatency;
  bool operator==(const Link &) const = default;
};

enum class LinkKind { InNode, BetweenNodes };

/// The defaults are the description called `default`: one rank's share of a CPU
/// host, and no limits of nodes or memory.
struct Hardware {
  std::string name = "default";
  /// Ranks r with equal r / devicesPerNode are in one node.
  int64_t devicesPerNode = INT64_MAX;
  Link inNode, betweenNodes;
  /// The link of an axis, if it does not follow from the ranks.
  std::map<std::string, LinkKind> axes;
  /// Compute rates; its link is not used.
  Machine machine;
  /// Bytes of a rank's memory.
  std::optional<int64_t> memoryBytes;

  /// The link of a collective over axes called `axisNames`, whose groups of
  /// ranks are `groups`. A group whose ranks are in one node has the link in
  /// the node. Where nodes have m ranks of a group each, m rings cross between
  /// them over m devices' links, so that a rank sends as if it had m of them,
  /// but no faster than in the node. An axis in `axes` uses the link given
  /// there.
  Link linkOf(llvm::ArrayRef<std::string> axisNames,
              llvm::ArrayRef<std::vector<int64_t>> groups) const;
  /// One rank, with the link of a collective over `parts` of `mesh`.
  Machine machineAlong(const Mesh &mesh, llvm::ArrayRef<AxisPart> parts) const;
  /// An axis in `axes` that `mesh` does not have, or empty.
  std::string unknownAxis(const Mesh &mesh) const;
};

/// Reads a description from the text of a file. Nothing, and a problem, where a
/// field is missing, unknown, of another type or out of range.
std::optional<Hardware> parseHardware(llvm::StringRef text,
                                      SourceProblem &problem);

/// The description in the file `fileOrName`, if that ends in `.json` or has a
/// slash; else the one of that name in tp's own folder of descriptions,
/// `../share/tp/hardware` beside the running program's folder. An empty name
/// means `default`.
std::optional<Hardware> readHardware(llvm::StringRef fileOrName,
                                     SourceProblem &problem);

} // namespace tp

#endif // TP_SHARDING_HARDWARE_H
