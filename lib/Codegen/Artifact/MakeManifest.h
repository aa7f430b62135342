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
#include "tp/Codegen/ProgramStatistics.h"
#include "tp/IR/ModuleLocation.h"
#include "llvm/Support/JSON.h"

namespace tp::target {

/// One kernel command: its symbol and the values its parameters are.
struct KernelCall {
  std::string function;
  llvm::SmallVector<mlir::Value> buffers;
  /// Further fields of its command: how the target launches it.
  llvm::json::Object launch;
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
  /// The manifest's `target`.
  llvm::json::Object target;
  int64_t scratchBytes = 0;
};

/// The manifest of docs/artifact.md. Fails with a located error at what it
/// cannot express.
mlir::FailureOr<llvm::json::Object> makeManifest(const ManifestSource &program,
                                                 ProgramStatistics &statistics);

/// The buffer that holds `value`, in the manifest's terms.
llvm::json::Object bufferOf(const Storage &storage, int64_t extraBytes = 0);

/// The program's kernels and collectives: two arrays of the manifest, and the
/// command of every collective.
struct CollectiveTables {
  llvm::json::Array groups, collectives;
  llvm::DenseMap<mlir::Operation *, llvm::json::Object> commands;
};
/// Bytes that a rank sends for a collective on a ring.
int64_t ringBytesOf(mlir::Operation *collective);
mlir::FailureOr<CollectiveTables>
describeCollectives(const ManifestSource &program);

llvm::StringRef dtypeName(mlir::Type type);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ARTIFACT_MAKEMANIFEST_H
