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
#include "Program/Buffers.h"
#include "tp/Codegen/CompiledManifest.h"
#include "tp/Codegen/DescribeLayout.h"
#include "tp/Codegen/ProgramStatistics.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/Runtime/Manifest.h"

namespace tp::target {

/// An entry's program on a rank, whose memory is planned and whose kernels are
/// emitted.
struct ManifestSource {
  mlir::func::FuncOp function;
  tp::Mesh mesh;
  MemorySizes memory;
  /// Where the entry's constants begin, behind those of earlier ones.
  int64_t constantsAt = 0;
  const AssertTable *asserts = nullptr;
  /// Bytes that a step writes, of allocations of which it writes a part.
  llvm::DenseMap<mlir::Value, int64_t> writtenBytes;
  /// GEMMs of f32 may round their operands to tf32.
  bool tf32 = false;
  runtime::Target target;
  int64_t scratchBytes = 0;
};

/// The manifest of docs/artifact.md of all entries, checked. Fails with a
/// located error at what it cannot express.
mlir::FailureOr<CompiledManifest>
makeManifest(llvm::ArrayRef<ManifestSource> entries);

/// The place of a buffer's first element, in the manifest's terms. With
/// `wholeBuffer` that of the memory that it is a view of.
runtime::BufferRef bufferRef(const Buffers &buffers, mlir::Value buffer,
                             bool wholeBuffer = false);

/// An attention but for its steps, and a backward pass.
mlir::FailureOr<runtime::AttentionCommand>
describeAttention(tp::AttentionOp op, const Buffers &buffers);
mlir::FailureOr<runtime::AttentionBackwardCommand>
describeAttention(tp::AttentionBackwardOp op, const Buffers &buffers);

/// The rank groups of the program and of earlier ones, its collectives, and the
/// command of every collective.
struct CollectiveTables {
  std::vector<runtime::RankGroup> groups;
  std::vector<runtime::Collective> collectives;
  /// tp.cause of every collective, or null.
  std::vector<mlir::Attribute> causes;
  llvm::DenseMap<mlir::Operation *, runtime::CollectiveCommand> commands;
};
/// A collective moves `outer` blocks of `block` elements; what docs/artifact.md
/// says of them.
struct CollectiveBlocks {
  int64_t outer = 1, block = 1;
};
CollectiveBlocks blocksOf(mlir::Operation *collective);
mlir::FailureOr<CollectiveTables>
describeCollectives(const ManifestSource &program,
                    std::vector<runtime::RankGroup> groups);

/// The commands of the entry, in order. Fails with an error at a GEMM that no
/// library can do.
mlir::FailureOr<std::vector<runtime::Command>>
describeCommands(const ManifestSource &program, const CollectiveTables &tables);

/// Adds to the described commands the queues that run them, and the waits,
/// where the program has some.
mlir::LogicalResult describeQueues(const ManifestSource &program,
                                   runtime::Entry &entry);

/// Tells where ranks agree on the assertions of a step of the entry, if all of
/// them come before what writes arguments. For the CPU, whose ranks may end a
/// step anywhere.
void describeChecks(llvm::ArrayRef<ManifestSource> programs,
                    runtime::Manifest &manifest, int64_t entry);

/// The bytes of a rank's program, of its memory and of its collectives.
ProgramStatistics statisticsOf(const ManifestSource &program);
/// Of a rank that has all entries: what they share once, and the arena of the
/// one that needs most.
ProgramStatistics statisticsOf(llvm::ArrayRef<ManifestSource> entries);

/// The bytes of all constants, each at its offset.
std::string constantBytes(llvm::ArrayRef<ManifestSource> entries);

/// Adds what the results of a described entry update.
mlir::LogicalResult describeUpdates(const ManifestSource &program,
                                    const runtime::Manifest &manifest,
                                    runtime::Entry &entry);

runtime::DataType dataTypeOf(mlir::Type type);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ARTIFACT_MAKEMANIFEST_H
