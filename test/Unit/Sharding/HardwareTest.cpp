//===- HardwareTest.cpp - the machine a program is laid out for -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Hardware.h"
#include "gtest/gtest.h"

using namespace tp;

namespace {
/// Nodes of 8, 100 bytes per second in them and 10 between them.
Hardware nodesOfEight() {
  Hardware hardware;
  hardware.devicesPerNode = 8;
  hardware.inNode = {100, 1};
  hardware.betweenNodes = {10, 2};
  return hardware;
}

double bandwidth(const Hardware &hardware, const Mesh &mesh,
                 std::vector<unsigned> axes) {
  std::vector<AxisPart> parts;
  for (unsigned axis : axes)
    parts.push_back(mesh.wholeAxis(axis));
  return hardware.machineAlong(mesh, parts).linkBandwidth;
}
} // namespace

TEST(Hardware, MinorAxesAreInTheNode) {
  Hardware hardware = nodesOfEight();
  Mesh mesh{{{"dp", 4}, {"tp", 8}}, {}};
  EXPECT_EQ(bandwidth(hardware, mesh, {1}), 100);
  EXPECT_EQ(bandwidth(hardware, mesh, {0}), 10);
  EXPECT_EQ(hardware.machineAlong(mesh, mesh.wholeAxis(0)).collectiveLatency,
            2);
  Mesh half{{{"dp", 4}, {"tp", 4}}, {}};
  EXPECT_EQ(bandwidth(hardware, half, {1}), 100);
  // Two ranks of every dp group are in one node: two links leave it.
  EXPECT_EQ(bandwidth(hardware, half, {0}), 20);
}

TEST(Hardware, AxesLargerThanANodeLeaveItOverAllItsLinks) {
  Hardware hardware = nodesOfEight();
  Mesh mesh{{{"tp", 16}}, {}};
  EXPECT_EQ(bandwidth(hardware, mesh, {0}), 80);
  EXPECT_EQ(hardware.machineAlong(mesh, AxisPart{0, 2, 8}).linkBandwidth, 100);
  EXPECT_EQ(hardware.machineAlong(mesh, AxisPart{0, 1, 2}).linkBandwidth, 10);
  // But never faster than in the node.
  hardware.betweenNodes.bandwidth = 50;
  EXPECT_EQ(bandwidth(hardware, mesh, {0}), 100);
}

TEST(Hardware, TheFewestRanksInANodeCount) {
  // Ranks 6, 7 and 8 are a group: two in one node, one in the other.
  Mesh mesh{{{"dp", 3}, {"tp", 3}}, {}};
  EXPECT_EQ(bandwidth(nodesOfEight(), mesh, {1}), 10);
}

TEST(Hardware, DeviceOrderDecides) {
  Mesh mesh{{{"dp", 2}, {"tp", 8}},
            {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15}};
  EXPECT_EQ(bandwidth(nodesOfEight(), mesh, {0}), 100);
  EXPECT_EQ(bandwidth(nodesOfEight(), mesh, {1}), 40);
}

TEST(Hardware, NamedAxes) {
  Hardware hardware = nodesOfEight();
  hardware.axes = {{"tp", LinkKind::BetweenNodes}, {"dp", LinkKind::InNode}};
  Mesh mesh{{{"dp", 4}, {"tp", 8}}, {}};
  EXPECT_EQ(bandwidth(hardware, mesh, {0}), 100);
  EXPECT_EQ(bandwidth(hardware, mesh, {1}), 10);
  EXPECT_EQ(bandwidth(hardware, mesh, {0, 1}), 10);
  EXPECT_EQ(hardware.unknownAxis(mesh), "");
  hardware.axes["pp"] = LinkKind::InNode;
  EXPECT_EQ(hardware.unknownAxis(mesh),
            "hardware description 'default' names axis "
            "'pp', the mesh has 'dp', 'tp'");
}

TEST(Hardware, TheDefaultIsTheModelMachine) {
  SourceProblem problem;
  std::optional<Hardware> hardware = readHardware("default", problem);
  ASSERT_TRUE(hardware);
  Mesh mesh{{{"dp", 1000}, {"tp", 8}}, {}};
  Machine machine = hardware->machineAlong(mesh, mesh.wholeAxis(0));
  EXPECT_EQ(machine.linkBandwidth, Machine().linkBandwidth);
  EXPECT_EQ(machine.collectiveLatency, Machine().collectiveLatency);
  EXPECT_EQ(machine.computeRate.perSecond, Machine().computeRate.perSecond);
  EXPECT_FALSE(hardware->memoryBytes);
}

TEST(Hardware, UnitsOfTheFile) {
  SourceProblem problem;
  std::optional<Hardware> hardware = parseHardware(R"({
    "name": "x", "devices_per_node": 4,
    "in_node": {"bandwidth_gb_per_s": 2, "latency_us": 0},
    "between_nodes": {"bandwidth_gb_per_s": 1, "latency_us": 3},
    "tera_ops_per_s": {"f64": 1, "f32": 2, "f16": 3, "f8": 4, "integer": 5},
    "memory_gb_per_s": 6, "memory_gb": 7, "axes": {"tp": "between_nodes"}})",
                                                   problem);
  ASSERT_TRUE(hardware) << problem.message;
  EXPECT_EQ(hardware->inNode, (Link{2e9, 0}));
  EXPECT_EQ(hardware->betweenNodes, (Link{1e9, 3e-6}));
  EXPECT_EQ(hardware->machine.computeRate[NumberClass::F8], 4e12);
  EXPECT_EQ(hardware->machine.memoryBandwidth, 6e9);
  EXPECT_EQ(hardware->memoryBytes, 7000000000);
  EXPECT_EQ(hardware->axes.at("tp"), LinkKind::BetweenNodes);
}
