//===- ProcessIdentity.h - a process that may have ended --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_SEGMENT_PROCESSIDENTITY_H
#define TP_RUNTIME_TRANSPORT_SEGMENT_PROCESSIDENTITY_H

#include <cstdint>
#include <string>

namespace tp::runtime {

/// A process of this host. Numbers of processes are used again; a number and
/// the time of the start are not.
struct ProcessIdentity {
  int64_t number = 0;
  /// Of /proc/NUMBER/stat: in clock ticks since the boot.
  uint64_t start = 0;

  static ProcessIdentity own();
  /// False once it has ended, also before its parent has waited for it.
  bool runs() const;
  std::string text() const { return "process " + std::to_string(number); }

  /// As one word that is never 0, for atomic claims.
  uint64_t packed() const { return start << numberBits | uint64_t(number); }
  static ProcessIdentity unpack(uint64_t word) {
    return {int64_t(word & ((uint64_t(1) << numberBits) - 1)),
            word >> numberBits};
  }

private:
  /// Linux has numbers below 2^22.
  static constexpr int numberBits = 22;
};

/// Tells when a process ends, without a look at /proc each time where the
/// system has descriptors of processes.
class ProcessWatch {
public:
  explicit ProcessWatch(const ProcessIdentity &process);
  ~ProcessWatch();
  ProcessWatch(ProcessWatch &&other) noexcept;
  ProcessWatch &operator=(ProcessWatch &&) = delete;

  bool ended() const;

private:
  ProcessIdentity process;
  int descriptor = -1;
  bool gone = false;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_SEGMENT_PROCESSIDENTITY_H
