//===- Hardware.h - the machine a program is laid out for -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes of equal devices, a rank on each: fast links in a node, slower ones
// between nodes. Read from a small JSON file (docs/hardware.md); everything
// that has a time in the compiler has it from here.
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
  /// Seconds a collective takes however little it moves.
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
  /// What axes run over, where that is not to be found from the ranks.
  std::map<std::string, LinkKind> axes;
  /// Computing; its link is not looked at.
  Machine machine;
  /// Bytes of a rank's memory.
  std::optional<int64_t> memoryBytes;

  /// The link of a collective over axes called `axisNames`, whose groups of
  /// ranks are `groups`. A group whose ranks are in one node has the link in
  /// the node. Where nodes have m ranks of a group each, m rings cross between
  /// them over m devices' links, so that a rank sends as if it had m of them,
  /// but no faster than in the node. A named axis has the link it is named for.
  Link linkOf(llvm::ArrayRef<std::string> axisNames,
              llvm::ArrayRef<std::vector<int64_t>> groups) const;
  /// One rank, with the link of a collective over `parts` of `mesh`.
  Machine machineAlong(const Mesh &mesh, llvm::ArrayRef<AxisPart> parts) const;
  /// Empty, or which axis is named that `mesh` does not have.
  std::string unknownAxis(const Mesh &mesh) const;
};

/// Reads a description from the text of a file. Nothing, and a problem, where a
/// field is missing, unknown, of another type or out of range.
std::optional<Hardware> parseHardware(llvm::StringRef text,
                                      SourceProblem &problem);

/// The description in the file `fileOrName`, if that ends in `.json` or has a
/// slash; else the one of that name that comes with tp, in
/// `../share/tp/hardware` beside the running program's folder. Empty is
/// `default`.
std::optional<Hardware> readHardware(llvm::StringRef fileOrName,
                                     SourceProblem &problem);

} // namespace tp

#endif // TP_SHARDING_HARDWARE_H
