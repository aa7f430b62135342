//===- DeviceRank.h - a rank's memory and steps on a device -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_DEVICERANK_H
#define TP_RUNTIME_CUDA_DEVICERANK_H

#include "tp/Runtime/Cuda/CublasLtGemms.h"
#include "tp/Runtime/Cuda/CudnnAttentions.h"
#include "tp/Runtime/Cuda/Device.h"
#include "tp/Runtime/Rank.h"

namespace tp::runtime::cuda {

/// Runs the program of a cuda artifact as one rank, on a device that it opens.
/// Its collectives are NCCL's; the transport does the rest.
///
/// Arguments, results, constants, arena, scratch, context and status are
/// aligned to 256 bytes. There are two allocations: the memory that collectives
/// touch, which NCCL provides, and the rest. The first step queues every
/// command by itself. The second captures them in a graph, which it and all
/// later ones launch; with `RankOptions::trace` none does, because a graph's
/// commands have no times.
///
/// While a step runs the host watches it. Each queue writes the number of the
/// command it comes to into host memory: every command in the first step,
/// collectives and what waits for them in a graph. When no number has changed
/// for the time-out, the driver or NCCL reports an error or the run is aborted,
/// the step ends with an error that names the command, and the device gets no
/// further calls: the process should end.
class DeviceRank final : public Rank {
public:
  /// A failure ends the run for all ranks, except of options that no rank could
  /// have.
  static Status create(const Artifact &artifact, Transport &transport,
                       int64_t rank, const RankOptions &options,
                       std::unique_ptr<Rank> &created);
  ~DeviceRank() override;

  MemorySpace space() const override { return MemorySpace::Device; }
  int64_t device() const override { return gpu.number(); }
  char *argument(int64_t index) const override {
    return reinterpret_cast<char *>(at(layout.arguments[index]));
  }
  char *result(int64_t index) const override {
    return reinterpret_cast<char *>(at(layout.results[index]));
  }
  /// Through pinned memory, slice by slice.
  Status load(int64_t argument, const Fill &fill) override;
  Status write(int64_t argument, const LocalTensor &from) override;
  Status read(PortSide side, int64_t index, const LocalTensor &to) override;
  Status fetchResults() override;
  void abort(const Status &why) override;
  RankFacts facts() const override;
  Status fillSkippedResults(uint64_t seed) override;
  Status measureCommands(int64_t rounds, StepTimes &times) override;

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
    /// Of an op that a function of the user computes.
    std::shared_ptr<class DeviceCall> call;
    /// `done` where the other queue, or the end of the step, waits for it.
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

  /// What a rank works with.
  struct Parts {
    std::unique_ptr<Device> device;
    /// NCCL's, unless collectives are left out; then with a fault.
    std::unique_ptr<Transport> nccl, faulty;
  };

  DeviceRank(const Artifact &artifact, Parts parts, Transport &transport,
             int64_t rank, const RankOptions &options);
  Status start(std::optional<ExternalStream> stream) override;
  Status finish() override;
  /// An error after a failure: the device gets no further calls.
  Status usable() const;
  /// What a call that failed on the device leaves.
  Status failed(const Status &status);
  /// What comes next is behind what `stream` was given; its work comes behind
  /// what this rank was given.
  Status follow(CUstream stream);
  Status precede(CUstream stream);
  Status checkTensor(const LocalTensor &tensor) const;
  /// Checks the tensor of a copy, which comes behind the host's stream.
  Status beginCopy(const LocalTensor &tensor);
  /// Buffers of ports in pieces that fit the pinned memory.
  Status upload(const RankSlice &whole, CUdeviceptr to, const Fill &fill);
  Status download(const RankSlice &whole, CUdeviceptr from,
                  const LocalTensor &to);
  /// Within the device, between tensors of any strides.
  Status copyTensor(const std::vector<int64_t> &sizes, int64_t elementBytes,
                    CUdeviceptr from, const std::vector<int64_t> &fromStrides,
                    CUdeviceptr to, const std::vector<int64_t> &toStrides);
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
  /// Whether the queue Communication runs the command.
  bool communicates(int64_t command) const {
    return entry.program[command].queue == Queue::Communication;
  }
  /// The first command that does not start as one with `first`.
  int64_t endOfGroup(int64_t first) const;
  /// A collective and all that start as one with it.
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

  Parts parts;
  Device &gpu;
  Layout layout;
  CUdeviceptr collectiveMemory = 0, ownMemory = 0;
  CUmodule module = nullptr;
  std::unique_ptr<CublasLtGemms> gemms;
  std::unique_ptr<class QueueClock> clock;
  std::unique_ptr<CudnnAttentions> attentions;
  RankFacts known;
  std::vector<Prepared> prepared;
  std::vector<Padding> padding;
  /// Where the communication queue forks off, and with a trace the zero of
  /// its times.
  CUevent forkPoint = nullptr, zero = nullptr;
  /// In the host program's stream before a step, and in this rank's after it.
  CUevent before = nullptr, after = nullptr;
  /// By queue: twice the command's number plus 1, one more when it has ended;
  /// then the status. Written by the device.
  volatile uint32_t *words = nullptr;
  CUdeviceptr wordsSeen = 0;
  char *staging[2] = {nullptr, nullptr};
  CUevent staged[2] = {nullptr, nullptr};
  CUgraphExec graph = nullptr;
  int64_t stepsRun = 0;
  /// Why the step that was submitted last does not run.
  Status notBegun;
  /// Of the step under way: when it was submitted, and whether it waits for a
  /// stream of the host program.
  double begun = 0;
  bool follows = false;
};

/// Visits a rank's buffer in the order of memory as slices of at most
/// `mostBytes` (but at least one element), each with its offset in bytes. Ends
/// with the first error.
Status forEachSlice(
    const RankSlice &whole, int64_t mostBytes,
    const std::function<Status(const RankSlice &slice, int64_t offset)> &visit);

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_DEVICERANK_H
