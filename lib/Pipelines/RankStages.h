//===- RankStages.h - from a rank's function to its program -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_RANKSTAGES_H
#define TP_LIB_PIPELINES_RANKSTAGES_H

#include "mlir/Pass/Pass.h"
#include "tp/Pipelines/Compile.h"
#include <vector>

namespace tp {

/// A pass on what a rank runs, and the name of what it leaves; none where
/// --dump-stages leaves it out.
struct RankStage {
  llvm::StringRef name;
  std::unique_ptr<mlir::Pass> pass;
};

/// The passes on weights that the options ask for, in order; they come before
/// those of rankStages.
std::vector<RankStage> weightStages(const ProgramOptions &options);

/// The passes of a target between tp-partition and the artifact, in order.
/// `scoreBytes` limits what one step of an attention computes.
std::vector<RankStage> rankStages(const std::string &target,
                                  int64_t scoreBytes);

} // namespace tp

#endif // TP_LIB_PIPELINES_RANKSTAGES_H
