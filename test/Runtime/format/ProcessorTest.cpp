//===- ProcessorTest.cpp - code for other processors ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Processor.h"
#include "TestProgram.h"
#include "ToolRun.h"
#include <filesystem>

using namespace tp::test;
using namespace tp::runtime;

namespace {

const std::vector<std::string> first = {"cmov", "cx8", "mmx", "sse", "sse2"};
const std::vector<std::string> second = {"crc32", "cx16",   "popcnt", "sahf",
                                         "sse3",  "sse4.1", "sse4.2", "ssse3"};
const std::vector<std::string> third = {"avx",  "avx2", "bmi",   "bmi2",
                                        "f16c", "fma",  "lzcnt", "movbe"};

Processor with(std::initializer_list<std::vector<std::string>> lists) {
  Processor processor{"x86_64", {}};
  for (const auto &list : lists)
    processor.features.insert(list.begin(), list.end());
  return processor;
}

CodeTarget needing(std::vector<std::string> features) {
  return {"x86_64-unknown-linux-gnu", "znver5", std::move(features)};
}

TEST(ProcessorTest, WhatIsMissingIsNamed) {
  Processor haswell = with({first, second, third});
  EXPECT_OK(checkProcessor(needing(third), haswell));
  EXPECT_OK(checkProcessor(needing({}), haswell));
  expectError(checkProcessor(needing({"avx2", "avx512bf16"}), haswell),
              "compiled for znver5; this processor lacks avx512bf16; compile "
              "with --target-cpu=x86-64-v3");
  expectError(
      checkProcessor(needing({"avx512f", "avx512bw"}), with({first, second})),
      "lacks avx512f, avx512bw; compile with --target-cpu=x86-64-v2");
  expectError(checkProcessor(needing({"sse3"}), with({first})),
              "lacks sse3; compile with --target-cpu=x86-64");
  // A level is whole or not there.
  expectError(checkProcessor(needing({"avx512f"}),
                             with({first, {"sse3", "avx2"}, third})),
              "lacks avx512f; compile with --target-cpu=x86-64");
  // What no generated code uses is not missed.
  EXPECT_OK(checkProcessor(needing({"sgx", "pku"}), haswell));
}

TEST(ProcessorTest, UnknownFeaturesAreRefused) {
  expectError(checkProcessor(needing({"avx99"}), with({first, second, third})),
              "compiled for znver5; this runtime does not know the feature "
              "'avx99' that the code may use; compile with "
              "--target-cpu=x86-64-v3 or use a newer runtime");
}

TEST(ProcessorTest, OtherArchitectures) {
  expectError(
      checkProcessor({"aarch64-unknown-linux-gnu", "neoverse-n1", {"sve"}},
                     with({first})),
      "compiled for neoverse-n1 (aarch64-unknown-linux-gnu); this processor is "
      "of architecture x86_64");
  Processor arm{"aarch64", {}};
  EXPECT_OK(checkProcessor({"aarch64-linux-gnu", "", {"sve"}}, arm));
  expectError(checkProcessor(needing({"sse2"}), arm),
              "this processor is of architecture aarch64");
}

TEST(ProcessorTest, ThisProcessorHasItsBaseline) {
  Processor here = Processor::current();
  if (here.architecture != "x86_64")
    GTEST_SKIP();
  for (const std::string &feature : first)
    EXPECT_TRUE(here.features.contains(feature)) << feature;
}

TestProgram oneKernel() {
  TestProgram program({{"tp", 1}});
  program.addResult("y", "i64", 4);
  program.addKernel("where_am_i", {resultBuffer(0)});
  return program;
}

/// The check comes before the code is opened: the code would not even load.
TEST(ProcessorTest, ArtifactsAreRefusedBeforeTheirCodeIsOpened) {
  std::unique_ptr<Artifact> artifact;
  auto open = [&](TestProgram &program) {
    program.code = "not an ELF file";
    return Artifact::open(program.write(program.folder->file("a.tp")),
                          artifact);
  };
  TestProgram program = oneKernel();
  ASSERT_TRUE(program.open());
  json &target = program.manifest["target"];
  const json good = target;
  target["features"] = {"sse2", "avx99"};
  target["triple"] = "x86_64-unknown-linux-gnu";
  if (Processor::current().architecture == "x86_64")
    expectError(open(program), "does not know the feature 'avx99'");
  target["triple"] = "m68k-unknown-linux-gnu";
  expectError(open(program), "this processor is of architecture");
  for (const char *key : {"triple", "features"}) {
    target = good;
    target.erase(key);
    expectError(open(program), "the manifest does not say what processor the "
                               "code is for");
  }
  target = good;
  target["features"] = "sse2";
  expectError(open(program), "target.features");
  target = good;
  expectError(open(program), "is no ELF file");
}

/// Code whose constructor leaves a file.
TEST(ProcessorTest, InfoOpensNoCode) {
  TestProgram program = oneKernel();
  program.code = readFile(builtFile(TP_TEST_CONSTRUCTOR));
  program.manifest["target"]["cpu"] = "i960";
  std::string path = program.write(program.folder->file("a.tp"));
  ToolRun info({"--info", path});
  info.run();
  EXPECT_EQ(info.exitStatus(), 0) << info.err;
  EXPECT_NE(info.out.find("i960"), std::string::npos) << info.out;
  EXPECT_FALSE(std::filesystem::exists(info.file("loaded")));
  ToolRun steps({path});
  steps.run();
  EXPECT_EQ(steps.exitStatus(), 0) << steps.err;
  EXPECT_TRUE(std::filesystem::exists(steps.file("loaded")));
  // Listed wherever it was compiled.
  program.manifest["target"]["triple"] = "m68k-unknown-linux-gnu";
  program.write(path);
  ToolRun foreign({"--info", path});
  foreign.run();
  EXPECT_EQ(foreign.exitStatus(), 0) << foreign.err;
  ToolRun refused({path});
  refused.run();
  refused.expectError({"this processor is of architecture"});
}

} // namespace
