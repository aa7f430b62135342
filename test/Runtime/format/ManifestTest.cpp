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

TEST(ManifestTest, MistakesAreNamed) {
  expectMistakes(base(), "manifest", parse);
}

/// Mistakes of what entries share and say of each other.
TEST(ManifestTest, MistakesOfEntriesAreNamed) {
  const json whole = document(base());
  expectMistakes(whole, "entries", parseDocument);
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

/// Two parts in front of the entry, which carry two values.
json withParts() {
  json whole = document(base());
  json part = whole["entries"][0];
  part["name"] = "main.part0";
  part["part_of"] = 0;
  part["results"] = part["program"] = part["collectives"] = json::array();
  whole["entries"][0]["carried"] = {{{"name", "i"}, {"bytes", 8}},
                                    {{"name", "x"}, {"bytes", 64}}};
  // What parts read is shared.
  json &entry = whole["entries"][0];
  for (json &input : entry["inputs"]) {
    input["kind"] = "user_input";
    whole["arguments"].push_back(input);
  }
  entry["inputs"] = part["inputs"] = json::array();
  part["signature"] = entry["signature"] = {1, 0, 2};
  part["program"].push_back(
      {{"command", "kernel"},
       {"function", "g"},
       {"buffers",
        {{{"space", "carried"}, {"index", 1}, {"offset", 16}},
         {{"space", "carried"}}}}});
  whole["entries"].push_back(part);
  part["name"] = "main.part1";
  part["times"] = 100;
  whole["entries"].push_back(part);
  return whole;
}

TEST(ManifestTest, PartsOfAnEntry) {
  Manifest manifest;
  ASSERT_OK(parseManifest(withParts().dump(), 64, manifest));
  EXPECT_EQ(manifest.partsOf(0), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(manifest.partsOf(1), std::vector<int64_t>());
  EXPECT_FALSE(manifest.entries[0].part);
  EXPECT_EQ(manifest.entries[1].part, (EntryPart{0, 1}));
  EXPECT_EQ(manifest.entries[2].part, (EntryPart{0, 100}));
  EntryView part(manifest, manifest.entries[2]);
  ASSERT_EQ(part.carried.size(), 2u);
  EXPECT_EQ(part.carried[1], (CarriedValue{"x", 64}));
  manifest.entries[1].agreeAt = 1;
  Manifest again;
  ASSERT_OK(parseManifest(writeManifest(manifest), 64, again));
  EXPECT_TRUE(again == manifest);
}

TEST(ManifestTest, MistakesOfPartsAreNamed) {
  expectMistakes(withParts(), "parts", parseDocument);
}

/// Parts share nothing in memory but arguments and carried values, which lie
/// apart.
TEST(ManifestTest, PartsHaveTheCarriedMemory) {
  Manifest manifest;
  ASSERT_OK(parseManifest(withParts().dump(), 64, manifest));
  RankMemory whole(EntryView(manifest, manifest.entries[0]));
  RankMemory part(EntryView(manifest, manifest.entries[2]));
  ASSERT_EQ(whole.carried.size(), 2u);
  EXPECT_EQ(whole.carried, part.carried);
  EXPECT_EQ(whole.arguments, part.arguments);
  EXPECT_EQ(whole.bytes, part.bytes);
  EXPECT_GE(std::abs(whole.carried[0] - whole.carried[1]), 64);
  for (int64_t other : whole.arguments)
    EXPECT_NE(other, whole.carried[1]);
  EXPECT_GE(whole.arena, whole.carried[1] + 64);
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
