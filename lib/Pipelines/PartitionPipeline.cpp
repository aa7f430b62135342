//===- PartitionPipeline.cpp - from a plan to the per-rank program --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Transforms/Layers/LayersPasses.h"
#include "tp/Transforms/Legalize/LegalizePasses.h"
#include "tp/Transforms/Normalize/NormalizePasses.h"
#include "tp/Transforms/Partition/PartitionPasses.h"
#include "tp/Transforms/Plan/PlanPasses.h"
#include "tp/Transforms/Propagate/PropagatePasses.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"

using namespace mlir;
using namespace tp;

static const PipelineStage stages[] = {
    {"legalize",
     [](OpPassManager &manager, const PartitionOptions &options) {
       if (options.unrollLimit)
         manager.addPass(createOutlineLoops({.limit = *options.unrollLimit}));
       manager.addPass(createLegalize());
       manager.addPass(createVerifyLegal());
     },
     /*seesAllLayers=*/true},
    {"apply-plan",
     [](OpPassManager &manager, const PartitionOptions &options) {
       ApplyPlanOptions plan;
       plan.plan = options.plan;
       plan.mesh = options.mesh;
       plan.strict = options.strict;
       plan.whatIf = options.whatIf;
       plan.entryLocations = options.explain;
       manager.addPass(createApplyPlan(plan));
       manager.addPass(createRecompute({.modules = options.recompute}));
       manager.addPass(createVerifyBound());
     },
     // The plan says what is alike.
     /*seesAllLayers=*/true},
    {"normalize",
     [](OpPassManager &manager, const PartitionOptions &) {
       manager.addPass(createNormalize());
       manager.addPass(createVerifyNormalForm());
     }},
    {"propagate",
     [](OpPassManager &manager, const PartitionOptions &options) {
       manager.addPass(createPropagate(
           {.replicateUnknown = options.replicateUnknown,
            .remarks = options.remarks,
            .explain = options.explain,
            .noImplicitCollectives = options.noImplicitCollectives,
            .bytePrice = options.bytePrice,
            .objective = options.objective,
            .hardware = options.hardware}));
       manager.addPass(createVerifyAssignment());
       if (options.writePlan.empty())
         return;
       manager.addPass(createWritePlan({.file = options.writePlan,
                                        .plan = options.plan,
                                        .mesh = options.mesh,
                                        .entries = options.writtenEntries,
                                        .recompute = options.recompute}));
     }},
    {"materialize",
     [](OpPassManager &manager, const PartitionOptions &) {
       manager.addPass(createMaterialize());
       manager.addPass(createHoistRedistributions());
       manager.addPass(createVerifyMaterialized());
     }},
    {"insert-collectives",
     [](OpPassManager &manager, const PartitionOptions &) {
       manager.addPass(createInsertCollectives());
       manager.addPass(createVerifyCollectives());
     }},
    {"partition",
     [](OpPassManager &manager, const PartitionOptions &) {
       manager.addPass(createPartition());
       manager.addPass(createVerifyPartitioned());
     }},
    {"bucket-collectives",
     [](OpPassManager &manager, const PartitionOptions &options) {
       manager.addPass(createBucketCollectives({.hardware = options.hardware}));
       manager.addPass(createVerifyPartitioned());
     },
     /*seesAllLayers=*/true},
};

ArrayRef<PipelineStage> tp::partitionStages() { return stages; }

/// What the target does to functions on tensors.
static OpPassManager onTensors(const PartitionOptions &options) {
  OpPassManager manager(ModuleOp::getOperationName());
  if (!options.backEnd)
    return manager;
  for (const target::BackEndStage &stage :
       target::backEndStages(options.backEnd->target))
    if (stage.isOnTensors)
      manager.addPass(stage.createPass(*options.backEnd));
  return manager;
}

static void addStages(ArrayRef<PipelineStage> added, OpPassManager &manager,
                      const PartitionOptions &options) {
  OpPassManager onFewLayers(ModuleOp::getOperationName());
  for (const PipelineStage &stage : added) {
    if (stage.name == "apply-plan" && options.hasOwnPins)
      continue;
    bool seesAllLayers = stage.seesAllLayers || !options.writePlan.empty();
    if (seesAllLayers && !onFewLayers.empty()) {
      manager.addPass(
          createRepeatLayers(std::move(onFewLayers), onTensors(options)));
      onFewLayers = OpPassManager(ModuleOp::getOperationName());
    }
    stage.build(seesAllLayers ? manager : onFewLayers, options);
  }
}

void tp::buildPartitionPipeline(OpPassManager &manager,
                                const PartitionOptions &options) {
  addStages(stages, manager, options);
}

LogicalResult tp::runPartitionPipeline(ModuleOp module,
                                       const PartitionOptions &options) {
  ArrayRef<PipelineStage> all = stages;
  ArrayRef<PipelineStage> before = all.take_while(
      [](const PipelineStage &stage) { return stage.seesAllLayers; });
  // What they make is verified after tp-normalize, in the layers that stand for
  // all; in every layer that takes longer than the stages.
  PassManager first(module.getContext());
  first.enableVerifier(false);
  addStages(before, first, options);
  PassManager rest(module.getContext());
  addStages(all.drop_front(before.size()), rest, options);
  return failure(failed(first.run(module)) || failed(rest.run(module)));
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> plan{*this, "plan", llvm::cl::desc("The plan file")};
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("Sizes that override the plan's: tp=4 or dp=2,tp=4")};
  Option<std::string> hardware{
      *this, "hardware",
      llvm::cl::desc("The machine that costs are for: a file or a name"),
      llvm::cl::init("default")};
  Option<std::string> objective{
      *this, "objective",
      llvm::cl::desc("What is minimized: communication or time"),
      llvm::cl::init("communication")};
  Option<bool> strict{*this, "strict",
                      llvm::cl::desc("A plan entry without effect is an error"),
                      llvm::cl::init(false)};
  Option<bool> replicateUnknown{
      *this, "replicate-unknown",
      llvm::cl::desc("Replicate ops that have no sharding rule, with a remark, "
                     "instead of failing"),
      llvm::cl::init(false)};
};
} // namespace

void tp::registerPartitionPipeline() {
  PassPipelineRegistration<PipelineOptions>(
      "tp-partition-pipeline",
      "From a model and a plan to the program that every rank runs",
      [](OpPassManager &manager, const PipelineOptions &options) {
        PartitionOptions partition;
        partition.plan = options.plan;
        partition.mesh = options.mesh;
        partition.hardware = options.hardware;
        partition.objective = options.objective;
        partition.strict = options.strict;
        partition.replicateUnknown = options.replicateUnknown;
        buildPartitionPipeline(manager, partition);
      });
}
