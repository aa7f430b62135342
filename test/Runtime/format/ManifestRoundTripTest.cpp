//===- ManifestRoundTripTest.cpp - what is written is what is read --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Manifests with every kind of everything, written, read and compared.
//
//===----------------------------------------------------------------------===//

#include "SmallManifest.h"
#include <cmath>

using namespace tp::test;
using namespace tp::runtime;

namespace {

TEST(ManifestRoundTripTest, Targets) {
  Manifest manifest = cpuManifest();
  addEntry(manifest, "main", {});
  reread(manifest);
  manifest.target = CpuTarget{"", "", std::nullopt};
  reread(manifest);
  manifest.target = CpuTarget{"x", "", {{}}};
  reread(manifest);
  manifest.target = CudaTarget{{"sm_90", "sm_100", "host"}};
  reread(manifest);
}

TEST(ManifestRoundTripTest, PortsOfEveryType) {
  Manifest manifest = cpuManifest();
  std::vector<Port> inputs;
  for (int type = 0; type < numDataTypes; ++type)
    inputs.push_back(port(manifest.mesh, "x" + std::to_string(type),
                          type % 2 ? "user_input" : "mask", {2, 3},
                          DataType(type)));
  inputs.push_back(port(manifest.mesh, "scalar", "user_input", {}));
  inputs.push_back(port(manifest.mesh, "none", "user_input", {0, 7}));
  inputs.back().dead = true;
  for (const char *kind :
       {"parameter", "buffer", "constant_tensor", "opt_exp_avg"})
    manifest.arguments.push_back(port(manifest.mesh, "w", kind, {4, 6}));
  manifest.arguments[0].permutation = {1, 0};
  manifest.arguments[1].source = WholeSource{{"w", "tied"}};
  manifest.arguments[2].dead = true;
  addEntry(manifest, "main", inputs);
  manifest = reread(manifest);
  EXPECT_EQ(std::get<WholeSource>(manifest.arguments[3].source).sourceKeys,
            (std::vector<std::string>{"opt_exp_avg:w"}));
}

TEST(ManifestRoundTripTest, LayoutsOfEveryKind) {
  Manifest manifest = cpuManifest();
  AxisPart dp = manifest.mesh.whole(0), tp = manifest.mesh.whole(1);
  AxisPart majorHalf{1, 2, 2}, minorHalf{1, 2, 1};
  std::vector<PortLayout> layouts = {
      {{dp, Sharded{0}}, {tp, Sharded{1, 3}}},
      {{tp, Sharded{0, 2}}, {dp, Sharded{0, 2}}},
      {{dp, Replicated()}, {tp, Sharded{0, 1, {5, 4, 2}}}},
      {{dp, Replicated()}, {majorHalf, Sharded{1}}, {minorHalf, Replicated()}},
      {{minorHalf, Sharded{0}}, {dp, Sharded{0}}, {majorHalf, Sharded{1}}},
      {{dp, Sharded{0}}, {tp, Partial{Reduction::Max}}},
      {{dp, Partial{Reduction::Sum}}, {tp, Partial{Reduction::Sum}}}};
  std::vector<Port> inputs;
  for (size_t i = 0; i < layouts.size(); ++i) {
    inputs.push_back(
        port(manifest.mesh, "x" + std::to_string(i), "user_input", {11, 8}));
    inputs.back().layout = layouts[i];
  }
  addEntry(manifest, "main", inputs);
  manifest = reread(manifest);
  const Entry &entry = manifest.entries[0];
  // 11 rows in units of 2 over 4 x 2 ranks: rank 7 stands at the start.
  EXPECT_EQ(entry.inputs[1].localShape(), (std::vector<int64_t>{2, 8}));
  EXPECT_EQ(entry.inputs[1].slice(manifest.mesh.coordinates(7)).boxes,
            (std::vector<Box>{{{0, 0}, {0, 0}, {2, 8}}}));
  EXPECT_EQ(entry.inputs[2].localShape(), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(layoutText(entry.inputs[2].layout, manifest.mesh),
            "[replicate, shard<0, segments = [5, 4, 2]>]");
  EXPECT_EQ(layoutText({{majorHalf, Sharded{1}}}, meshOf()),
            "[\"t\"p\n\u00e9\":1:2 = shard<1>]");
}

TEST(ManifestRoundTripTest, WeightsJoinedFromSeveral) {
  Manifest manifest = cpuManifest();
  manifest.arguments = {port(manifest.mesh, "qkv", "parameter", {12, 8})};
  manifest.arguments[0].source = JoinedSource{{{{"q"}, {6, 8}, {0, 0}},
                                               {{"k", "tied"}, {3, 8}, {6, 0}},
                                               {{"v"}, {3, 8}, {9, 0}}}};
  addEntry(manifest, "main", {});
  reread(manifest);
}

TEST(ManifestRoundTripTest, EntriesShareWeightsAndUpdateThem) {
  Manifest manifest = cpuManifest();
  const Mesh mesh = manifest.mesh;
  manifest.arguments = {port(mesh, "w", "parameter", {4, 6}),
                        port(mesh, "cache", "buffer", {4, 6}),
                        port(mesh, "w", "opt_exp_avg", {4, 6})};
  manifest.arguments[1].layout = {{mesh.whole(0), Replicated()},
                                  {mesh.whole(1), Sharded{0}}};
  Entry &prefill = addEntry(manifest, "prefill",
                            {port(mesh, "tokens", "user_input", {128})});
  prefill.signature = {3, 0, 1, 2};
  Entry &decode = addEntry(manifest, "decode",
                           {port(mesh, "tokens", "user_input", {1}),
                            port(mesh, "position", "user_input", {})});
  decode.signature = {1, 4, 3, 0, 2};
  for (bool inPlace : {true, false}) {
    Port next = port(mesh, "cache", "new_buffer", {4, 6});
    next.layout = manifest.arguments[1].layout;
    // Where the entry has the cache.
    next.update = {inPlace ? 0 : 2, inPlace,
                   inPlace ? "" : "read after it is written",
                   inPlace ? std::optional<int64_t>(8) : std::nullopt};
    manifest.entries[inPlace].results = {next,
                                         port(mesh, "y", "user_output", {1})};
  }
  Port next = port(mesh, "w", "new_exp_avg", {4, 6});
  next.update = {3, false, ""};
  manifest.entries[0].results.push_back(next);
  manifest = reread(manifest);
  EntryView entry(manifest, manifest.entries[1]);
  ASSERT_EQ(entry.arguments.size(), 5u);
  EXPECT_EQ(entry.arguments[0].name, "cache");
  EXPECT_EQ(entry.arguments[1].name, "position");
  EXPECT_EQ(entry.arguments[4].kind, "opt_exp_avg");
  EXPECT_EQ(EntryView(manifest, manifest.entries[0]).arguments[0].shape,
            std::vector<int64_t>{128});
}

TEST(ManifestRoundTripTest, CollectivesOfEveryKind) {
  for (bool cuda : {false, true}) {
    Manifest manifest = cpuManifest();
    if (cuda)
      manifest.target = CudaTarget{{"host"}};
    AxisPart dp = manifest.mesh.whole(0), tp = manifest.mesh.whole(1);
    manifest.groups = {{4, {tp}}, {2, {dp, tp}}, {0, {{1, 2, 2}, dp}}, {1, {}}};
    Entry &entry = addEntry(manifest, "main", {});
    int64_t id = 100;
    for (int64_t group = 0; group < 4; ++group)
      for (int kind = 0; kind < numCollectiveKinds; ++kind)
        for (int reduction = 0; reduction < numReductions; ++reduction) {
          Collective row;
          row.id = group ? int64_t(entry.collectives.size()) : --id;
          row.kind = CollectiveKind(kind);
          row.group = group;
          if (row.reduces())
            row.reduction = Reduction(reduction);
          else if (reduction)
            continue;
          int64_t members = manifest.groups[group].size();
          bool wide = row.kind != CollectiveKind::AllReduce &&
                      row.kind != CollectiveKind::Permute;
          row.wireBytes = 4 * 6 * (wide ? members : 1);
          row.payloadBytes = row.wireBytes - (kind == 1 ? 4 : 0);
          row.ringBytes = 17;
          row.count = kind == 2 ? 3 : 1;
          row.module = kind == 3 ? "" : "layer";
          row.reason = kind == 4 ? "asked for" : "";
          CollectiveCommand command;
          command.collective = entry.collectives.size();
          command.input = arena();
          command.output = arena(2048);
          command.outer = kind == 0 ? 1 : 2;
          command.block = 6 / command.outer;
          if (row.kind == CollectiveKind::Permute)
            for (int64_t position = members; position-- > 0;)
              command.sources.push_back(position);
          entry.program.push_back(
              {command, row.module, row.location,
               cuda ? Queue::Communication : Queue::Compute});
          entry.collectives.push_back(row);
        }
    if (cuda)
      entry.endWaitsFor = entry.program.size() - 1;
    reread(manifest);
  }
}

TEST(ManifestRoundTripTest, CommandsOfTheCpu) {
  Manifest manifest = cpuManifest();
  manifest.arguments = {port(manifest.mesh, "w", "parameter", {4, 6})};
  Entry &entry =
      addEntry(manifest, "main", {port(manifest.mesh, "x", "user_input", {4})});
  entry.results = {port(manifest.mesh, "y", "user_output", {4})};
  KernelCommand kernel;
  kernel.function = "f";
  kernel.buffers = {{Space::Argument, 1, 4},
                    {Space::Result, 0, 8},
                    arena(12),
                    {Space::Constant, 0, 16}};
  entry.program.push_back({kernel, "m", ""});
  GemmCommand gemm = smallGemm(DataType::F64);
  entry.program.push_back({gemm, "", "mm"});
  gemm.dtype = gemm.bDtype = gemm.cDtype = DataType::F32;
  gemm.alpha = 0.1;
  gemm.beta = -1e-30;
  gemm.batch = {2, 3};
  for (GemmOperand *each : {&gemm.a, &gemm.b, &gemm.c})
    each->batchStrides = {16, 0};
  gemm.a.transpose = true;
  gemm.shortened = {{manifest.mesh.whole(1), manifest.mesh.whole(0)},
                    {4, 4, 4, 3, 2, 1, 0, 0}};
  entry.program.push_back({gemm, "", "mm"});
  gemm.beta = 0;
  gemm.rows = {arena(1024), {2, 0, 1}};
  gemm.lookup = {arena(768), {1, 0}, 8, 3};
  gemm.b.batchStrides = {0, 0};
  entry.program.push_back({gemm, "", "mm"});
  std::swap(gemm.rows, gemm.terms);
  entry.program.push_back({gemm, "", "mm"});
  manifest = reread(manifest);
  const auto &read = std::get<GemmCommand>(manifest.entries[0].program[2].what);
  EXPECT_EQ(read.kOf({0, 3}), 0);
  EXPECT_EQ(read.kOf({1, 1}), 3);
}

TEST(ManifestRoundTripTest, CommandsOfDevices) {
  Manifest manifest = cpuManifest();
  manifest.target = CudaTarget{{"sm_90"}};
  Entry &entry = addEntry(manifest, "main", {});
  KernelCommand kernel;
  kernel.function = "f";
  kernel.buffers = {arena(), arena(16), arena(32), arena(48)};
  kernel.launch = {{7, 2, 3},
                   {32, 4, 1},
                   1024,
                   99,
                   1000,
                   {{64, true, true},
                    {64, true, false},
                    {std::nullopt, false, true},
                    {std::nullopt, true, true}}};
  entry.program.push_back({kernel, "", ""});
  for (DataType dtype :
       {DataType::F64, DataType::F32, DataType::F16, DataType::BF16})
    entry.program.push_back({smallGemm(dtype), "", ""});
  GemmCommand gemm = smallGemm(DataType::F32);
  gemm.tf32 = true;
  gemm.beta = 1;
  gemm.residual = operand(1024, 8);
  gemm.bias = arena(2048);
  for (int activation = 0; activation < numActivations; ++activation) {
    gemm.activation = Activation(activation);
    entry.program.push_back({gemm, "", ""});
  }
  gemm = smallGemm(DataType::BF16);
  gemm.cDtype = DataType::F32;
  entry.program.push_back({gemm, "", ""});
  AttentionCommand attention;
  attention.batch = 2;
  attention.heads = 4;
  attention.kvHeads = 2;
  attention.queries = 3;
  attention.keys = 5;
  attention.headSize = 2;
  attention.valueSize = 1;
  attention.scale = 1 / std::sqrt(2.0);
  attention.q = {arena(0), {24, 6, 2}};
  attention.k = {arena(256), {20, 10, 2}};
  attention.v = {arena(512), {10, 5, 1}};
  attention.o = {arena(1024), {12, 3, 1}};
  attention.flops = 7;
  attention.steps = {{smallGemm(DataType::F32), "a", "b"}, {kernel, "", ""}};
  entry.program.push_back({attention, "attn", "sdpa"});
  attention.lower = -4;
  attention.upper = 0;
  attention.bytes = 5;
  attention.bias = {arena(2048), DataType::F16, {0, 0, 5, 1}};
  for (int rows = 0; rows < numEmptyRows; ++rows) {
    attention.emptyRows = EmptyRows(rows);
    entry.program.push_back({attention, "", ""});
  }
  manifest.groups = {{0, {manifest.mesh.whole(1)}}};
  Collective row;
  row.wireBytes = row.payloadBytes = 8;
  row.module = "layer";
  entry.collectives = {row};
  CollectiveCommand collective;
  collective.input = collective.output = arena(3000);
  collective.block = 2;
  int64_t before = entry.program.size() - 1;
  for (bool withPrevious : {false, true}) {
    entry.program.push_back(
        {collective, "layer", "", Queue::Communication,
         withPrevious ? std::nullopt : std::optional(before), withPrevious});
    collective.input = collective.output = arena(3016);
  }
  entry.endWaitsFor = before + 2;
  reread(manifest);
}

/// A number that JSON has not is an error before anything is written.
TEST(ManifestRoundTripTest, NumbersAreFinite) {
  Manifest manifest = cpuManifest();
  Entry &entry = addEntry(manifest, "main", {});
  GemmCommand gemm = smallGemm(DataType::F32);
  gemm.alpha = INFINITY;
  entry.program.push_back({gemm, "", ""});
  expectError(checkManifest(manifest, 0),
              "command 0, gemm: alpha and beta are finite numbers");
}

/// Ill-formed text becomes text that readers accept.
TEST(ManifestRoundTripTest, TextThatIsNoUtf8) {
  Manifest manifest = cpuManifest();
  addEntry(manifest, "main", {}).name = "m\xff";
  Manifest read;
  ASSERT_OK(parseManifest(writeManifest(manifest), 0, read));
  EXPECT_EQ(read.entries[0].name, "m\ufffd");
}

/// What differs between ranks is a function of coordinates: more ranks do not
/// make a longer text.
TEST(ManifestRoundTripTest, RanksDoNotMakeItLonger) {
  auto sizeFor = [](int64_t dp) {
    Manifest manifest = cpuManifest();
    manifest.mesh = {{{"dp", dp}, {"tp", 8}}, {}};
    AxisPart axes[] = {manifest.mesh.whole(0), manifest.mesh.whole(1)};
    std::vector<Port> inputs;
    for (int i = 0; i < 20; ++i) {
      inputs.push_back(port(manifest.mesh, "x", "user_input", {512, 1001}));
      inputs.back().layout = {{axes[0], Sharded{0}}, {axes[1], Sharded{1}}};
    }
    manifest.groups = {{0, {axes[0]}}, {1, {axes[1]}}};
    addEntry(manifest, "main", inputs);
    return writeManifest(manifest).size();
  };
  EXPECT_LE(sizeFor(64), sizeFor(1) + 1);
}

} // namespace
