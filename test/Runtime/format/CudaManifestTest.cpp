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

const Mistake mistakes[] = {
    {"/target/chips", "null", "target.chips: expected"},
    {"/target/chips", "[]", "names the chips it was compiled for, got none"},
    {"/target/chips", "[\"sm_9x\"]", "expected a chip like sm_90, or host"},
    {"/target/chips", "[\"gfx90\"]", "got 'gfx90'"},
    {"/target/chips", "[\"sm_90\", \"sm_90\"]", "'sm_90' is named twice"},
    {"/program/0/grid", "null", "program[0].grid: expected"},
    {"/program/0/grid", "[1, 1]", "grid: expected 3 sizes, got 2"},
    {"/program/0/grid", "[1, 0, 1]", "expected an integer from 1"},
    {"/program/0/grid", "[2147483648, 1, 1]",
     "command 0, kernel scale 'scale_loc' of module 'mlp': a grid of"},
    {"/program/0/grid", "[1, 65536, 1]", "a grid of [1, 65536, 1] blocks"},
    {"/program/0/block", "[1, 1, 65]", "a block of [1, 1, 65] threads"},
    {"/program/0/block", "[64, 32, 1]", "a block of 2048 threads"},
    {"/program/0/shared_bytes", "232449", "232449 bytes of shared memory"},
    {"/program/0/shared_bytes", "-1", "expected an integer from 0"},
    {"/program/0/flops", "\"many\"", "flops: expected an integer"},
    {"/program/0/buffers/0/access", "\"rw\"", "expected read, write or"},
    {"/program/0/buffers/0/bytes", "129", "a buffer needs 129 bytes"},
    {"/program/0/buffers/1/offset", "264", "is not aligned to 16 bytes"},
    {"/program/0/buffers/1/space", "\"constant\"",
     "a buffer is written but lies in the constants"},
    {"/program/1/dtype", "\"i32\"", "a gemm's dtype is f64, f32, tf32, f16"},
    {"/program/1/dtype", "\"tf16\"", "unknown dtype 'tf16'"},
    {"/program/1/dtype", "\"f64\"", "a gemm of f64 writes f64, got c_dtype"},
    {"/program/1/c_dtype", "\"f16\"", "a gemm of bf16 writes bf16 or f32"},
    {"/program/1/a/buffer/offset", "257", "operand a is not aligned to 2-byte"},
    {"/program/1/c/buffer/offset", "514", "operand c is not aligned to 4-byte"},
    {"/collectives/0/order", "\"rank\"",
     "expected the reduction order 'library' of a cuda target"},
    {"/collectives/0/dtype", "\"i16\"", "NCCL does not reduce i16"},
};

const Mistake epilogueMistakes[] = {
    {"/program/1/activation", "\"silu\"",
     "unknown activation 'silu', expected one of: none relu gelu_tanh"},
    {"/program/1/beta", "0", "a residual with beta 0"},
    {"/program/1/residual", "7", "residual"},
    {"/program/1/residual/ld", "7",
     "the residual has rows of 8 elements and a leading dimension of 7"},
    {"/program/1/residual/ld", "500", "the residual needs 14032 bytes"},
    {"/program/1/residual/transpose", "true", "the residual cannot be"},
    {"/program/1/residual/batch_strides", "[1]",
     "the residual has 1 batch strides for 0 batch dimensions"},
    {"/program/1/residual/buffer/offset", "1026",
     "the residual is not aligned to 4-byte"},
    {"/program/1/bias", "{}", "program[1].bias"},
    {"/program/1/bias/buffer/offset", "2050",
     "the bias is not aligned to 4-byte"},
    {"/program/1/bias/buffer/offset", "4080",
     "the bias needs 32 bytes at offset 4080, its buffer has 4096"},
};

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
  expectMistakes(program().manifest, mistakes, parse);
  expectMistakes(withEpilogue(program().manifest), epilogueMistakes, parse);
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
