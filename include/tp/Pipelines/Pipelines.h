//===- Pipelines.h - named sequences of passes ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PIPELINES_PIPELINES_H
#define TP_PIPELINES_PIPELINES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "tp/Codegen/BackEndStages.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace tp {

/// The options of the passes from legalization to the partitioned program.
struct PartitionOptions {
  /// The plan file, or `auto` (docs/plans.md).
  std::string plan;
  /// The file that tp-write-plan writes (empty: it does not run), and whether
  /// its entries name modules or ports.
  std::string writePlan, writtenEntries = "modules";
  /// The cost of a byte that a rank holds (tp-propagate).
  double bytePrice = 0;
  /// Modules that tp chose to compute again in the backward pass, as patterns
  /// of plan entries (tp-recompute).
  llvm::SmallVector<std::string> recompute;
  /// Sizes that override the plan's: `tp=4` or `dp=2,tp=4`.
  std::string mesh;
  /// Ops without a sharding rule are replicated, with a remark, instead of
  /// being an error.
  bool replicateUnknown = false;
  /// The machine that costs are for: a file, or a name (Hardware.h).
  std::string hardware = "default";
  /// What is minimized: `communication` or `time` (docs/propagate.md).
  std::string objective = "communication";
  /// Collectives get their causes (tp/IR/CauseAttributes.h); `remarks` prints
  /// them too.
  bool explain = false, remarks = false;
  /// A collective that no plan entry asks for is an error (docs/plans.md).
  bool noImplicitCollectives = false;
  /// A value that is pinned differently from the plan (tp-apply-plan).
  std::string whatIf;
  /// A plan entry without effect (it changes no layout) is an error.
  bool strict = false;
  /// Loops of which unrolling would make more ops are kept (tp-outline-loops);
  /// without it all are unrolled. For the CPU alone.
  std::optional<int64_t> unrollLimit;
  /// With it the stages of the back end on tensors run too, where layers repeat
  /// (tp-repeat-layers), on the layers kept.
  std::optional<target::BackEndOptions> backEnd;
  /// The input already has pins, as after tp-apply-plan.
  bool hasOwnPins = false;
};

/// One stage of the pipeline from a model to the per-rank program: its passes,
/// and the verify pass that states its exit contract.
struct PipelineStage {
  llvm::StringRef name;
  void (*build)(mlir::OpPassManager &, const PartitionOptions &);
  /// It needs all layers, including those that tp-repeat-layers leaves out.
  bool seesAllLayers = false;
};

/// legalize, apply-plan, normalize, propagate, materialize, insert-collectives,
/// partition, bucket-collectives, in this order.
llvm::ArrayRef<PipelineStage> partitionStages();

/// Every stage, each followed by its verify pass. Stages that do not need all
/// layers run under tp-repeat-layers, unless a plan is written, which names all
/// layers.
void buildPartitionPipeline(mlir::OpPassManager &manager,
                            const PartitionOptions &options);

/// Runs these stages on `module`.
llvm::LogicalResult runPartitionPipeline(mlir::ModuleOp module,
                                         const PartitionOptions &options);

/// Registers `tp-partition-pipeline{plan=FILE mesh=tp=4}`.
void registerPartitionPipeline();

/// Registers every pass and pipeline of tp.
void registerAllPasses();

/// What `--version` of a tool of the compiler prints: tp's version and LLVM's.
void printVersion(llvm::raw_ostream &os);

} // namespace tp

#endif // TP_PIPELINES_PIPELINES_H
