//===- RingCost.h - bytes and time of collectives ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes and the time of a collective on a ring, and the time of local work.
// All results are saturating integers, so that sums compare exactly and equally
// on every host.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_RINGCOST_H
#define TP_SHARDING_RINGCOST_H

#include "tp/Solver/SaturatedCost.h"
#include "llvm/ADT/StringRef.h"
#include <array>

namespace tp {

/// Element types that a machine computes at the same rate.
enum class NumberClass { F64, F32, F16, F8, Integer };
inline constexpr NumberClass allNumberClasses[] = {
    NumberClass::F64, NumberClass::F32, NumberClass::F16, NumberClass::F8,
    NumberClass::Integer};

/// `f64`, `f32`, `f16` (bf16 too), `f8`, `integer`.
llvm::StringRef toString(NumberClass numbers);
/// The class of numbers of `bits` bits; a complex number counts as one of its
/// parts.
NumberClass numberClass(bool isFloat, unsigned bits);

/// Scalar operations per second on numbers of each class.
struct ComputeRates {
  std::array<double, std::size(allNumberClasses)> perSecond = {
      100e9, 100e9, 100e9, 100e9, 100e9};
  double &operator[](NumberClass numbers) {
    return perSecond[static_cast<size_t>(numbers)];
  }
  double operator[](NumberClass numbers) const {
    return perSecond[static_cast<size_t>(numbers)];
  }
};

/// One rank of the target machine, and the link that its collectives run over.
/// The defaults describe ranks of a CPU host; a hardware description
/// (Hardware.h) replaces them.
struct Machine {
  /// Bytes per second a rank sends to its neighbour in the ring.
  double linkBandwidth = 10e9;
  /// Seconds that a collective takes at least.
  double collectiveLatency = 10e-6;
  ComputeRates computeRate;
  /// Bytes per second of a rank's memory.
  double memoryBandwidth = 20e9;
};

enum class CollectiveKind {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute
};

/// The dialect's op name without `tp.`.
llvm::StringRef toString(CollectiveKind kind);

/// The larger side per rank, in bytes, of a collective over `ranks` ranks on a
/// tensor that has `bytes` bytes where it is not split over them.
int64_t payloadBytes(CollectiveKind kind, int64_t bytes, int64_t ranks);

/// Bytes one rank sends on a ring of `ranks`: 2(n-1)/n of the payload for
/// all_reduce, (n-1)/n for all_gather, reduce_scatter and all_to_all, all of
/// it for permute.
int64_t ringBytes(CollectiveKind kind, int64_t payload, int64_t ranks);

/// Picoseconds of one collective whose rank sends `ringBytes`.
int64_t collectiveTime(int64_t ringBytes, const Machine &machine);

/// Picoseconds of local work: `operations` scalar operations on one rank, on
/// numbers of one class, that touch `bytes` bytes.
int64_t computeTime(double operations, double bytes, const Machine &machine,
                    NumberClass numbers = NumberClass::F32);

} // namespace tp

#endif // TP_SHARDING_RINGCOST_H
