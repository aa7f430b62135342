//===- CollectiveCauses.h - why a collective is there -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about the collectives of an assignment that only tp-propagate knows:
// the pins that require the two layouts between which a value changes, and the
// next best assignment without that change.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_DIAGNOSTICS_COLLECTIVECAUSES_H
#define TP_LIB_TRANSFORMS_PROPAGATE_DIAGNOSTICS_COLLECTIVECAUSES_H

#include "Problem/AxisModel.h"

namespace tp::propagate {

/// The assignment of one axis part. Of several they are in the order in which
/// they were solved.
struct PartSolution {
  unsigned part = 0;
  AxisModel model;
  AxisSolution solution;
};

/// A collective of one part's assignment.
struct CostedCollective {
  unsigned part = 0;
  PlannedCollective made;
  /// That a rank sends, each time.
  int64_t ringBytes = 0;
  int64_t picoseconds = 0;
  /// How often it runs in a step: as often as the loop that it is in.
  int64_t times = 1;
};

/// All of a part, in the order of the values. Unlike in the costs that tp
/// minimizes, bytes are those of blocks with their padding.
std::vector<CostedCollective> costedCollectives(const AssignmentGraph &graph,
                                                const PartSolution &solved);

struct Cause {
  CostedCollective collective;
  /// Uses of the collective's result, or of a part of it.
  llvm::SmallVector<SlotUse, 2> uses;
  /// Nodes whose pins cause the layouts after and before the change: the first
  /// pins found from either end along values that the part shards, and, if none
  /// of them has the layout after the change, the nearest pin after the uses
  /// that does. At most eight, in the order of the walk.
  llvm::SmallVector<unsigned, 4> pins;
  /// Arguments that are weights and whole on every rank, though ops on the walk
  /// that divide other values read them. At most eight.
  llvm::SmallVector<unsigned, 4> wholeWeights;
  /// Arguments met on the walk that no pin but tp itself divides, with their
  /// layouts. At most eight, the nearest before and behind the collective in
  /// turns.
  llvm::SmallVector<std::pair<unsigned, Placement>, 4> chosen;
  /// The shard of a reduced value that is all that its readers take.
  std::optional<Placement> taken;
};

/// The node of the argument that `value` is, or is computed from alone through
/// weights. `producers` has the node of each value.
std::optional<unsigned> argumentBehind(const AssignmentGraph &graph,
                                       llvm::ArrayRef<unsigned> producers,
                                       unsigned value);

/// The causes of all collectives of a part, in the order of the values.
std::vector<Cause> causesOf(const AssignmentGraph &graph,
                            const PartSolution &solved);

/// The next best assignment: the one without the cause's collective, here and
/// on both sides of pins of this value.
struct NextBest {
  enum class Outcome {
    Found,
    /// The pins leave no other choice.
    None,
    /// The solver's tables may not be as large as a proof takes.
    TooLarge,
    /// More collectives are explained than 'explain-limit'.
    NotTried
  };
  Outcome outcome = Outcome::NotTried;
  /// Differences of the bytes that a rank sends in a step, with padding, and of
  /// the time of communication and compute.
  int64_t ringBytes = 0, picoseconds = 0;
  /// Collectives that the next best assignment adds and removes.
  std::vector<CostedCollective> added, removed;
};

/// The rows of `tp.bindings` of the module around the function.
llvm::SmallVector<mlir::DictionaryAttr> bindingsOf(mlir::func::FuncOp func);

/// What to write in the plan so that an entry asks for a collective.
struct Advice {
  mlir::Location at;
  /// `'tp.result 0 replicate' in the plan`; empty where no entry names the
  /// value.
  std::string text;
  /// Other entries at which the same text belongs.
  llvm::SmallVector<mlir::Location, 2> alsoAt = {};
};
/// Nothing if an entry asks for the collective.
std::optional<Advice> adviceOnImplicit(const AssignmentGraph &graph,
                                       const Cause &cause);

/// The option of the entry that pins a reduced value to the whole, with which
/// it is reduced to the shard that its readers take (`Cause::taken`).
std::optional<Advice> adviceOnTaken(const AssignmentGraph &graph,
                                    const Cause &cause);

/// Whether a part has a collective that no use of it asks for.
bool hasImplicitCollectives(const AssignmentGraph &graph,
                            const PartSolution &solved);
/// An error for each of them.
void reportImplicitCollectives(const AssignmentGraph &graph,
                               const PartSolution &solved);

/// `solved`: all parts; `at`: the one of `cause`. Parts solved before it stay,
/// those after it are solved again.
NextBest nextBest(const AssignmentGraph &graph,
                  llvm::ArrayRef<PartSolution> solved, size_t at,
                  const Cause &cause, const AssignmentOptions &options,
                  const AssignmentLimits &limits);

/// Finds causes of all parts, and the next best choice for the first `limit` of
/// them, and writes them as `tp.causes` on the ops that make the values.
/// `remarks` also prints them.
void explainCollectives(AssignmentGraph &graph,
                        llvm::ArrayRef<PartSolution> solved,
                        const AssignmentOptions &options,
                        const AssignmentLimits &limits, int64_t limit,
                        bool remarks);

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_DIAGNOSTICS_COLLECTIVECAUSES_H
