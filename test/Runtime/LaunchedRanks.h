//===- LaunchedRanks.h - ranks as a launcher starts them --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_LAUNCHEDRANKS_H
#define TP_TEST_RUNTIME_LAUNCHEDRANKS_H

#include "CudaRun.h"
#include <functional>

namespace tp::test {

/// Ranks that each are a tp-run of its own, in one folder, and meet at a port
/// of this host. Several such may run at once.
class LaunchedRanks {
public:
  using PerRank = std::function<std::string(int64_t rank)>;

  /// Without `environment` that of torchrun, but for an address.
  LaunchedRanks(CudaRun &folder, int64_t ranks, PerRank environment = {});

  /// "--store=tcp://127.0.0.1:PORT"
  std::string store() const;
  /// One that nobody listened at when this was made.
  int port() const { return freePort; }

  /// Starts ranks with these arguments and waits until all have ended. Of a
  /// rank with the arguments "-" there is none.
  std::vector<CudaOutcome> run(const PerRank &arguments);

private:
  CudaRun &folder;
  int64_t ranks;
  PerRank environment;
  int freePort;
};

/// A connection to a port of this host, tried for some seconds; -1 for none.
int connectToPort(int port);
/// Listens at a free port of this host and gives its number.
int listenAnywhere(int &port);

} // namespace tp::test

#endif // TP_TEST_RUNTIME_LAUNCHEDRANKS_H
