//===- RuleCells.h - the cells of a sharding rule ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What there is to check about a rule, as cells of a table: how the op is split
// (`parallel`, `reduced`, ..., or `whole`), whether the chunks are even, and of
// which kind the partial values are that pass through it on another axis.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_INTERFACES_RULECELLS_H
#define TP_TEST_LIB_INTERFACES_RULECELLS_H

#include "tp/Interfaces/ShardingRule.h"
#include <set>
#include <string>

namespace tp {

/// `parallel even sum`: the way of splitting, the chunks, the kind or `none`.
using RuleCells = std::set<std::string>;

/// The cells that a check of `op` under `strategy` fills. The ways in which one
/// factor is split:
///   parallel, reduced, indexed: by the kind of the factor
///   broadcast: some operand lacks it
///   captured: a dimension of a table that the body reads at the loop's index
///   minor: it is not the first factor of some dimension
///   packed: in segments
///   nested: over several axes
///   two: another factor is split as well
RuleCells cellsOf(mlir::Operation *op, const ShardingRule &rule,
                  const Strategy &strategy);

/// The cells that the rule has on some mesh of one or two axes.
RuleCells cellsOf(mlir::Operation *op, const ShardingRule &rule);

/// Legal, and no tensor partial of two kinds, which the planner never makes.
bool isSensible(const ShardingRule &rule, const Strategy &strategy,
                const Mesh &mesh);

} // namespace tp

#endif // TP_TEST_LIB_INTERFACES_RULECELLS_H
