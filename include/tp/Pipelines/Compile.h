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

/// What tp-compile is asked for (docs/command-lines.md).
struct CompileOptions {
  std::string model;
  /// Without a plan the program is compiled for one rank, or, if it carries
  /// pins of its own (what tp-apply-plan writes), as these say.
  PartitionOptions partition;
  /// `cpu` or `cuda`.
  std::string target = "cpu";
  std::string targetCPU = "native";
  /// CUDA: what code is made for (CompileForCUDA.h).
  std::vector<std::string> chips = {"sm_90"};
  /// cuda: products of f32 may round their operands to tf32.
  bool tf32 = false;
  /// Where the plan goes with what tp chose; `-` is standard output.
  std::string writePlan;
  /// Bytes that a rank may hold: `16GiB`, `80GB`, `1000`; empty: under the plan
  /// `auto` what the hardware has, if a description was given.
  std::string memoryLimit;
  /// What the scores of one step of an attention may take, of `cuda`; the
  /// target's own choice if empty.
  std::string attentionMemory;
  /// Where the artifact goes; empty: nowhere, only the checks are made.
  std::string output;
  /// Where the report goes: .json, .html, otherwise text; `-` is standard
  /// output, as text.
  std::string report;
  /// Where the explanation of all collectives goes: .json, otherwise text; `-`
  /// is standard output, as text.
  std::string explain;
  /// Another plan: prints what differs from this one's report to it.
  std::string compare;
  /// `VALUE=LAYOUT` (tp-apply-plan): prints what differs with this value pinned
  /// otherwise.
  std::string whatIf;
  /// Folder for the program after every stage, as N-stage.mlir.
  std::string dumpStages;
  /// Runs the simulator after every stage from tp-materialize on.
  bool verify = false;
  unsigned verifySeed = 1;
};

/// The dialects, rules and translations that `compile` needs.
void registerCompileDialects(mlir::DialectRegistry &registry);

/// Compiles `options.model`. Nothing is written where it fails, and everything
/// that failed has been said in a located error.
llvm::LogicalResult compile(mlir::MLIRContext &context,
                            const CompileOptions &options);

} // namespace tp

#endif // TP_PIPELINES_COMPILE_H
