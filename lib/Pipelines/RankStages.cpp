//===- RankStages.cpp - from a rank's function to its program -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankStages.h"
#include "tp/Codegen/BackEndStages.h"
#include "tp/Codegen/CUDA/CUDAPasses.h"
#include "tp/Codegen/CodegenPasses.h"

std::vector<tp::RankStage> tp::weightStages(const ProgramOptions &options) {
  std::vector<RankStage> stages;
  if (!options.weightStorage.empty())
    stages.push_back(
        {"store-weights",
         createStoreWeights({options.target, options.weightStorage})});
  if (options.mergeGemms)
    stages.push_back({"merge-gemms", createMergeGemms({options.target})});
  return stages;
}

std::vector<tp::RankStage> tp::rankStages(const std::string &target,
                                          int64_t scoreBytes) {
  std::vector<RankStage> stages;
  if (target == "cuda")
    stages.push_back({"", createCUDAReductionTypes()});
  for (const target::BackEndStage &stage : target::backEndStages(target))
    stages.push_back({stage.name, stage.createPass({target, scoreBytes})});
  stages.push_back({"plan-memory", createPlanMemory({target})});
  if (target == "cuda") {
    stages.push_back({"map-kernels", createMapKernels()});
    stages.push_back({"insert-waits", createInsertWaits()});
  }
  return stages;
}
