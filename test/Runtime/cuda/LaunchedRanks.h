//===- LaunchedRanks.h - ranks as a launcher starts them --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_CUDA_LAUNCHEDRANKS_H
#define TP_TEST_RUNTIME_CUDA_LAUNCHEDRANKS_H

#include "CudaRun.h"
#include <functional>
#include <future>

namespace tp::test {

/// A port of this host at which nobody listens. As long as this exists the
/// system gives it to nobody who asks for any, and a rank can serve there.
class ReservedPort {
public:
  /// The given one, or any; `number` is 0 if somebody has it.
  explicit ReservedPort(int wanted = 0);
  ~ReservedPort();
  ReservedPort(const ReservedPort &) = delete;
  int number = 0;

private:
  int file;
};

/// Ranks that each are a tp-run of its own, in one folder, and meet at a port
/// of this host. Several such may run at once.
class LaunchedRanks {
public:
  using PerRank = std::function<std::string(int64_t rank)>;

  /// Without `environment` that of torchrun, but for an address.
  LaunchedRanks(CudaRun &folder, int64_t ranks, PerRank environment = {});

  /// "--store=tcp://127.0.0.1:PORT"
  std::string store() const;
  int port() const { return reserved.number; }

  /// Starts ranks with these arguments and waits until all have ended. Of a
  /// rank with the arguments "-" there is none.
  std::vector<CudaOutcome> run(const PerRank &arguments);
  /// Starts one rank; the outcome is there once it has ended. `process` tells
  /// processes of one rank apart, whose environment is that of its number.
  std::future<CudaOutcome> start(int64_t process, const std::string &arguments);

private:
  CudaRun &folder;
  int64_t ranks;
  PerRank environment;
  ReservedPort reserved;
};

/// A connection to a port of this host, tried with patience; -1 for none.
int connectToPort(int port);
/// Listens at a free port of this host and gives its number; who accepts waits
/// with patience.
int listenAnywhere(int &port);

} // namespace tp::test

#endif // TP_TEST_RUNTIME_CUDA_LAUNCHEDRANKS_H
