//===- LoneRank.h - one rank on a device that is the host -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_CUDA_LONERANK_H
#define TP_TEST_RUNTIME_CUDA_LONERANK_H

#include "CudaProgram.h"
#include "tp/Runtime/Rank.h"

namespace tp::test {

/// A program of one rank in this process, with the libraries of test/Fakes.
/// Memory that nothing has written holds NaN.
class LoneRank {
public:
  explicit LoneRank(const CudaProgram &program);
  ~LoneRank();

  runtime::Status created;
  runtime::Rank &rank() { return *running; }
  /// Element i of the argument becomes value(i), rounded to its dtype.
  void load(int64_t argument, const std::function<double(int64_t)> &value);
  /// Three steps, the last two of which are a graph.
  runtime::Status run();
  std::vector<double> result(int64_t index);

private:
  std::unique_ptr<runtime::Artifact> artifact;
  std::unique_ptr<runtime::Transport> transport;
  std::unique_ptr<runtime::Rank> running;
};

} // namespace tp::test

#endif // TP_TEST_RUNTIME_CUDA_LONERANK_H
