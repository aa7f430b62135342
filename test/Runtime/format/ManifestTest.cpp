//===- ManifestTest.cpp - manifests right and wrong -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mistakes.h"
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
  program.addReplicated("results", "w", "f32", {6, 4});
  program.manifest["results"][1]["kind"] = "new_parameter";
  program.manifest["results"][1]["storage"] = {{"permutation", {1, 0}}};
  program.manifest["results"][1]["updates"] = "w";
  program.manifest["results"][1]["in_place"] = true;
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

Status parseDocument(const json &document) {
  Manifest parsed;
  return parseManifest(document.dump(), 64, parsed);
}

Status parse(const json &flat) { return parseDocument(document(flat)); }

TEST(ManifestTest, ReadsEverything) {
  Manifest manifest;
  ASSERT_OK(parseManifest(document(base()).dump(), 64, manifest));
  EntryView entry = entryOf(manifest);
  EXPECT_EQ(entry.numRanks(), 4);
  EXPECT_EQ(entry.mesh.text(), "dp = 2, tp = 2");
  EXPECT_EQ(entry.arguments[1].localStrides(), (std::vector<int64_t>{1, 6}));
  EXPECT_TRUE(entry.arguments[1].isWeight());
  EXPECT_FALSE(entry.arguments[0].isWeight());
  EXPECT_EQ(entry.arguments[2].localBytes(), 0) << "it is dead";
  EXPECT_FALSE(entry.results[0].update);
  EXPECT_EQ(entry.results[1].update, (Update{1, true, ""}));
  EXPECT_EQ(entry.describe(2),
            "command 2, all_reduce 'all_reduce_2' of module 'layer.2'");
  EXPECT_EQ(entry.describe(5), "the end of the step");
  EXPECT_EQ(entry.findAssert(7)->message, "index too large");
}

TEST(ManifestTest, DeviceOrderGivesCoordinates) {
  json manifest = base();
  manifest["mesh"]["device_order"] = {3, 1, 0, 2};
  Manifest parsed;
  ASSERT_OK(parseManifest(document(manifest).dump(), 64, parsed));
  // Rank 0 stands at position 2 of the grid: row 1, column 0.
  EXPECT_EQ(parsed.mesh.coordinates(0)[0], 1);
  EXPECT_EQ(parsed.mesh.coordinates(0)[1], 0);
  EXPECT_EQ(parsed.mesh.coordinates(1)[0], 0);
  EXPECT_EQ(parsed.mesh.coordinates(1)[1], 1);
}

TEST(ManifestTest, KOfEveryRank) {
  json manifest = base();
  Manifest parsed;
  ASSERT_OK(parseManifest(document(manifest).dump(), 64, parsed));
  auto kOf = [&](int64_t rank) {
    return std::get<GemmCommand>(parsed.entries[0].program[3].what)
        .kOf(parsed.mesh.coordinates(rank));
  };
  EXPECT_EQ(kOf(3), 4);
  manifest["program"][3]["k"] = {{"axes", {"tp"}}, {"sizes", {4, 1}}};
  parsed = {};
  ASSERT_OK(parseManifest(document(manifest).dump(), 64, parsed));
  EXPECT_EQ(std::get<GemmCommand>(parsed.entries[0].program[3].what).k, 4)
      << "the largest";
  EXPECT_EQ(kOf(0), 4);
  EXPECT_EQ(kOf(1), 1);
  EXPECT_EQ(kOf(2), 4);
  EXPECT_EQ(kOf(3), 1);
  // Along two axes, the first one major.
  manifest["program"][3]["k"] = {{"axes", {"tp", "dp"}},
                                 {"sizes", {3, 4, 0, 1}}};
  parsed = {};
  ASSERT_OK(parseManifest(document(manifest).dump(), 64, parsed));
  EXPECT_EQ(kOf(0), 3);
  EXPECT_EQ(kOf(1), 0);
  EXPECT_EQ(kOf(2), 4);
  EXPECT_EQ(kOf(3), 1);
}

// JSON pointer, the value put there, a part of the message.
const Mistake mistakes[] = {
    {"/version", "1",
     "version: expected version 2, got 1; compile the model again with this "
     "version of tp-compile"},
    {"/version", "3", "version: expected version 2, got 3; use a newer"},
    {"/entry", "\"main\"", "top level: unknown field 'entry'"},
    {"/target/kind", "\"rocm\"", "the artifact is for target 'rocm'"},
    {"/mesh/axes", "[]", "a mesh has 1 to 8 axes, got 0"},
    {"/mesh/axes/0/size", "0", "mesh.axes[0].size: expected an integer from 1"},
    {"/mesh/axes/0/size", "4096", "at most 4096 ranks"},
    {"/mesh/axes/0/name", "\"tp\"", "two mesh axes are called 'tp'"},
    {"/mesh/device_order", "[0, 1, 2, 2]", "is no permutation"},
    {"/mesh/device_order", "[0, 1]", "is no permutation"},
    {"/arguments/0/dtype", "\"f8\"",
     "unknown dtype 'f8', expected one of: f64"},
    {"/arguments/0/name", "7", "inputs[0].name: expected a string, got 7"},
    {"/arguments/0/shape", "[281474976710657]", "expected an integer"},
    {"/arguments/0/shape", "[281474976710656]", "size in bytes"},
    {"/arguments/0/shape", "[-1]", "expected an integer from 0"},
    {"/arguments/0/shape", "[9223372036854775807]", "expected an"},
    {"/arguments/0/shape", "[18446744073709551615]", "expected an"},
    {"/arguments/0/shape", "[1e3]", "expected an integer"},
    {"/arguments/0/layout", "[{}]",
     "layout: expected a placement for each of the 2 mesh axes, got 1"},
    {"/arguments/0/layout", "7", "layout: expected an array, got 7"},
    {"/arguments/0/layout", "[7, {}]", "expected an object, got 7"},
    {"/arguments/0/layout/0/shard", "1",
     "input 0 'a': shard<1> needs that dimension, it has 1"},
    {"/arguments/0/layout/0/unit", "0", "unit: expected an integer from 1"},
    {"/arguments/0/layout/0/unit", "2", "differ in unit or segments"},
    {"/arguments/0/layout/0/segments", "[96]", "differ in unit or segments"},
    {"/arguments/0/layout", "[{\"shard\": 0, \"segments\": [90, 5]}, {}]",
     "segments [90, 5] do not add up to dimension 0 of shape [96]"},
    {"/arguments/0/layout", "[{\"shard\": 0, \"chunk\": 3}, {}]",
     "unknown field 'chunk', expected one of: axis shard unit segments"},
    {"/arguments/0/layout", "[{}, {\"axis\": \"tp\"}]",
     "expected an axis in all placements or in none"},
    {"/arguments/0/layout", "[{\"axis\": \"dp\"}, {\"axis\": \"pp\"}]",
     "layout[1].axis: the mesh has no axis 'pp'"},
    {"/arguments/0/layout", "[{\"axis\": \"dp\"}]",
     "its layout has no placement for axis 'tp'"},
    {"/arguments/0/layout", "[{\"axis\": \"dp\"}, {\"axis\": \"dp\"}]",
     "its layout has axis 'dp' twice or with a gap"},
    {"/arguments/0/layout", "[{\"axis\": [\"dp\", 2]}]",
     "expected the name of an axis, or its name, a major and a size"},
    {"/arguments/0/layout", "[{\"axis\": [\"dp\", 1, 3]}]",
     "part 1:3 does not divide axis 'dp' of size 2"},
    {"/arguments/0/parts", "[]", "unknown field 'parts'"},
    {"/arguments/0/source_keys", "[\"a\"]",
     "an argument or result of kind 'user_input' is in no file"},
    {"/arguments/1/segments", "[]", "expected source_keys or segments"},
    {"/arguments/1/storage/permutation", "[0, 0]", "no permutation"},
    {"/arguments/1/storage/permutation", "[0]", "no permutation"},
    {"/arguments/1/dead", "1", "expected true or false"},
    {"/results/1/updates", "\"b\"", "no argument is called 'b'"},
    {"/results/1/updates", "\"a\"",
     "result 'w' updates 'a', which differs in shape or dtype"},
    {"/results/1/shape", "[6, 5]",
     "result 'w' updates 'w', which differs in shape or dtype"},
    {"/results/1/dtype", "\"i32\"", "which differs in shape or dtype"},
    {"/results/1/storage", "null", "which differs in layout or storage"},
    {"/results/1/layout", "[{\"shard\": 0}, {}]",
     "which differs in layout or storage"},
    {"/results/1/reason", "\"read later\"", "expected no reason why not"},
    {"/results/0/source_keys", "[\"r\"]", "unknown field 'source_keys'"},
    {"/groups/0/axes", "[\"tp\", \"tp\"]",
     "group 0: its axes hold 'tp' and 'tp', which overlap"},
    {"/groups/0/axes", "[\"pp\"]", "groups[0].axes[0]: the mesh has no axis"},
    {"/groups/0/axes", "{}", "expected an array"},
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
    {"/program/3/m", "4294967296", "are not for a BLAS"},
    {"/program/3/m", "100", "operand a needs"},
    {"/program/3/k", "[4, 4, 4, 4]", "k: expected an integer"},
    {"/program/3/k", "{\"axes\": [\"tp\"], \"sizes\": [4]}",
     "k for 2 positions expected, got 1"},
    {"/program/3/k", "{\"axes\": [\"tp\"], \"sizes\": []}",
     "k: expected the size of every position, got none"},
    {"/program/3/k", "{\"axes\": [\"tp\"], \"sizes\": [4, \"4\"]}",
     "k.sizes[1]: expected an integer"},
    {"/program/3/k", "{\"axes\": [\"tp\"], \"sizes\": [0, 5]}",
     "operand a has rows of 5 elements"},
    {"/program/3/k", "{\"axes\": [\"tp\"], \"sizes\": [0, 4294967296]}",
     "are not for a BLAS"},
    {"/program/3/k", "{\"axes\": [\"pp\"], \"sizes\": [4]}",
     "k.axes[0]: the mesh has no axis 'pp'"},
    {"/program/3/flops", "96", "program[3]: unknown field 'flops'"},
    {"/program/3/a/ld", "3", "a leading dimension of 3"},
    {"/program/3/a/batch_strides", "[]", "operand a has 0 batch strides for 1"},
    {"/program/3/a/batch_strides", "[4000]", "operand a needs"},
    {"/program/3/a/batch_strides", "[281474976710656]", "operand a needs"},
    {"/program/3/batch", "[1,1,1,1,1,1,1,1,1]", "at most 8 batch dimensions"},
    {"/program/3/c/transpose", "true", "operand c cannot be transposed"},
    {"/program/3/c/buffer/offset", "240", "operand c needs"},
    {"/program/3/alpha", "\"1\"", "expected a number"},
    {"/program/3/dtype", "\"bf16\"",
     "a gemm of bf16 writes f32, got c_dtype bf16"},
    {"/program/3/c_dtype", "\"f64\"",
     "a gemm of f32 writes f32, got c_dtype f64"},
    {"/program/3/activation", "\"relu\"",
     "program[3].activation: a gemm of a cuda target alone has it"},
    {"/program/4/function", "\"\"", "a kernel needs a function"},
    {"/program/4/buffers/1/offset", "65",
     "a buffer needs 0 bytes at offset 65"},
};

TEST(ManifestTest, MistakesAreNamed) {
  expectMistakes(base(), mistakes, parse);
}

/// Mistakes of what entries share and say of each other.
TEST(ManifestTest, MistakesOfEntriesAreNamed) {
  const Mistake ofDocument[] = {
      {"/entries", "[]", "expected an entry, got none"},
      {"/entries/1", "7", "entries[1]: expected an object"},
      {"/entries/0/name", "null", "entries[0].name: expected a string"},
      {"/entries/0/calls", "2", "entries[0]: unknown field 'calls'"},
      {"/entries/0/signature", "[1, 0, 2, 0]",
       "entry 'main': its signature names argument 0 twice"},
      {"/entries/0/signature", "[1, 0, 3]",
       "its signature names argument 3 of 3"},
      {"/entries/0/signature", "[1, 0]", "its signature lacks input 'gone'"},
      {"/entries/0/inputs/0/kind", "\"buffer\"",
       "input 'a' of kind 'buffer' is a weight, expected it in 'arguments'"},
      {"/arguments/0/kind", "\"mask\"",
       "an argument or result of kind 'mask' is in no file"},
      {"/entries/0/program/4/grid", "[1, 1, 1]",
       "entries[0].program[4]: unknown field 'grid'"},
  };
  const json whole = document(base());
  expectMistakes(whole, ofDocument, parseDocument);
  json twice = whole;
  twice["entries"].push_back(twice["entries"][0]);
  expectError(parseDocument(twice), "two entries are called 'main'");
  twice["entries"][1]["name"] = "decode";
  EXPECT_OK(parseDocument(twice));
  twice["entries"][1]["memory"]["arena_bytes"] = 63;
  expectError(parseDocument(twice), "entry 'decode', command 1, permute");
  json updates = whole;
  updates["entries"][0]["results"].push_back(
      updates["entries"][0]["results"][1]);
  expectError(parseDocument(updates),
              "result 'w' updates 'w', as another result does");
}

/// Every value of the manifest replaced or removed: an error or a manifest
/// that holds, never a crash (run this under a sanitizer).
TEST(ManifestTest, SurvivesAnyValueAnywhere) {
  const json whole = document(base()), flat = whole.flatten();
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
      ++(parseDocument(manifest).ok() ? accepted : refused);
    }
    json manifest = whole;
    json &parent = manifest[pointer.parent_pointer()];
    if (parent.is_object())
      parent.erase(pointer.back());
    else
      parent.erase(std::stoul(pointer.back()));
    ++(parseDocument(manifest).ok() ? accepted : refused);
  }
  EXPECT_GT(refused, accepted);
}

TEST(ManifestTest, NotJson) {
  Manifest manifest;
  for (const char *text : {"", "{", "[]", "null", "{\"version\": 2,}", "\xff",
                           "{\"version\": 2} {}"})
    EXPECT_FALSE(parseManifest(text, 0, manifest).ok()) << text;
  expectError(parseManifest("{\"version\": 2, \"version\": 2}", 0, manifest),
              "the key 'version' stands twice");
  std::string deep(200000, '[');
  EXPECT_FALSE(parseManifest(deep, 0, manifest).ok());
  expectError(parseManifest("{\"version\": \"\xff\"}", 0, manifest), "");
}

TEST(ManifestTest, NamesOfPorts) {
  json manifest = base();
  manifest["arguments"][0]["name"] = "w";
  manifest["results"][1]["updates"] = "parameter:w";
  Manifest parsed;
  ASSERT_OK(parseManifest(document(manifest).dump(), 64, parsed));
  const std::vector<Port> arguments = entryOf(parsed).arguments;
  int64_t index = -1;
  ASSERT_OK(findPort(arguments, "parameter:w", "argument", index));
  EXPECT_EQ(index, 1);
  ASSERT_OK(findPort(arguments, "gone", "argument", index));
  EXPECT_EQ(index, 2);
  expectError(findPort(arguments, "w", "argument", index),
              "more than one argument is called 'w', write: user_input:w, "
              "parameter:w");
  expectError(findPort(arguments, "tokens", "argument", index),
              "no argument is called 'tokens', there are: user_input:w, gone");
  EXPECT_EQ(portName(arguments, 0), "user_input:w");
}

} // namespace
