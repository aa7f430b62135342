//===- CudaProgram.h - small artifacts for devices --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_CUDA_CUDAPROGRAM_H
#define TP_TEST_RUNTIME_CUDA_CUDAPROGRAM_H

#include "TestProgram.h"

namespace tp::test {

/// Tests are to run on devices as they are found, their kernels being those of
/// the file TP_TEST_PTX: for a selection of them that test/OnDevice makes.
bool onRealDevice();

/// A test program for the target cuda, compiled for the chip `host`: its
/// kernels are those of CudaKernels.cpp.
struct CudaProgram : TestProgram {
  explicit CudaProgram(std::vector<std::pair<std::string, int64_t>> axes);

  /// One thread per element, 128 in a block.
  void addLaunch(const std::string &function, const std::vector<json> &buffers,
                 int64_t elements);
  /// c[m, n] = a[m, k] b[k, n], all row-major without gaps.
  void addGemm(const std::string &dtype, int64_t m, int64_t n, int64_t k,
               const json &a, const json &b, const json &c);
  /// Puts the commands into their queues. The first of a pair waits for the
  /// second one.
  void inQueues(const std::vector<std::pair<int64_t, int64_t>> &waits);
  /// Commands that are in no queues are put there (`tp::test::inQueues`).
  std::string write(const std::string &path) const override;

  /// The section cubin.host and further ones.
  std::string hostCode;
  std::vector<std::pair<std::string, std::string>> sections;
};

/// The same manifest whose commands are in queues, if they are in none. Every
/// command waits for all that the other queue runs before.
json inQueues(json manifest);

/// A buffer with what a kernel does to it: "read", "write" or "read_write".
json accessed(json buffer, int64_t bytes, const char *access);

} // namespace tp::test

#endif // TP_TEST_RUNTIME_CUDA_CUDAPROGRAM_H
