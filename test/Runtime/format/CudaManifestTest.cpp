//===- CudaManifestTest.cpp - manifests for devices, right and wrong ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InfoLists.h"
#include "Mistakes.h"

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// A kernel, a product and a collective on two ranks.
CudaProgram program() {
  CudaProgram program({{"tp", 2}});
  program.manifest["target"]["chips"] = {"sm_90", "host"};
  int64_t a = program.addArgument("a", "bf16", 64);
  int64_t r = program.addResult("r", "f32", 64);
  program.manifest["memory"] = {{"arena_bytes", 4096}, {"scratch_bytes", 0}};
  int64_t group = program.addGroup({{0, 1}});
  program.addLaunch("scale",
                    {accessed(argumentBuffer(a), 128, "read"),
                     accessed(arenaBuffer(256), 128, "write")},
                    64);
  program.addGemm("bf16", 8, 8, 8, arenaBuffer(256), arenaBuffer(256),
                  arenaBuffer(512));
  program.manifest["program"].back()["c_dtype"] = "f32";
  program.addCollective("all_reduce", "f32", "sum", group, 2, arenaBuffer(512),
                        resultBuffer(r), 1, 64);
  for (json &row : program.manifest["collectives"])
    row["order"] = "library";
  program.inQueues({{2, 1}});
  program.manifest["end_waits_for"] = 2;
  return program;
}

Status parse(const json &manifest) {
  Manifest parsed;
  return parseManifest(document(manifest).dump(), 64, parsed);
}

TEST(CudaManifestTest, ReadsLaunchesAndTypes) {
  Manifest parsed;
  json manifest = program().manifest;
  ASSERT_OK(parseManifest(document(manifest).dump(), 0, parsed));
  EXPECT_TRUE(parsed.isCuda());
  EXPECT_EQ(std::get<CudaTarget>(parsed.target).chips,
            (std::vector<std::string>{"sm_90", "host"}));
  const auto &kernel =
      std::get<KernelCommand>(parsed.entries[0].program[0].what);
  EXPECT_EQ(kernel.launch.block[0], 128);
  EXPECT_EQ(kernel.launch.bytes, 512);
  ASSERT_EQ(kernel.launch.accesses.size(), 2u);
  EXPECT_EQ(kernel.launch.accesses[0].bytes, 128);
  EXPECT_FALSE(kernel.launch.accesses[0].writes);
  EXPECT_FALSE(kernel.launch.accesses[1].reads);
  const auto &gemm = std::get<GemmCommand>(parsed.entries[0].program[1].what);
  EXPECT_EQ(gemm.dtype, DataType::BF16);
  EXPECT_EQ(gemm.cDtype, DataType::F32);
  EXPECT_FALSE(gemm.tf32);
  manifest["program"][1]["dtype"] = "tf32";
  parsed = {};
  ASSERT_OK(parseManifest(document(manifest).dump(), 0, parsed));
  EXPECT_TRUE(std::get<GemmCommand>(parsed.entries[0].program[1].what).tf32);
  EXPECT_EQ(std::get<GemmCommand>(parsed.entries[0].program[1].what).dtype,
            DataType::F32);
}

/// A product with all that may follow it.
json withEpilogue(json manifest) {
  json &gemm = manifest["program"][1];
  gemm["beta"] = 1.0;
  gemm["residual"] = {{"buffer", arenaBuffer(1024)}, {"ld", 16}};
  gemm["bias"] = {{"buffer", arenaBuffer(2048)}};
  gemm["activation"] = "gelu_tanh";
  return manifest;
}

TEST(CudaManifestTest, ReadsEpilogues) {
  Manifest parsed;
  json manifest = withEpilogue(program().manifest);
  ASSERT_OK(parseManifest(document(manifest).dump(), 0, parsed));
  const auto &gemm = std::get<GemmCommand>(parsed.entries[0].program[1].what);
  ASSERT_TRUE(gemm.residual);
  EXPECT_EQ(gemm.residual->ld, 16);
  EXPECT_EQ(gemm.residual->buffer.offset, 1024);
  ASSERT_TRUE(gemm.bias);
  EXPECT_EQ(gemm.bias->offset, 2048);
  EXPECT_EQ(gemm.activation, Activation::GeluTanh);
  manifest["program"][1]["activation"] = "relu";
  manifest["program"][1]["residual"] = nullptr;
  parsed = {};
  ASSERT_OK(parseManifest(document(manifest).dump(), 0, parsed));
  const auto &other = std::get<GemmCommand>(parsed.entries[0].program[1].what);
  EXPECT_EQ(other.activation, Activation::Relu);
  EXPECT_FALSE(other.residual);
}

TEST(CudaManifestTest, ProductsOfF64HaveOnlyAResidual) {
  json manifest = withEpilogue(program().manifest);
  json &gemm = manifest["program"][1];
  gemm["dtype"] = gemm["c_dtype"] = "f64";
  expectError(parse(manifest),
              "a gemm of f64 has neither a bias nor an activation");
  gemm["activation"] = nullptr;
  expectError(parse(manifest),
              "a gemm of f64 has neither a bias nor an activation");
  gemm["bias"] = nullptr;
  EXPECT_OK(parse(manifest));
}

TEST(CudaManifestTest, MistakesAreNamed) {
  expectMistakes(program().manifest, "cuda", parse);
  expectMistakes(withEpilogue(program().manifest), "epilogues", parse);
}

TEST(CudaManifestTest, SectionsAreChecked) {
  TemporaryFolder folder;
  auto open = [&](const CudaProgram &program) {
    std::unique_ptr<Artifact> artifact;
    return Artifact::open(program.write(folder.file("m.tp")), artifact);
  };
  CudaProgram whole = program();
  EXPECT_OK(open(whole));
  CudaProgram changed = whole;
  changed.hostCode.clear();
  expectError(open(changed), "has neither a section 'ptx' nor one of");
  changed.hostCode = "MZ";
  expectError(open(changed), "the section 'cubin.host' is no ELF file");
  changed.hostCode = whole.hostCode.substr(0, 20);
  expectError(open(changed), "the section 'cubin.host' is no ELF file");
  changed = whole;
  changed.sections = {{"ptx", ".visible .entry scale_all(\n"}};
  expectError(open(changed), "command 0, kernel scale 'scale_loc' of module "
                             "'mlp': the PTX has no kernel 'scale'");
  changed.sections = {{"ptx", ".visible .entry scale(\n"}};
  EXPECT_OK(open(changed));
}

TEST(CudaManifestTest, InfoListsEverything) {
  CudaProgram whole = program();
  whole.sections = {{"ptx", ".visible .entry scale(\n"}};
  expectInfo(
      whole,
      {"target cuda, made by", "  sm_90: no cubin\n", "  host: cubin of ",
       "  PTX of 23 bytes, for the driver to assemble\n",
       "scale      1    128             0    512     64  mlp     scale_loc",
       "  total 512 bytes and 64 flops per step and rank\n",
       "bf16 to f32  []     8  8  8  NN      512  1,024      1\n",
       "all_reduce sum  f32"});
}

} // namespace
