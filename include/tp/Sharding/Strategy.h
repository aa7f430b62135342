//===- Strategy.h - what one op does on every axis --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy of an op, free of IR. It refers to factors and operand slots by
// their numbers in the op's sharding rule (tp/Interfaces/ShardingRule.h).
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_STRATEGY_H
#define TP_SHARDING_STRATEGY_H

#include "tp/Sharding/Layout.h"

namespace tp {

enum class ChoiceKind {
  /// Every rank does all of the op; operands and results are replicated.
  Replicate,
  /// One factor is split: operands and results that have it are sharded; where
  /// the factor reduces, results (and their inits) are partial. A packed factor
  /// may be split segment by segment.
  Split,
  /// Partial values pass through: the named operand slots and all results are
  /// partial, other operands replicated.
  Passthrough,
};

/// What an op does on one axis part.
struct Choice {
  ChoiceKind kind = ChoiceKind::Replicate;
  unsigned factor = 0;
  ReductionKind reduction = ReductionKind::Sum;
  std::vector<unsigned> slots;
  /// Split: the sizes of the factor's segments, each of which is split by
  /// itself (empty: the factor is one segment).
  std::vector<int64_t> segments;

  static Choice replicate() { return {}; }
  static Choice split(unsigned factor, std::vector<int64_t> segments = {}) {
    return {
        ChoiceKind::Split, factor, ReductionKind::Sum, {}, std::move(segments)};
  }
  static Choice passthrough(ReductionKind reduction,
                            std::vector<unsigned> slots) {
    return {ChoiceKind::Passthrough, 0, reduction, std::move(slots), {}};
  }
  bool operator==(const Choice &) const = default;
};

struct AxisChoice {
  AxisPart part;
  Choice choice;
  bool operator==(const AxisChoice &) const = default;
};

/// A choice for every part of every axis. Of two entries that split the same
/// factor the earlier one is the major one.
struct Strategy {
  std::vector<AxisChoice> entries;

  static Strategy replicated(const Mesh &mesh);
  bool operator==(const Strategy &) const = default;
  /// The axis parts that split `factor`, major first.
  std::vector<AxisPart> partsSplitting(unsigned factor) const;
  /// The segments in which `factor` is split (empty: one, or not split).
  const std::vector<int64_t> &segmentsOf(unsigned factor) const;
  std::string toString(const Mesh &mesh) const;
};

std::string toString(const Choice &choice);
llvm::hash_code hash_value(const Choice &choice);
llvm::hash_code hash_value(const AxisChoice &entry);
llvm::hash_code hash_value(const Strategy &strategy);

} // namespace tp

#endif // TP_SHARDING_STRATEGY_H
