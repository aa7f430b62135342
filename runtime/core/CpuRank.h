//===- CpuRank.h - a rank on the CPU ----------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_CPURANK_H
#define TP_RUNTIME_CORE_CPURANK_H

#include "Gemm.h"
#include "tp/Runtime/Rank.h"

namespace tp::runtime {

/// Its memory is the transport's, so that peers read it. A step allocates
/// nothing and runs within submit.
class CpuRank final : public Rank {
public:
  static Status create(const Artifact &artifact, Transport &transport,
                       int64_t rank, const RankOptions &options,
                       std::unique_ptr<Rank> &created);

  MemorySpace space() const override { return MemorySpace::Host; }
  char *argument(int64_t index) const override {
    return memory + layout.arguments[index];
  }
  char *result(int64_t index) const override {
    return memory + layout.results[index];
  }
  Status load(int64_t argument, const Fill &fill) override;
  Status write(int64_t argument, const LocalTensor &from) override;
  Status read(PortSide side, int64_t index, const LocalTensor &to) override;
  Status withEntry(const EntryView &other,
                   std::unique_ptr<Rank> &created) const override;
  /// They are there.
  Status fetchResults() override { return {}; }

private:
  CpuRank(const Artifact &artifact, const EntryView &entry,
          Transport &transport, std::shared_ptr<Transport> faulty, int64_t rank,
          const RankOptions &options, std::shared_ptr<RankState> state);
  Status start(std::optional<ExternalStream> stream) override;
  Status finish() override { return std::exchange(outcome, {}); }
  void prepare();
  void *address(const BufferRef &buffer) const;
  void poison();
  Status runProgram();
  /// The parts and the commands; `failedCheck` is the first check that fails.
  Status runCommands(int32_t &failedCheck);
  /// What no check has failed before may write arguments.
  Status agreeBeforeWrites(int32_t failedCheck);
  Status run(int64_t index);

  /// Addresses of a command's buffers: a kernel's list, a gemm's a, b, c, a
  /// collective's input and output, an attention's q, k, v, o and bias, of
  /// its backward pass q, k, v, the bias and what AttentionBackwardCommand
  /// names.
  struct Prepared {
    size_t first = 0;
    /// Of a gemm.
    GemmSizes sizes = {};
  };

  /// The parts of the entry, in order.
  std::vector<std::unique_ptr<CpuRank>> parts;
  /// What the base class works on, with a fault.
  std::shared_ptr<Transport> faulty;
  Coordinates coordinates;
  RankMemory layout;
  char *memory = nullptr;
  std::vector<Prepared> prepared;
  std::vector<void *> addresses;
  struct alignas(64) CacheLine {
    char bytes[64];
  };
  /// What products of f16 and bf16, and attentions, work in.
  std::vector<CacheLine> scratch;
  /// Per argument; empty where there is no padding.
  std::vector<std::vector<uint8_t>> padding;
  tp_kernel_context context = {};
  int32_t status = 0;
  Status outcome;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_CPURANK_H
