//===- CudaAttentionTest.cpp - attention commands, right and wrong --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "InfoLists.h"
#include "Mistakes.h"
#include "tp/Runtime/Array.h"
#include <cstring>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// Two batches of four heads on two heads of keys; 8 queries, 16 keys.
/// Its steps are two products, q k^T and that times v, of one batch and head.
CudaProgram program() {
  CudaProgram program({{"tp", 1}});
  program.manifest["target"]["chips"] = {"sm_90", "host"};
  const char *names[] = {"q", "k", "v"};
  const int64_t sizes[] = {2 * 4 * 8 * 4, 2 * 2 * 16 * 4, 2 * 2 * 16 * 4};
  for (int i = 0; i < 3; ++i)
    program.addArgument(names[i], "f32", sizes[i]);
  program.addArgument("b", "f32", 8 * 16);
  program.addResult("o", "f32", 2 * 4 * 8 * 4);
  program.manifest["memory"] = {{"arena_bytes", 1024}, {"scratch_bytes", 0}};
  program.addGemm("f32", 8, 16, 4, argumentBuffer(0), argumentBuffer(1),
                  arenaBuffer(0));
  json &scores = program.manifest["program"].back();
  scores["b"]["ld"] = 4;
  scores["b"]["transpose"] = true;
  program.addGemm("f32", 8, 4, 16, arenaBuffer(0), argumentBuffer(2),
                  resultBuffer(0));
  json steps = program.manifest["program"];
  program.manifest["program"] = json::array();
  auto operand = [](json buffer, std::vector<int64_t> strides) {
    return json{{"buffer", buffer}, {"strides", strides}};
  };
  program.manifest["program"].push_back(
      {{"command", "attention"},
       {"dtype", "f32"},
       {"batch", 2},
       {"heads", 4},
       {"kv_heads", 2},
       {"queries", 8},
       {"keys", 16},
       {"head_size", 4},
       {"value_size", 4},
       {"scale", 0.5},
       {"lower", -3},
       {"upper", 8},
       {"q", operand(argumentBuffer(0), {128, 32, 4})},
       {"k", operand(argumentBuffer(1), {128, 64, 4})},
       {"v", operand(argumentBuffer(2), {128, 64, 4})},
       {"o", operand(resultBuffer(0), {128, 4, 16})},
       {"bias",
        {{"buffer", argumentBuffer(3)},
         {"dtype", "f32"},
         {"strides", {0, 0, 16, 1}}}},
       {"flops", 1234},
       {"bytes", 5678},
       {"steps", steps},
       {"module", "layer.attn"},
       {"location", "sdpa"}});
  return program;
}

Status parse(const json &manifest, Manifest &parsed) {
  return parseManifest(document(manifest).dump(), 64, parsed);
}

TEST(CudaAttentionTest, IsRead) {
  Manifest parsed;
  json manifest = program().manifest;
  ASSERT_OK(parse(manifest, parsed));
  ASSERT_EQ(parsed.entries[0].program.size(), 1u);
  EXPECT_EQ(entryOf(parsed).describe(0),
            "command 0, attention 'sdpa' of module 'layer.attn'");
  const auto &attention =
      std::get<AttentionCommand>(parsed.entries[0].program[0].what);
  EXPECT_EQ(attention.kvHeads, 2);
  EXPECT_EQ(attention.scale, 0.5);
  EXPECT_EQ(attention.lower, -3);
  EXPECT_EQ(attention.upper, 8);
  EXPECT_EQ(attention.emptyRows, EmptyRows::None);
  EXPECT_EQ(attention.o.strides, (std::array<int64_t, 3>{128, 4, 16}));
  ASSERT_TRUE(attention.bias);
  EXPECT_EQ(attention.bias->strides, (std::array<int64_t, 4>{0, 0, 16, 1}));
  ASSERT_EQ(attention.steps.size(), 2u);
  EXPECT_TRUE(std::get<GemmCommand>(attention.steps[0].what).b.transpose);
  EXPECT_EQ(operandBytes(attention, attention.q), 4 * 256);
  EXPECT_EQ(operandBytes(attention, attention.k), 4 * 256);
  EXPECT_EQ(biasBytes(attention), 4 * 128);

  json &command = manifest["program"][0];
  command["lower"] = nullptr;
  command.erase("upper");
  command["bias"] = nullptr;
  command["empty_rows"] = "zero";
  parsed = {};
  ASSERT_OK(parse(manifest, parsed));
  const auto &full =
      std::get<AttentionCommand>(parsed.entries[0].program[0].what);
  EXPECT_FALSE(full.lower || full.upper || full.bias);
  EXPECT_EQ(full.emptyRows, EmptyRows::Zero);
}

TEST(CudaAttentionTest, MistakesAreNamed) {
  const json whole = program().manifest;
  expectMistakes(whole["program"][0], "attention", [&](const json &command) {
    json manifest = whole;
    manifest["program"][0] = command;
    Manifest parsed;
    return parse(manifest, parsed);
  });
  json manifest = whole;
  manifest["program"][0]["upper"] = -1;
  manifest["program"][0]["empty_rows"] = "nan";
  Manifest parsed;
  EXPECT_OK(parse(manifest, parsed));
  manifest = whole;
  manifest["target"] = {{"kind", "cpu"}};
  expectError(parse(manifest, parsed),
              "expected no steps, as the CPU does the attention itself");
}

TEST(CudaAttentionTest, KernelsOfStepsAreLookedFor) {
  CudaProgram whole = program();
  whole.addLaunch("scale", {arenaBuffer(0), arenaBuffer(256)}, 64);
  json &commands = whole.manifest["program"];
  commands[0]["steps"].push_back(commands[1]);
  commands.erase(1);
  whole.sections = {{"ptx", ".visible .entry other(\n"}};
  TemporaryFolder folder;
  std::unique_ptr<Artifact> artifact;
  expectError(Artifact::open(whole.write(folder.file("m.tp")), artifact),
              "command 0, attention 'sdpa' of module 'layer.attn': the PTX has "
              "no kernel 'scale'");
}

TEST(CudaAttentionTest, InfoListsIt) {
  expectInfo(
      program(),
      {"attention per step and rank\n",
       "f32            2    4/2        8    16          4  "
       "-3 <= j - i <= 8, bias f32  5,678  1,234      2  layer.attn  sdpa",
       "  total 5,678 bytes and 1,234 flops per step and rank\n",
       "what stands in for attention where no library does it\n",
       "f32   []     8  16   4  NT"},
      {"matrix products per step"});
}

/// The same products as commands of the program give the same.
TEST(CudaAttentionTest, StepsRunInOrder) {
  CudaRun folder;
  CudaProgram nested = program(), flat = program();
  flat.manifest["program"] = json(nested.manifest["program"][0]["steps"]);
  nested.write(folder.file("nested.tp"));
  flat.write(folder.file("flat.tp"));
  for (const char *name : {"nested", "flat"}) {
    CudaOutcome done =
        folder.run(std::string(name) + ".tp --random-data=5 --repeat=3 " +
                   "--output=o=@" + name + ".npy");
    ASSERT_EQ(done.exitStatus, 0) << done.err;
  }
  Array a, b;
  ASSERT_OK(readNpy(folder.file("nested.npy"), std::nullopt, a));
  ASSERT_OK(readNpy(folder.file("flat.npy"), std::nullopt, b));
  // The products are of the first batch and head: 8 rows of 4.
  EXPECT_NE(elementAsDouble(a.dtype, a.data, 0), 0.0);
  for (int64_t e = 0; e < 32; ++e)
    ASSERT_EQ(elementAsDouble(a.dtype, a.data, e),
              elementAsDouble(b.dtype, b.data, e));
}

} // namespace
