//===- TargetTraits.h - in what the targets differ --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_TARGETTRAITS_H
#define TP_LIB_CODEGEN_TARGETTRAITS_H

#include "llvm/ADT/StringRef.h"

namespace tp::target {

/// What planning a per-rank program has to know of the target it is for.
struct TargetTraits {
  /// As diagnostics name it: "the CPU target".
  llvm::StringRef name;
  /// Bytes at whose multiples values begin in the arena and the constants.
  int64_t alignment;
  /// The order in which collectives add, in the manifest's words.
  llvm::StringRef reductionOrder;
  /// Its GEMMs take f16 and bf16 as they are, add in f32, and round what they
  /// made to the operands' type where the program does. Elsewhere operands are
  /// widened before.
  bool hasNarrowGemms = false;
  /// Its GEMMs add a matrix and a vector to their sums and apply GELU.
  bool hasEpilogues = false;
  /// Rows that leave much of a device idle: a reduction that has more by itself
  /// is not made to run in so few.
  int64_t fewRows = 0;
  /// Attentions are commands. What the scores of one step of one may take; 0
  /// where attentions are not looked for.
  int64_t scoreBytes = 0;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_TARGETTRAITS_H
