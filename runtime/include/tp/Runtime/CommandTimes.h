//===- CommandTimes.h - what each command of a step takes -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_COMMANDTIMES_H
#define TP_RUNTIME_COMMANDTIMES_H

#include <cstdint>
#include <string>
#include <vector>

namespace tp::runtime {

/// When a command ran, in seconds as secondsNow gives them.
struct CommandTime {
  double begin = 0, end = 0;
};

/// On the host's steady clock, the same for all its processes.
double secondsNow();

/// Seconds between two events of the device around one command. Zeros for a
/// collective, which is not run.
struct CommandSeconds {
  /// On cold data: the second-level cache was filled with other data before.
  /// Median and least of the rounds.
  double cold = 0, leastCold = 0;
  /// After the previous command, with the cache as that one left it.
  double inStep = 0;
  /// A copy within the device, on cold data, that reads half as many bytes as
  /// the kernel moves and writes as many; 0 of a command without bytes.
  double copy = 0;
};

/// What a device takes for the commands of a step, each by itself.
struct StepTimes {
  /// One per command of the program.
  std::vector<CommandSeconds> commands;
  /// A step as a graph, on the device.
  double graph = 0;
  /// A copy that is far larger than the cache: bytes read and written.
  int64_t copiedBytes = 0;
  double copied = 0;
  int64_t cacheBytes = 0, rounds = 0;
  /// "device 0 'NVIDIA H200' (sm_90)"; 13000 is CUDA 13.0.
  std::string device;
  int driverVersion = 0;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_COMMANDTIMES_H
