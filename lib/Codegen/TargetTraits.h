//===- TargetTraits.h - in what the targets differ --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_TARGETTRAITS_H
#define TP_LIB_CODEGEN_TARGETTRAITS_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace tp::target {

/// The properties of a target that planning a rank's program depends on.
struct TargetTraits {
  /// Its name in diagnostics: "the CPU target".
  llvm::StringRef name;
  /// The alignment of values in the arena and the constants, in bytes.
  int64_t alignment;
  /// Its GEMMs add a matrix and a vector to their sums, apply GELU, and round
  /// what they made to the operands' type where the program does. Elsewhere
  /// they write their sums.
  bool hasEpilogues = false;
  /// Fewer rows leave much of a device idle: a reduction with more rows of its
  /// own does not join a kernel with fewer than this.
  int64_t fewRows = 0;
  /// Whether an attention is one command.
  bool hasAttention = true;
  /// Whether a compute loop may run over a part of what it writes.
  bool computesParts = false;
  /// Whether a GEMM may multiply f32 by f16 or bf16.
  bool multipliesMixed = false;
  /// Whether GEMMs and kernels leave out rows by a condition.
  bool leavesRows = false;
  /// Whether a GEMM reads matrices of a table at places known at run time.
  bool looksUpMatrices = false;
  /// Whether ranks agree on assertions within a step, before what outlives it
  /// is written.
  bool agreesWithinStep = false;
  /// Limit of the bytes of scores in one of the steps that stand in for an
  /// attention where no library does it; none where attention needs no steps.
  std::optional<int64_t> scoreBytes = std::nullopt;
};

inline constexpr TargetTraits cpuTraits = {"the CPU target",
                                           64,
                                           /*hasEpilogues=*/false,
                                           /*fewRows=*/0,
                                           /*hasAttention=*/true,
                                           /*computesParts=*/true,
                                           /*multipliesMixed=*/true,
                                           /*leavesRows=*/true,
                                           /*looksUpMatrices=*/true,
                                           /*agreesWithinStep=*/true};
inline constexpr TargetTraits cudaTraits = {"the CUDA target",
                                            256,
                                            /*hasEpilogues=*/true,
                                            /*fewRows=*/1024,
                                            /*hasAttention=*/true,
                                            /*computesParts=*/false,
                                            /*multipliesMixed=*/false,
                                            /*leavesRows=*/false,
                                            /*looksUpMatrices=*/false,
                                            /*agreesWithinStep=*/false,
                                            /*scoreBytes=*/int64_t(64) << 20};

/// The traits of target `name`, "cpu" or "cuda"; none of another.
inline std::optional<TargetTraits> traitsOf(llvm::StringRef name) {
  if (name == "cpu")
    return cpuTraits;
  if (name == "cuda")
    return cudaTraits;
  return std::nullopt;
}

} // namespace tp::target

#endif // TP_LIB_CODEGEN_TARGETTRAITS_H
