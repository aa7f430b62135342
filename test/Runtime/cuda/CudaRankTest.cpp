//===- CudaRankTest.cpp - a rank on a device, driven directly -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "Patience.h"
#include "tp/Runtime/Cuda/DeviceRank.h"
#include "tp/Runtime/Cuda/NcclTransport.h"
#include <cmath>
#include <cstring>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// One rank of a program in this process.
class CudaRankTest : public testing::Test {
protected:
  void SetUp() override {
    if (onRealDevice())
      return;
    setenv("TP_CUDA_DRIVER", TP_FAKE_CUDA, 1);
    setenv("TP_CUBLASLT", TP_FAKE_CUBLASLT, 1);
    setenv("TP_NCCL", TP_FAKE_NCCL, 1);
  }
  void TearDown() override {
    if (onRealDevice())
      return;
    for (const char *name : {"TP_CUDA_DRIVER", "TP_CUBLASLT", "TP_NCCL"})
      unsetenv(name);
  }
  Status open(const CudaProgram &program, RankOptions options = {}) {
    artifact = program.open();
    EXPECT_OK(createThreadTransport(artifact->entry(), transport));
    options.startTimeoutSeconds = patience();
    return createRank(*artifact, *transport, 0, options, rank);
  }
  void load(int64_t argument, std::vector<float> values) {
    EXPECT_OK(rank->load(argument, [&](const RankSlice &slice, char *buffer) {
      std::memcpy(buffer, values.data(), slice.localBytes());
    }));
  }
  const float *result(int64_t index) {
    EXPECT_OK(rank->fetchResults());
    RankMemory layout(artifact->entry());
    return reinterpret_cast<const float *>(transport->memory(0) +
                                           layout.results[index]);
  }

  std::unique_ptr<Artifact> artifact;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Rank> rank;
};

TEST_F(CudaRankTest, TheNextStepStartsWithoutTheLastOnesStatus) {
  CudaProgram program({{"tp", 1}});
  program.addArgument("a", "f32", 64);
  program.addLaunch("check_small", {argumentBuffer(0)}, 64);
  ASSERT_OK(open(program));
  for (float value : {1.0f, -1.0f, -1.0f, 1.0f, -1.0f}) {
    load(0, std::vector<float>(64, value));
    Status status = rank->step();
    EXPECT_EQ(status.ok(), value < 0) << status.message();
  }
}

/// Whoever reads what a skipped collective would have written finds numbers.
TEST_F(CudaRankTest, SkippedCollectivesLeaveNumbers) {
  CudaProgram program({{"tp", 1}});
  int64_t group = program.addGroup({{0}});
  program.manifest["memory"]["arena_bytes"] = 768;
  program.addResult("r", "f32", 64);
  program.addResult("s", "f32", 64);
  program.addCollective("all_reduce", "f32", "sum", group, 1, arenaBuffer(0),
                        arenaBuffer(256), 1, 64);
  program.addLaunch("look", {arenaBuffer(256), resultBuffer(0)}, 64);
  program.addLaunch("look", {arenaBuffer(512), resultBuffer(1)}, 64);
  ASSERT_OK(open(program, {.skipCollectives = true}));
  ASSERT_OK(rank->fillSkippedResults(1));
  ASSERT_OK(rank->step());
  const float *skipped = result(0), *other = result(1);
  for (int i = 0; i < 64; ++i) {
    EXPECT_GT(std::abs(skipped[i]), 0.05f);
    EXPECT_LT(std::abs(skipped[i]), 0.51f);
    EXPECT_EQ(other[i], 0);
  }
  EXPECT_NE(skipped[0], skipped[1]);
}

/// Steps in a graph see what was loaded after it was made.
TEST_F(CudaRankTest, ArgumentsChangeBetweenSteps) {
  CudaProgram program({{"tp", 1}});
  program.addArgument("a", "f32", 64);
  program.addResult("r", "f32", 64);
  program.addLaunch("scale", {argumentBuffer(0), resultBuffer(0)}, 64);
  ASSERT_OK(open(program));
  for (float value : {1.0f, 2.0f, 3.0f, 4.0f}) {
    load(0, std::vector<float>(64, value));
    ASSERT_OK(rank->step());
    EXPECT_EQ(result(0)[63], 2 * value);
  }
}

/// By copies on the device, in the order of its work.
TEST_F(CudaRankTest, UpdatesBecomeArgumentsOfTheNextStep) {
  CudaProgram program({{"tp", 1}});
  program.addArgument("a", "f32", 64);
  program.addArgument("b", "f32", 64);
  program.addResult("r", "f32", 64);
  program.addResult("s", "f32", 64);
  program.manifest["results"][0]["updates"] = "a";
  program.addLaunch("scale", {argumentBuffer(0), resultBuffer(0)}, 64);
  program.addLaunch("scale", {argumentBuffer(1), resultBuffer(1)}, 64);
  ASSERT_OK(open(program));
  load(0, std::vector<float>(64, 3));
  load(1, std::vector<float>(64, 5));
  for (float value : {6.0f, 12.0f, 24.0f, 48.0f}) {
    ASSERT_OK(rank->step());
    EXPECT_EQ(result(0)[63], value);
    EXPECT_EQ(result(1)[63], 10);
  }
}

TEST_F(CudaRankTest, PoisonReachesPaddingAndTheArena) {
  CudaProgram program({{"tp", 2}});
  // Rank 0 is the last one of the mesh, which has the padding: rows of 8 with 5
  // valid elements each.
  program.manifest["mesh"]["device_order"] = {1, 0};
  program.addArgument("a", "f32", 64);
  json &port = program.manifest["arguments"][0];
  port["shape"] = {8, 13};
  port["layout"] = {{{"shard", 1}, {"unit", 8}}};
  program.addResult("r", "f32", 64);
  program.addResult("s", "f32", 64);
  program.manifest["memory"]["arena_bytes"] = 256;
  program.addLaunch("look", {argumentBuffer(0), resultBuffer(0)}, 64);
  program.addLaunch("look", {arenaBuffer(0), resultBuffer(1)}, 64);
  for (bool poison : {true, false}) {
    rank.reset();
    transport.reset();
    ASSERT_OK(open(program, {.poison = poison, .skipCollectives = true}));
    load(0, std::vector<float>(64, 3.0f));
    for (int step = 0; step < 3; ++step) {
      ASSERT_OK(rank->step());
      const float *padded = result(0), *arena = result(1);
      for (int i = 0; i < 64; ++i) {
        bool isPadding = poison && i % 8 >= 5;
        EXPECT_EQ(std::isnan(padded[i]), isPadding) << i;
        EXPECT_EQ(std::isnan(arena[i]), poison) << i;
      }
    }
  }
}

/// An argument of several slices arrives whole, padding as zeros.
TEST_F(CudaRankTest, LargeArgumentsGoThroughPinnedMemoryInSlices) {
  CudaProgram program({{"tp", 1}});
  constexpr int64_t size = (int64_t(70) << 20) / 4;
  program.addArgument("a", "f32", size);
  program.addResult("r", "f32", 64);
  program.addResult("s", "f32", 64);
  program.addLaunch("look",
                    {argumentBuffer(0, (size - 64) * 4), resultBuffer(0)}, 64);
  // What a slice holds has left its buffer when the one after next comes.
  program.addLaunch("look", {argumentBuffer(0), resultBuffer(1)}, 64);
  ASSERT_OK(open(program));
  int slices = 0;
  ASSERT_OK(rank->load(0, [&](const RankSlice &slice, char *buffer) {
    auto *values = reinterpret_cast<float *>(buffer);
    int64_t count = slice.localBytes() / 4;
    EXPECT_EQ(values[count - 1], 0);
    ++slices;
    // The last element stays as it was.
    for (int64_t i = 0; i + 1 < count; ++i)
      values[i] = float(slices);
  }));
  EXPECT_EQ(slices, 3);
  ASSERT_OK(rank->step());
  EXPECT_EQ(result(0)[0], 3);
  EXPECT_EQ(result(0)[63], 0);
  EXPECT_EQ(result(1)[0], 1);
}

/// The driver takes a kernel's parameters when it is launched, and so does what
/// stands for it here.
TEST_F(CudaRankTest, ParametersAreThoseOfTheLaunch) {
  std::unique_ptr<cuda::Device> device;
  ASSERT_OK(cuda::Device::open(0, /*modulo=*/false, device));
  cuda::Device::Current current(*device);
  const cuda::Driver &driver = device->driver();
  std::string image = readFile(TP_TEST_CUDA_KERNELS);
  cuda::CUmodule module = nullptr;
  cuda::CUfunction scale = nullptr;
  ASSERT_OK(
      driver.cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr));
  ASSERT_OK(driver.cuModuleGetFunction(&scale, module, "scale"));
  cuda::CUdeviceptr memory = 0;
  ASSERT_OK(device->allocate(256 * 3, memory));
  cuda::CUstream stream = device->stream(Queue::Compute);
  std::vector<float> ones(64, 1.0f), got(128, 0.0f);
  ASSERT_OK(driver.cuMemsetD8Async(memory, 0, 256 * 3, stream));
  ASSERT_OK(driver.cuMemcpyHtoDAsync(memory, ones.data(), 256, stream));
  cuda::CUdeviceptr addresses[] = {memory, memory + 256};
  size_t bytes = sizeof(addresses);
  void *extra[] = {
      reinterpret_cast<void *>(cuda::CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT),
      addresses,
      reinterpret_cast<void *>(cuda::CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT),
      &bytes, reinterpret_cast<void *>(cuda::CU_LAUNCH_PARAM_END_AS_INT)};
  ASSERT_OK(driver.cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, stream, nullptr,
                                  extra));
  addresses[1] = memory + 512;
  bytes = 0;
  ASSERT_OK(driver.cuMemcpyDtoHAsync(got.data(), memory + 256, 512, stream));
  ASSERT_OK(driver.cuStreamQuery(stream));
  EXPECT_EQ(got[0], 2);
  EXPECT_EQ(got[64], 0);
  ASSERT_OK(driver.cuModuleUnload(module));
}

TEST_F(CudaRankTest, WrongCallsAreRefused) {
  CudaProgram program({{"tp", 2}});
  program.addResult("r", "f32", 64);
  artifact = program.open();
  ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  expectError(createRank(*artifact, *transport, 2, {}, rank), "rank 2 of 2");
  expectError(createRank(*artifact, *transport, 0, {.timeoutSeconds = 0}, rank),
              "the time-out must be positive");
  RankOptions options;
  options.device.index = 8;
  expectError(createRank(*artifact, *transport, 0, options, rank),
              "rank 0: no device 8, the CUDA driver has 8: expected 0 to 7");
  options.device.index = -1;
  expectError(createRank(*artifact, *transport, 0, options, rank),
              "no device -1");
}

} // namespace
