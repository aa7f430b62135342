//===- Rank.h - one rank's memory and steps ---------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_RANK_H
#define TP_RUNTIME_RANK_H

#include "tp/Runtime/Artifact.h"
#include "tp/Runtime/Transport.h"
#include <array>

namespace tp::runtime {

struct RankOptions {
  /// Of one collective.
  double timeoutSeconds = 300;
  /// Fill padding, results and arena with NaN or the least integer before
  /// every step.
  bool poison = false;
  /// Leave collectives out: one rank's speed alone, results mean nothing.
  bool skipCollectives = false;
  /// Keep the times of every command of the last step.
  bool trace = false;

  /// Whether a rank of this number, of a program for so many, may be made.
  Status check(int64_t rank, int64_t ranks, const Transport &transport) const;
};

/// On the host's steady clock, the same for all its processes.
double secondsNow();

/// As secondsNow gives them.
struct CommandTime {
  double begin = 0, end = 0;
};

/// Runs the program as one rank. Used by one thread at a time; artifact and
/// transport outlive it.
class Rank {
public:
  static Status create(const Artifact &artifact, Transport &transport,
                       int64_t rank, const RankOptions &options,
                       std::unique_ptr<Rank> &created);

  int64_t rank() const { return number; }
  /// The rank's own buffers: local shape in storage order, no gaps.
  char *argument(int64_t index) const {
    return memory + layout.arguments[index];
  }
  char *result(int64_t index) const { return memory + layout.results[index]; }

  /// One step: the program, then a status agreed over all ranks. Allocates
  /// nothing.
  Status step();

  const std::vector<CommandTime> &times() const { return commandTimes; }

private:
  Rank(const Artifact &artifact, Transport &transport, int64_t rank,
       const RankOptions &options);
  void prepare();
  void *address(const BufferRef &buffer) const;
  void poison();
  Status run(int64_t index);

  /// Addresses of a command's buffers: a kernel's list, a gemm's a, b, c, a
  /// collective's input and output.
  struct Prepared {
    size_t first = 0;
  };

  const Artifact &artifact;
  const EntryView &entry;
  Transport &transport;
  int64_t number;
  /// Of this rank.
  Coordinates coordinates;
  RankOptions options;
  RankMemory layout;
  char *memory = nullptr;
  std::vector<Prepared> prepared;
  std::vector<void *> addresses;
  /// Per argument; empty where there is no padding.
  std::vector<std::vector<uint8_t>> padding;
  std::vector<CommandTime> commandTimes;
  tp_kernel_context context = {};
  int32_t status = 0;
};

/// What every step ends with: the ranks agree on the check that failed, by
/// its id, 0 for none.
Status endStep(const EntryView &entry, Transport &transport, int64_t rank,
               int32_t failedCheck, const RankOptions &options);

/// The value of TP_POISON (0 or 1); by default true in debug builds.
bool poisonByDefault();

/// Fills `count` elements with NaN or the least integer (i1: 1); with a mask,
/// those whose byte is not 0.
void fillWithPoison(DataType type, void *data, int64_t count,
                    const uint8_t *mask = nullptr);

} // namespace tp::runtime

#endif // TP_RUNTIME_RANK_H
