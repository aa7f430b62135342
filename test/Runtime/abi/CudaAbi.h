//===- CudaAbi.h - devices through the C ABI, for tests ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host program's own work on a device, its streams, memory and
// communicators, is done with the driver and NCCL as tp opens them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_ABI_CUDAABI_H
#define TP_TEST_RUNTIME_ABI_CUDAABI_H

#include "AbiCalls.h"
#include "cuda/CudaProgram.h"
#include "tp/Runtime/Cuda/Device.h"
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tp::test {

/// r = 2 * sum of all ranks' a, of 64 floats.
inline CudaProgram doubledSum(int64_t ranks) {
  CudaProgram program({{"tp", ranks}});
  program.addArgument("a", "f32", 64);
  program.addResult("r", "f32", 64);
  program.manifest["memory"]["arena_bytes"] = 256;
  std::vector<int64_t> all;
  for (int64_t rank = 0; rank < ranks; ++rank)
    all.push_back(rank);
  program.addCollective("all_reduce", "f32", "sum", program.addGroup({all}),
                        ranks, argumentBuffer(0), arenaBuffer(0), 1, 64);
  program.addLaunch("scale", {arenaBuffer(0), resultBuffer(0)}, 64);
  return program;
}

class CudaAbiTest : public testing::Test {
protected:
  void SetUp() override {
    for (auto [name, value] : variables())
      setenv(name, value, 1);
  }
  void TearDown() override {
    tp_artifact_close(artifact);
    for (auto [name, value] : variables())
      unsetenv(name);
    unsetenv("TP_FAKE_ORDER");
    unsetenv("TP_FAKE_FAULT");
  }
  static std::vector<std::pair<const char *, const char *>> variables() {
    return {{"TP_CUDA_DRIVER", TP_FAKE_CUDA},
            {"TP_NCCL", TP_FAKE_NCCL},
            {"TP_CUBLASLT", TP_FAKE_CUBLASLT},
            {"TP_CUDA_CACHE", "/nowhere"}};
  }
  void open(int64_t ranks) { open(doubledSum(ranks)); }
  void open(const CudaProgram &program) {
    std::string path = program.write(folder.file("p.tp"));
    expectOk(tp_artifact_open(path.c_str(), &artifact));
  }
  /// A rank of a program for one.
  void create(const tp_rank_options &options) {
    create(options, doubledSum(1));
  }
  void create(const tp_rank_options &options, const CudaProgram &program) {
    open(program);
    expectOk(tp_transport_threads(artifact, &transport));
    expectOk(tp_rank_create(artifact, transport, 0, 1, &options, &rank));
  }
  void free() {
    tp_rank_free(std::exchange(rank, nullptr));
    tp_transport_free(std::exchange(transport, nullptr));
  }
  /// Runs `body` in a process of its own for each rank: the fakes are one
  /// device per process.
  static void inProcesses(int64_t ranks,
                          const std::function<void(int64_t)> &body) {
    std::vector<pid_t> children;
    for (int64_t r = 0; r < ranks; ++r) {
      pid_t child = fork();
      if (child == 0) {
        body(r);
        std::fflush(nullptr);
        _exit(HasFailure() ? 1 : 0);
      }
      children.push_back(child);
    }
    for (pid_t child : children) {
      int ended = 0;
      waitpid(child, &ended, 0);
      EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << ended;
    }
  }

  TemporaryFolder folder;
  tp_artifact *artifact = nullptr;
  tp_transport *transport = nullptr;
  tp_rank *rank = nullptr;
};

/// What the host program does on a device by itself.
struct OwnDevice {
  explicit OwnDevice(int64_t number) {
    EXPECT_OK(runtime::cuda::Device::open(number, /*modulo=*/false, device));
  }
  runtime::cuda::CUstream stream() const {
    return device->stream(runtime::Queue::Compute);
  }
  runtime::cuda::CUdeviceptr allocate(int64_t bytes) const {
    runtime::cuda::Device::Current current(*device);
    runtime::cuda::CUdeviceptr memory = 0;
    EXPECT_OK(device->allocate(bytes, memory));
    return memory;
  }
  void copyIn(runtime::cuda::CUdeviceptr to, const void *from,
              size_t bytes) const {
    runtime::cuda::Device::Current current(*device);
    EXPECT_OK(device->driver().cuMemcpyHtoDAsync(to, from, bytes, stream()));
  }
  void copyOut(void *to, runtime::cuda::CUdeviceptr from, size_t bytes) const {
    runtime::cuda::Device::Current current(*device);
    EXPECT_OK(device->driver().cuMemcpyDtoHAsync(to, from, bytes, stream()));
  }
  void wait() const {
    runtime::cuda::Device::Current current(*device);
    while (device->driver().cuStreamQuery.code(stream()) ==
           runtime::cuda::CUDA_ERROR_NOT_READY)
      std::this_thread::yield();
    EXPECT_OK(device->driver().cuStreamQuery(stream()));
  }
  std::unique_ptr<runtime::cuda::Device> device;
};

inline tp_rank_options defaults() {
  tp_rank_options options = {};
  options.struct_size = sizeof(options);
  options.poison = 1;
  return options;
}

} // namespace tp::test

#endif // TP_TEST_RUNTIME_ABI_CUDAABI_H
