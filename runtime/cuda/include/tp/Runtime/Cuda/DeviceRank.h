//===- DeviceRank.h - a rank's memory and steps on a device -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_DEVICERANK_H
#define TP_RUNTIME_CUDA_DEVICERANK_H

#include "tp/Runtime/Cuda/CommandTimes.h"
#include "tp/Runtime/Cuda/CublasLtGemms.h"
#include "tp/Runtime/Cuda/CudnnAttentions.h"
#include "tp/Runtime/Cuda/Device.h"
#include "tp/Runtime/Rank.h"
#include <functional>

namespace tp::runtime::cuda {

/// Runs the program of a cuda artifact as one rank. Used by the thread that
/// opened the device; artifact, device and transport outlive it.
///
/// Arguments, results, constants, arena, scratch, context and status are
/// aligned to 256 bytes. There are two allocations: the memory that collectives
/// touch, which the transport provides, and the rest. The first step queues
/// every command by itself. The second captures them in a graph, which it and
/// all later ones launch; with `RankOptions::trace` none does, because a
/// graph's commands have no times.
///
/// While a step runs the host watches it. Each queue writes the number of the
/// command it comes to into host memory: every command in the first step,
/// collectives and what waits for them in a graph. When no number has changed
/// for the time-out, the driver or NCCL reports an error or the run is aborted,
/// the step ends with an error that names the command, and the device gets no
/// further calls: the process should end.
class DeviceRank {
public:
  static Status create(const Artifact &artifact, Device &device,
                       Transport &transport, int64_t rank,
                       const RankOptions &options,
                       std::unique_ptr<DeviceRank> &created);
  ~DeviceRank();

  int64_t rank() const { return number; }
  /// Fills an argument part by part, through pinned memory: `fill` writes a
  /// slice of it, a port of its own with a buffer of zeros. Padding is zero.
  Status
  load(int64_t argument,
       const std::function<void(const RankSlice &slice, char *buffer)> &fill);
  /// One step: the program, then a status agreed over all ranks.
  Status step();
  /// Copies the results to where the transport keeps them for the host.
  Status fetchResults();

  const std::vector<CommandTime> &times() const { return commandTimes; }
  /// Who runs the attentions of the program.
  struct AttentionCounts {
    int64_t fused = 0, inSteps = 0;
    /// Of the first in steps: the command, and why cuDNN does not run it.
    std::string reason;
  };
  const AttentionCounts &attentionCounts() const { return counts; }

  /// Fills the float results of skipped collectives with numbers that are small
  /// in every float type. They depend on `seed` alone.
  Status fillSkippedResults(uint64_t seed);
  /// Times the program's commands on the device, after a first step. For a
  /// rank alone: collectives are left out, and every step is the program's, so
  /// that commands find the data of a step.
  Status measureCommands(int64_t rounds, StepTimes &times);

private:
  friend class CommandClock;
  /// The size of each of the two pinned buffers for copies.
  static constexpr int64_t stagingBytes = int64_t(32) << 20;

  /// An address in one of the two allocations.
  struct Place {
    bool forCollectives = false;
    int64_t offset = 0;
  };
  /// The offsets in the two allocations. Those in the memory of collectives are
  /// the same on all ranks.
  struct Layout {
    explicit Layout(const EntryView &entry, int64_t constantBytes);
    /// Identifies the contents of the collectives' memory.
    uint64_t checksum() const;
    std::vector<Place> arguments, results;
    Place constants, arena, scratch, context, status, workspace;
    int64_t collectiveBytes = 0, ownBytes = 0;
  };
  /// What a command needs at every step.
  struct Prepared {
    CUfunction function = nullptr;
    /// A kernel's parameters: addresses of its buffers, then of the context.
    std::vector<CUdeviceptr> addresses;
    size_t gemm = 0;
    /// Of an attention: cuDNN's, else the steps.
    std::optional<size_t> attention;
    std::vector<Prepared> steps;
    CUevent done = nullptr, begin = nullptr, end = nullptr;
    /// For profilers; empty without one.
    std::string name;
  };
  /// Bytes of an argument that no rank's data reaches: `rows` of `bytes`.
  struct Padding {
    CUdeviceptr address;
    int64_t bytes, pitch, rows;
    unsigned char pattern;
  };

  DeviceRank(const Artifact &artifact, Device &device, Transport &transport,
             int64_t rank, const RankOptions &options);
  Status prepare();
  Status loadModule();
  Status prepareCommand(int64_t index, AlgorithmCache &cache);
  Status prepareWork(const Command &command, Prepared &made,
                     AlgorithmCache &cache);
  Status prepareAttention(const AttentionCommand &attention, Prepared &made,
                          AlgorithmCache &cache);
  /// For choosing among algorithms; on the memory that the rank has.
  GemmTiming gemmTiming();
  Status prepareClock();
  /// With what was only read.
  Status fillCache();
  /// Zeroes what timing may have written, before anything is loaded.
  Status clearAfterTiming();
  void findPadding();
  Status allocate();
  CUdeviceptr at(Place place) const {
    return (place.forCollectives ? collectiveMemory : ownMemory) + place.offset;
  }
  CUdeviceptr address(const BufferRef &buffer) const;

  Status queueStep(bool inGraph);
  Status queueCommand(const Command &command, Prepared &what, CUstream stream);
  /// How many launches that is, at most.
  int64_t launches(const Command &command, const Prepared &what) const;
  /// The `together` collectives from this one on.
  Status queueCollectives(int64_t first);
  Status queuePoison();
  Status mark(Queue queue, int64_t index, bool ended);
  /// Notes the time at which a queue comes here.
  Status recordTime(CUevent event, CUstream stream, bool inGraph);
  Status capture();
  /// Waits until everything queued has run, or can no longer run.
  Status watch(CUstream stream, bool step);
  Status stuck(double seconds);
  Status broke(const Status &status);
  int64_t position();
  Status within(const Status &status, int64_t command) const;
  Status readTimes(double start);

  const Artifact &artifact;
  const EntryView &entry;
  Device &device;
  Transport &transport;
  int64_t number;
  RankOptions options;
  QueueSchedule schedule;
  Layout layout;
  CUdeviceptr collectiveMemory = 0, ownMemory = 0;
  CUmodule module = nullptr;
  std::unique_ptr<CublasLtGemms> gemms;
  std::unique_ptr<class QueueClock> clock;
  std::unique_ptr<CudnnAttentions> attentions;
  AttentionCounts counts;
  std::vector<Prepared> prepared;
  std::vector<Padding> padding;
  /// Where the communication queue forks off, and with a trace the zero of
  /// its times.
  CUevent start = nullptr, zero = nullptr;
  /// By queue: twice the command's number plus 1, one more when it has ended;
  /// then the status. Written by the device.
  volatile uint32_t *words = nullptr;
  CUdeviceptr wordsSeen = 0;
  char *staging[2] = {nullptr, nullptr};
  CUevent staged[2] = {nullptr, nullptr};
  CUgraphExec graph = nullptr;
  int64_t stepsRun = 0;
  std::vector<CommandTime> commandTimes;
};

/// Visits a rank's buffer in the order of memory as slices of at most
/// `mostBytes` (but at least one element), each with its offset in bytes. Ends
/// with the first error.
Status forEachSlice(
    const RankSlice &whole, int64_t mostBytes,
    const std::function<Status(const RankSlice &slice, int64_t offset)> &visit);

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_DEVICERANK_H
