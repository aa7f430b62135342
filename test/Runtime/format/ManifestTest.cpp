//===- ManifestTest.cpp - manifests right and wrong -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <set>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// A program with one of everything, on a 2 x 2 mesh.
json base() {
  TestProgram program({{"dp", 2}, {"tp", 2}});
  int64_t a = program.addArgument("a", "f32", 24);
  int64_t r = program.addResult("r", "f32", 48);
  program.addReplicated("arguments", "w", "f32", {6, 4});
  program.manifest["arguments"][1]["kind"] = "parameter";
  program.manifest["arguments"][1]["storage"] = {{"permutation", {1, 0}}};
  program.manifest["arguments"][1]["source_keys"] = {"w", "tied"};
  program.addArgument("gone", "i64", 2);
  program.manifest["arguments"][2]["dead"] = true;
  program.manifest["results"][0]["alias_of"] = 0;
  program.manifest["memory"] = {{"arena_bytes", 256}, {"scratch_bytes", 128}};
  program.manifest["asserts"] = {{{"id", 7}, {"message", "index too large"}}};
  int64_t group = program.addGroup({{0, 1}, {2, 3}});
  program.addCollective("all_gather", "f32", "", group, 2, argumentBuffer(a),
                        resultBuffer(r), 3, 8);
  program.addCollective("permute", "f32", "", group, 2, arenaBuffer(0),
                        arenaBuffer(64), 1, 16);
  program.manifest["program"].back()["sources"] = {1, 0};
  program.addCollective("all_reduce", "f32", "sum", group, 2, arenaBuffer(0),
                        arenaBuffer(0), 1, 16);
  json operand = {
      {"buffer", arenaBuffer(0)}, {"ld", 4}, {"batch_strides", {8}}};
  program.manifest["program"].push_back({{"command", "gemm"},
                                         {"dtype", "f32"},
                                         {"m", 2},
                                         {"n", 3},
                                         {"k", 4},
                                         {"batch", {2}},
                                         {"a", operand},
                                         {"b", operand},
                                         {"c", operand}});
  program.manifest["program"].push_back(
      {{"command", "kernel"},
       {"function", "f"},
       {"buffers", {argumentBuffer(1), constantBuffer(16)}}});
  return program.manifest;
}

Status parse(const json &manifest) {
  Manifest parsed;
  return parseManifest(manifest.dump(), 64, parsed);
}

TEST(ManifestTest, ReadsEverything) {
  Manifest manifest;
  ASSERT_OK(parseManifest(base().dump(), 64, manifest));
  EXPECT_EQ(manifest.numRanks(), 4);
  EXPECT_EQ(manifest.meshText(), "dp = 2, tp = 2");
  EXPECT_EQ(manifest.arguments[1].localStrides(), (std::vector<int64_t>{1, 6}));
  EXPECT_TRUE(manifest.arguments[1].isWeight());
  EXPECT_FALSE(manifest.arguments[0].isWeight());
  EXPECT_EQ(manifest.arguments[2].localBytes(), 0) << "it is dead";
  EXPECT_EQ(manifest.results[0].aliasOf, 0);
  EXPECT_EQ(manifest.describe(2),
            "command 2, all_reduce 'all_reduce_2' of module 'layer.2'");
  EXPECT_EQ(manifest.describe(5), "the end of the step");
  EXPECT_EQ(manifest.findAssert(7)->message, "index too large");
}

TEST(ManifestTest, DeviceOrderGivesCoordinates) {
  json manifest = base();
  manifest["mesh"]["device_order"] = {3, 1, 0, 2};
  Manifest parsed;
  ASSERT_OK(parseManifest(manifest.dump(), 64, parsed));
  // Rank 0 stands at position 2 of the grid: row 1, column 0.
  EXPECT_EQ(parsed.coordinates(0)[0], 1);
  EXPECT_EQ(parsed.coordinates(0)[1], 0);
  EXPECT_EQ(parsed.coordinates(1)[0], 0);
  EXPECT_EQ(parsed.coordinates(1)[1], 1);
}

TEST(ManifestTest, KOfEveryRank) {
  json manifest = base();
  Manifest parsed;
  ASSERT_OK(parseManifest(manifest.dump(), 64, parsed));
  EXPECT_EQ(std::get<GemmCommand>(parsed.program[3].what).kOf(3), 4);
  manifest["program"][3]["k"] = {3, 4, 0, 1};
  parsed = {};
  ASSERT_OK(parseManifest(manifest.dump(), 64, parsed));
  const auto &gemm = std::get<GemmCommand>(parsed.program[3].what);
  EXPECT_EQ(gemm.k, 4) << "the largest";
  EXPECT_EQ(gemm.kOf(0), 3);
  EXPECT_EQ(gemm.kOf(2), 0);
}

struct Mistake {
  const char *where;
  const char *value;
  const char *message;
};

// JSON pointer, the value put there, a part of the message.
const Mistake mistakes[] = {
    {"/version", "2", "version: expected version 1, got 2"},
    {"/target/kind", "\"rocm\"", "the artifact is for target 'rocm'"},
    {"/mesh/axes", "[]", "a mesh has 1 to 8 axes, got 0"},
    {"/mesh/axes/0/size", "0", "mesh.axes[0].size: expected an integer from 1"},
    {"/mesh/axes/0/size", "4096", "at most 4096 ranks"},
    {"/mesh/axes/0/name", "\"tp\"", "two mesh axes are called 'tp'"},
    {"/mesh/device_order", "[0, 1, 2, 2]", "is no permutation"},
    {"/mesh/device_order", "[0, 1]", "is no permutation"},
    {"/arguments/0/dtype", "\"f8\"",
     "unknown dtype 'f8', expected one of: f64"},
    {"/arguments/0/name", "7", "arguments[0].name: expected a string, got 7"},
    {"/arguments/0/shape", "[95]", "argument 0 'a': a box of rank 3"},
    {"/arguments/0/local_shape", "[23]", "a box of rank 0"},
    {"/arguments/0/local_shape", "[24, 1]", "differ in rank"},
    {"/arguments/0/local_shape", "[281474976710656]", "size in bytes"},
    {"/arguments/0/parts", "[]", "parts for 4 ranks expected, got 0"},
    {"/arguments/0/parts/1/0/global", "[]", "does not have 1 dimensions"},
    {"/arguments/0/parts/1/0/size", "[25]", "leaves shape [96]"},
    {"/arguments/0/parts/1/0/local", "[-1]", "expected an integer from 0"},
    {"/arguments/0/parts/1/0/local", "[9223372036854775807]", "expected an"},
    {"/arguments/0/parts/1/0/local", "[18446744073709551615]", "expected an"},
    {"/arguments/0/parts/1/0/local", "[1e3]", "expected an integer"},
    {"/arguments/0/unit", "[1, 1]", "unit [1, 1] does not have 1 dimensions"},
    {"/arguments/1/storage/permutation", "[0, 0]", "no permutation"},
    {"/arguments/1/storage/permutation", "[0]", "no permutation"},
    {"/arguments/1/dead", "1", "expected true or false"},
    {"/results/0/alias_of", "3", "it aliases argument 3 of 3"},
    {"/groups/0/ranks", "[[0, 1], [2, 2]]", "group 0: its lists do not hold"},
    {"/groups/0/ranks", "[[0, 1, 2], [3]]", "differ in length"},
    {"/groups/0/ranks", "[[0, 1], [2, 7]]", "do not hold each of the 4 ranks"},
    {"/groups/0/ranks", "[]", "do not hold each of the 4 ranks"},
    {"/groups/0/id", "1", "no group has the id 0"},
    {"/collectives/0/kind", "\"broadcast\"", "unknown kind 'broadcast'"},
    {"/collectives/2/reduction", "\"xor\"", "unknown reduction 'xor'"},
    {"/collectives/2/dtype", "\"i1\"", "i1 is reduced by max (or)"},
    {"/collectives/2/order", "\"library\"", "expected the reduction order"},
    {"/collectives/0/id", "2", "no collective has the id 0"},
    {"/asserts", "[{\"id\": 7}, {\"id\": 7}]", "two asserts have the id 7"},
    {"/asserts/0/id", "0", "expected an integer from 1"},
    {"/collectives/0/wire_bytes", "191", "states 191 wire bytes"},
    {"/collectives/0/payload_bytes", "193", "a payload of 193 bytes"},
    {"/memory/arena_bytes", "63", "its buffer has 63"},
    {"/memory/arena_bytes", "null", "arena_bytes: expected an integer"},
    {"/memory/scratch_bytes", "281474976710656", "memory is too large"},
    {"/program/0/command", "\"call\"", "unknown command 'call'"},
    {"/program/0/id", "9", "no collective has the id 9"},
    {"/program/0/block", "9",
     "command 0, all_gather 'all_gather_0' of module "
     "'layer.0': the input needs 108 bytes"},
    {"/program/0/outer", "281474976710656", "the input needs too many bytes"},
    {"/program/0/input/index", "3", "a buffer names argument 3 of 3"},
    {"/program/0/input/index", "2", "a buffer names the dead argument 'gone'"},
    {"/program/0/input/space", "\"stack\"", "unknown buffer space 'stack'"},
    {"/program/0/input/offset", "2", "the input needs 96 bytes at offset 2"},
    {"/program/0/output/space", "\"constant\"", "lies in the constants"},
    {"/program/1/sources", "[1]", "sources for 2 positions expected, got 1"},
    {"/program/1/sources", "[1, 2]", "source 2 of a group of 2"},
    {"/program/1/output/offset", "32", "its output overlaps its input"},
    {"/program/1/output/offset", "66", "not aligned to 4-byte elements"},
    {"/program/2/output/offset", "4", "its output overlaps its input"},
    {"/program/3/dtype", "\"bf16\"", "dtype bf16 is not supported"},
    {"/program/3/m", "4294967296", "are not for a BLAS"},
    {"/program/3/m", "100", "operand a needs"},
    {"/program/3/k", "[4, 4, 4]", "k for 4 ranks expected, got 3"},
    {"/program/3/k", "[4, 4, 4, 4, 4]", "k for 4 ranks expected, got 5"},
    {"/program/3/k", "[]", "k: expected an integer, or one for each rank"},
    {"/program/3/k", "[4, 4, 4, \"4\"]", "k[3]: expected an integer"},
    {"/program/3/k", "[0, 0, 0, 5]", "operand a has rows of 5 elements"},
    {"/program/3/k", "[0, 4294967296, 0, 0]", "are not for a BLAS"},
    {"/program/3/a/ld", "3", "a leading dimension of 3"},
    {"/program/3/a/batch_strides", "[]", "operand a has 0 batch strides for 1"},
    {"/program/3/a/batch_strides", "[4000]", "operand a needs"},
    {"/program/3/a/batch_strides", "[281474976710656]", "operand a needs"},
    {"/program/3/batch", "[1,1,1,1,1,1,1,1,1]", "at most 8 batch dimensions"},
    {"/program/3/c/transpose", "true", "operand c cannot be transposed"},
    {"/program/3/c/buffer/offset", "240", "operand c needs"},
    {"/program/3/alpha", "\"1\"", "expected a number"},
    {"/program/3/activation", "\"relu\"",
     "program[3].activation: a gemm of a cuda target alone has it"},
    {"/program/4/function", "\"\"", "a kernel needs a function"},
    {"/program/4/buffers/1/offset", "65",
     "a buffer needs 0 bytes at offset 65"},
};

TEST(ManifestTest, MistakesAreNamed) {
  ASSERT_OK(parse(base()));
  const json whole = base();
  for (const Mistake &mistake : mistakes) {
    json manifest = whole;
    manifest[json::json_pointer(mistake.where)] = json::parse(mistake.value);
    SCOPED_TRACE(std::string(mistake.where) + " = " + mistake.value);
    expectError(parse(manifest), mistake.message);
  }
}

/// Every value of the manifest replaced or removed: an error or a manifest
/// that holds, never a crash (run this under a sanitizer).
TEST(ManifestTest, SurvivesAnyValueAnywhere) {
  const json whole = base(), flat = whole.flatten();
  const char *values[] = {"null",
                          "-1",
                          "0",
                          "1e300",
                          "9223372036854775807",
                          "18446744073709551615",
                          "\"\"",
                          "[]",
                          "{}",
                          "[[[]]]",
                          "true",
                          "281474976710656"};
  // The leaves, and every object or array around them.
  std::set<std::string> paths;
  for (const auto &leaf : flat.items())
    for (std::string path = leaf.key(); !path.empty();
         path = path.substr(0, path.rfind('/')))
      paths.insert(path);
  int64_t accepted = 0, refused = 0;
  for (const std::string &path : paths) {
    json::json_pointer pointer(path);
    for (const char *value : values) {
      json manifest = whole;
      manifest[pointer] = json::parse(value);
      ++(parse(manifest).ok() ? accepted : refused);
    }
    json manifest = whole;
    json &parent = manifest[pointer.parent_pointer()];
    if (parent.is_object())
      parent.erase(pointer.back());
    else
      parent.erase(std::stoul(pointer.back()));
    ++(parse(manifest).ok() ? accepted : refused);
  }
  EXPECT_GT(refused, accepted);
}

TEST(ManifestTest, NotJson) {
  Manifest manifest;
  for (const char *text : {"", "{", "[]", "null", "{\"version\": 1,}", "\xff",
                           "{\"version\": 1} {}"})
    EXPECT_FALSE(parseManifest(text, 0, manifest).ok()) << text;
  expectError(parseManifest("{\"version\": 1, \"version\": 1}", 0, manifest),
              "the key 'version' stands twice");
  std::string deep(200000, '[');
  EXPECT_FALSE(parseManifest(deep, 0, manifest).ok());
  expectError(parseManifest("{\"version\": \"\xff\"}", 0, manifest), "");
}

TEST(ManifestTest, NamesOfPorts) {
  json manifest = base();
  manifest["arguments"][0]["name"] = "w";
  Manifest parsed;
  ASSERT_OK(parseManifest(manifest.dump(), 64, parsed));
  int64_t index = -1;
  ASSERT_OK(findPort(parsed.arguments, "parameter:w", "argument", index));
  EXPECT_EQ(index, 1);
  ASSERT_OK(findPort(parsed.arguments, "gone", "argument", index));
  EXPECT_EQ(index, 2);
  expectError(findPort(parsed.arguments, "w", "argument", index),
              "more than one argument is called 'w', write: user_input:w, "
              "parameter:w");
  expectError(findPort(parsed.arguments, "tokens", "argument", index),
              "no argument is called 'tokens', there are: user_input:w, gone");
  EXPECT_EQ(portName(parsed.arguments, 0), "user_input:w");
}

} // namespace
