//===- MakeManifest.h - the artifact's manifest -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ARTIFACT_MAKEMANIFEST_H
#define TP_LIB_CODEGEN_ARTIFACT_MAKEMANIFEST_H

#include "Emit/ElementEmitter.h"
#include "Memory/MemoryPlan.h"
#include "tp/Codegen/CompiledManifest.h"
#include "tp/Codegen/DescribeLayout.h"
#include "tp/Codegen/ProgramStatistics.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/Runtime/Manifest.h"

namespace tp::target {

/// One kernel command: its symbol and the values its parameters are.
struct KernelCall {
  std::string function;
  llvm::SmallVector<mlir::Value> buffers;
  /// How a target with launches launches it; accesses are found later.
  std::optional<runtime::Launch> launch;
};

struct ManifestSource {
  TargetTraits traits;
  mlir::func::FuncOp function;
  tp::Mesh mesh;
  const StoragePlan *plan = nullptr;
  const Schedule *schedule = nullptr;
  const MemoryPlan *memory = nullptr;
  AssertTable *asserts = nullptr;
  /// One per command; empty for GEMMs and collectives.
  std::vector<KernelCall> kernels;
  /// GEMMs of f32 may round their operands to tf32.
  bool tf32 = false;
  runtime::Target target;
  int64_t scratchBytes = 0;
};

/// The manifest of docs/artifact.md, checked. Fails with a located error at
/// what it cannot express.
mlir::FailureOr<CompiledManifest> makeManifest(const ManifestSource &program,
                                               ProgramStatistics &statistics);

/// The buffer that holds `value`, in the manifest's terms.
runtime::BufferRef bufferOf(const Storage &storage, int64_t extraBytes = 0);

/// The program's rank groups and collectives, and the command of every
/// collective.
struct CollectiveTables {
  std::vector<runtime::RankGroup> groups;
  std::vector<runtime::Collective> collectives;
  /// tp.cause of every collective, or null.
  std::vector<mlir::Attribute> causes;
  llvm::DenseMap<mlir::Operation *, runtime::CollectiveCommand> commands;
};
/// Bytes that a rank sends for a collective on a ring.
int64_t ringBytesOf(mlir::Operation *collective);
mlir::FailureOr<CollectiveTables>
describeCollectives(const ManifestSource &program);

/// Adds what the results of a described entry update.
mlir::LogicalResult describeUpdates(mlir::func::FuncOp function,
                                    const runtime::Manifest &manifest,
                                    runtime::Entry &entry);

runtime::DataType dataTypeOf(mlir::Type type);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ARTIFACT_MAKEMANIFEST_H
