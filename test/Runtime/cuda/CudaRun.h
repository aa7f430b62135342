//===- CudaRun.h - tp-run on devices that are the host ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_CUDA_CUDARUN_H
#define TP_TEST_RUNTIME_CUDA_CUDARUN_H

#include "CudaProgram.h"

namespace tp::test {

struct CudaOutcome {
  int exitStatus = -1;
  std::string out, err;
};

/// A folder in which tp-run runs with the libraries of test/Fakes.
class CudaRun {
public:
  /// `environment` is "NAME=value NAME=value" in front of the command. A run
  /// that takes longer than patience() is killed: exit status 124. `streams`
  /// tells runs at the same time apart.
  CudaOutcome run(const std::string &arguments,
                  const std::string &environment = "",
                  const std::string &streams = "");
  std::string file(const std::string &name) const { return folder.file(name); }

private:
  TemporaryFolder folder;
};

/// Adds to a program for `ranks` ranks on the axis "tp" one of everything: two
/// kernels "scale", a product, and all kinds of collectives, each between
/// buffers in the arena and with `outer` 2, some of which may overlap others.
/// Results are r0 to r4. `launch` adds a kernel of 64 floats from a buffer to
/// another.
void addEverything(
    TestProgram &program, int64_t ranks,
    const std::function<void(const char *function, const json &from,
                             const json &to)> &launch);
inline constexpr int everythingResults = 5;

/// That program for the CPU and for devices; with `known`, kernels say which
/// bytes they touch.
TestProgram everythingOnHost(int64_t ranks);
CudaProgram everythingOnDevice(int64_t ranks, bool known = true);

} // namespace tp::test

#endif // TP_TEST_RUNTIME_CUDA_CUDARUN_H
