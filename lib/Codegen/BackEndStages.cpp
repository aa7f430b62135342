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

using namespace mlir;
using namespace tp::target;

/// A stage that changes one function after the other.
template <typename Change>
static LogicalResult changeEach(EntryFunctions &functions, Change change) {
  for (func::FuncOp function : functions)
    if (failed(change(function)))
      return failure();
  return success();
}

static const BackEndStage stages[] = {
    {"form-attention",
     [](const BackEndOptions &options) {
       return tp::createFormAttention({options.target, options.scoreBytes});
     },
     [](EntryFunctions &functions, const TargetTraits &traits) {
       return changeEach(functions, [&](func::FuncOp function) {
         return LogicalResult(formAttentions(function, traits));
       });
     },
     /*isOnTensors=*/true},
    {"skip-rows",
     [](const BackEndOptions &options) {
       return tp::createSkipRows({options.target});
     },
     [](EntryFunctions &functions, const TargetTraits &traits) {
       return changeEach(functions, [&](func::FuncOp function) {
         skipRows(function, traits);
         return success();
       });
     },
     /*isOnTensors=*/true,
     /*isOfRows=*/true},
    {"recompute-elements",
     [](const BackEndOptions &options) {
       return tp::createRecomputeElements({options.target});
     },
     [](EntryFunctions &functions, const TargetTraits &traits) {
       return changeEach(functions, [&](func::FuncOp function) {
         if (recomputeElements(function))
           cleanUp(function, traits);
         return success();
       });
     },
     /*isOnTensors=*/true},
    {"assign-storage",
     [](const BackEndOptions &options) {
       return tp::createAssignStorage({options.target});
     },
     [](EntryFunctions &functions, const TargetTraits &traits) {
       FailureOr<EntryFunctions> programs = formPrograms(functions, traits);
       if (succeeded(programs))
         functions = *programs;
       return LogicalResult(programs);
     }},
    {"form-scatters",
     [](const BackEndOptions &options) {
       return tp::createFormScatters({options.target});
     },
     [](EntryFunctions &functions, const TargetTraits &traits) {
       return changeEach(functions, [&](func::FuncOp program) {
         return formScatters(program, traits);
       });
     }},
    {"form-kernels",
     [](const BackEndOptions &options) {
       return tp::createFormKernels({options.target});
     },
     [](EntryFunctions &functions, const TargetTraits &traits) {
       return changeEach(functions, [&](func::FuncOp program) {
         return formKernels(program, traits);
       });
     }},
    {"update-in-place",
     [](const BackEndOptions &options) {
       return tp::createUpdateInPlace({options.target});
     },
     [](EntryFunctions &functions, const TargetTraits &traits) {
       return changeEach(functions, [&](func::FuncOp program) {
         // The plans of kernels hold until kernels are changed.
         KernelPlans kernels(traits);
         return updateInPlace(program, kernels);
       });
     }},
    {"schedule",
     [](const BackEndOptions &options) {
       return tp::createScheduleCommands({options.target});
     },
     [](EntryFunctions &functions, const TargetTraits &) {
       return changeEach(functions, scheduleCommands);
     }},
    {"write-parts",
     [](const BackEndOptions &options) {
       return tp::createWriteParts({options.target});
     },
     [](EntryFunctions &functions, const TargetTraits &traits) {
       return changeEach(functions, [&](func::FuncOp program) {
         return writeParts(program, traits);
       });
     }},
};

ArrayRef<BackEndStage> tp::target::backEndStages() { return stages; }
