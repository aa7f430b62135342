//===- BackEndStages.cpp - decisions on what a rank runs ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Codegen/BackEndStages.h"
#include "Attention/Attention.h"
#include "CodegenPlan.h"
#include "Kernels/KernelGroups.h"
#include "Rows/SkipRows.h"
#include "Scatter/ScatterFinder.h"
#include "Schedule/CommandSchedule.h"
#include "tp/Codegen/CodegenPasses.h"
#include "tp/IR/CodegenAttributes.h"

using namespace mlir;
using namespace tp::target;

/// Changes one function after the other.
template <typename Change>
static LogicalResult changeEach(EntryFunctions &functions, Change change) {
  for (func::FuncOp function : functions)
    if (failed(change(function)))
      return failure();
  return success();
}

template <LogicalResult (*change)(func::FuncOp, const TargetTraits &)>
static LogicalResult changeEach(EntryFunctions &functions,
                                const TargetTraits &traits) {
  return changeEach(functions, [&](func::FuncOp function) {
    return change(function, traits);
  });
}

/// Makes a pass whose only option is the target.
template <typename Options, std::unique_ptr<Pass> (*create)(Options)>
static std::unique_ptr<Pass> createOf(const BackEndOptions &options) {
  return create({options.target});
}

static std::unique_ptr<Pass> createAttention(const BackEndOptions &options) {
  return tp::createFormAttention({options.target, options.scoreBytes});
}

static LogicalResult formAttention(func::FuncOp function,
                                   const TargetTraits &traits) {
  return formAttentions(function, traits);
}

static LogicalResult leaveRows(func::FuncOp function,
                               const TargetTraits &traits) {
  skipRows(function, traits);
  return success();
}

static LogicalResult recompute(func::FuncOp function,
                               const TargetTraits &traits) {
  if (recomputeElements(function))
    cleanUp(function, traits);
  return success();
}

static LogicalResult assignStorage(EntryFunctions &functions,
                                   const TargetTraits &traits) {
  FailureOr<EntryFunctions> programs = formPrograms(functions, traits);
  if (succeeded(programs))
    functions = *programs;
  return programs;
}

static LogicalResult update(func::FuncOp program, const TargetTraits &traits) {
  // The plans of kernels hold until kernels are changed.
  KernelPlans kernels(traits);
  return updateInPlace(program, kernels);
}

static LogicalResult schedule(func::FuncOp program, const TargetTraits &) {
  return scheduleCommands(program);
}

static const BackEndStage stages[] = {
    {"form-attention", createAttention, changeEach<formAttention>,
     /*isOnTensors=*/true},
    {"skip-rows", createOf<tp::SkipRowsOptions, tp::createSkipRows>,
     changeEach<leaveRows>, /*isOnTensors=*/true, /*isOfRows=*/true},
    {"recompute-elements",
     createOf<tp::RecomputeElementsOptions, tp::createRecomputeElements>,
     changeEach<recompute>, /*isOnTensors=*/true},
    {"assign-storage",
     createOf<tp::AssignStorageOptions, tp::createAssignStorage>,
     assignStorage},
    {"form-scatters", createOf<tp::FormScattersOptions, tp::createFormScatters>,
     changeEach<formScatters>},
    {"form-kernels", createOf<tp::FormKernelsOptions, tp::createFormKernels>,
     changeEach<formKernels>},
    {"update-in-place",
     createOf<tp::UpdateInPlaceOptions, tp::createUpdateInPlace>,
     changeEach<update>},
    {"schedule",
     createOf<tp::ScheduleCommandsOptions, tp::createScheduleCommands>,
     changeEach<schedule>},
    {"write-parts", createOf<tp::WritePartsOptions, tp::createWriteParts>,
     changeEach<writeParts>},
};

SmallVector<BackEndStage>
tp::target::backEndStages(const TargetTraits &traits) {
  return llvm::to_vector(
      llvm::make_filter_range(ArrayRef(stages), [&](const BackEndStage &stage) {
        return traits.leavesRows || !stage.isOfRows;
      }));
}

SmallVector<BackEndStage> tp::target::backEndStages(StringRef target) {
  std::optional<TargetTraits> traits = traitsOf(target);
  return traits ? backEndStages(*traits) : SmallVector<BackEndStage>();
}

void tp::target::forgetStagesRun(ModuleOp module) {
  module->removeAttr(tp::attr::onTensorsDone);
}
