//===- CheaperPlans.h - changes of entries that send less -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which change of a plan's entries sends fewer bytes: colwise for rowwise, or
// rowwise for colwise, of one entry or of two around a collective, or the same
// style without the layouts that the entry states; an entry of another style
// goes. Each is tried (PlanTrials.h). A change counts only if a rank holds no
// more bytes of weights and if callers give and get the same layouts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_CHEAPERPLANS_H
#define TP_LIB_PIPELINES_CHEAPERPLANS_H

#include "PlanTrials.h"
#include <set>

namespace tp {

class CheaperPlans {
public:
  /// Entries of one collective, as `file:line:column`.
  using Places = std::vector<std::string>;

  explicit CheaperPlans(PlanTrials &trials) : trials(trials) {}

  /// Each of these entries with the next one.
  static std::vector<Places> neighbours(llvm::ArrayRef<std::string> places);

  /// Tries changes of the entries of each group, and of two that follow one
  /// another in it.
  void search(llvm::ArrayRef<Places> groups);
  /// Tries options that an entry gets on top of its own: its module's output
  /// as those that read it take it. Before `search`.
  void searchOutputs(llvm::ArrayRef<PlanEdit> edits);

  struct Change {
    /// What the edits of the entries are for the plan's reader.
    std::string text;
    std::vector<PlanEdit> edits;
    /// What a rank sends less.
    int64_t saved = 0;
    bool changes(llvm::StringRef place) const;
  };
  /// The best first.
  llvm::ArrayRef<Change> found() const { return cheaper; }

  /// How many of the changes that were tried change an entry of these.
  unsigned numTried(llvm::ArrayRef<std::string> places) const;

  /// What was tried, and the best of it.
  std::string summary() const;

private:
  unsigned total() const {
    return outputs + styles + withoutLayouts + removals + pairs;
  }
  bool isSound(const TrialPartition &trial) const;
  void tryChange(llvm::ArrayRef<PlanEdit> edits, unsigned &count);
  /// Changes of one entry to its style's counterpart.
  std::vector<PlanEdit> otherStyles(llvm::StringRef place) const;

  PlanTrials &trials;
  std::optional<TrialPartition> before;
  std::vector<Change> cheaper;
  /// The entries of each change that was tried.
  std::vector<Places> tried;
  std::set<std::string> seen;
  unsigned outputs = 0, styles = 0, withoutLayouts = 0, removals = 0, pairs = 0,
           failures = 0;
  bool isStopped = false;
  /// What the best of the others sends more.
  std::optional<int64_t> least;
};

/// Writes into each cause of `report` the best change of its entries that sends
/// less, and returns what was tried.
std::string adviseCheaper(llvm::json::Object &report, PlanTrials &trials);

/// Runs `run`. If it fails because of collectives that no entry asks for, an
/// entry that its errors name is tried otherwise; a remark at it states the
/// change that leaves no such collective and sends less, if there is one.
/// `model`: before tp-legalize, or null if `options` allow such collectives.
mlir::LogicalResult
remarkingCheaper(mlir::ModuleOp model, const PartitionOptions &options,
                 llvm::function_ref<mlir::LogicalResult()> run);

} // namespace tp

#endif // TP_LIB_PIPELINES_CHEAPERPLANS_H
