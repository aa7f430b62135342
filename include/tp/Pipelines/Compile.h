//===- Compile.h - from files to an artifact --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PIPELINES_COMPILE_H
#define TP_PIPELINES_COMPILE_H

#include "mlir/IR/MLIRContext.h"
#include "tp/Pipelines/Pipelines.h"

namespace tp {

/// What is compiled, and for which target.
struct ProgramOptions {
  std::string model;
  /// Without a plan the program is compiled for one rank, or, if it has pins of
  /// its own (as tp-apply-plan writes them), by these pins.
  PartitionOptions partition;
  /// `cpu` or `cuda`.
  std::string target = "cpu";
  std::string targetCPU = "native";
  /// CUDA: the chips to make code for (CompileForCUDA.h).
  std::vector<std::string> chips = {"sm_90"};
  /// cuda: GEMMs of f32 may round their operands to tf32.
  bool tf32 = false;
  /// cuda: limit of the bytes of scores in one attention step; the target's
  /// default if empty.
  std::string attentionMemory;
  /// cpu: the type that parameters of f32 are rounded to when they are loaded,
  /// `f16` or `bf16`; empty: they stay as they are.
  std::string weightStorage;
  /// Runs tp-merge-gemms.
  bool mergeGemms = false;
};

/// The options of tp-compile (docs/command-lines.md): a program, and what is
/// checked and written.
struct CompileOptions : ProgramOptions {
  /// File for the plan with tp's choices; `-` is standard output.
  std::string writePlan;
  /// Limit of the bytes per rank: `16GiB`, `80GB`, `1000`. Empty: under the
  /// plan `auto` the memory of the hardware, if a description was given.
  std::string memoryLimit;
  /// A weight of two or more dimensions that no plan entry names and that every
  /// rank holds whole is an error.
  bool noUnnamedWeights = false;
  /// File for the artifact; empty: only the checks run.
  std::string output;
  /// File for the report: .json, .html, or text; `-` is standard output, as
  /// text.
  std::string report;
  /// File for the explanation of all collectives: .json or text; `-` is
  /// standard output, as text.
  std::string explain;
  /// Another plan: prints how its report differs.
  std::string compare;
  /// `VALUE=LAYOUT` (tp-apply-plan): prints how the report differs with this
  /// value pinned to this layout.
  std::string whatIf;
  /// Folder for the program after every stage, as N-stage.mlir.
  std::string dumpStages;
  /// These files have locations and the numbers of values (`tp.values`) too.
  /// The stages that follow make the same artifact of such a file; without them
  /// it has no names of modules, and the simulator checks less.
  bool dumpDetails = false;
  /// Runs the simulator after every stage from tp-materialize on.
  bool verify = false;
  unsigned verifySeed = 1;
};

/// The dialects, rules and translations that `compile` needs.
void registerCompileDialects(mlir::DialectRegistry &registry);

/// Compiles `options.model`. If it fails, it has reported located errors and
/// written nothing.
llvm::LogicalResult compile(mlir::MLIRContext &context,
                            const CompileOptions &options);

} // namespace tp

#endif // TP_PIPELINES_COMPILE_H
