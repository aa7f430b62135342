//===- CodegenPlan.h - a rank's program, planned ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of code generation that all targets share: a module with one
// function on local static shapes becomes kernels, GEMMs and collectives in
// order, and every stored value gets memory.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CODEGENPLAN_H
#define TP_LIB_CODEGEN_CODEGENPLAN_H

#include "Artifact/MakeManifest.h"

namespace tp::target {

/// Folds and simplifies a per-rank function on plain tensor types.
void cleanUp(mlir::func::FuncOp function, const TargetTraits &traits);

/// Contractions that widen operands that a GEMM of the target cannot multiply
/// read operands widened before.
void populateWidenContractions(mlir::RewritePatternSet &patterns,
                               const TargetTraits &traits);

/// The functions of the module, all of them public: its entries.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
entriesOf(mlir::ModuleOp module, const TargetTraits &traits);

/// The module's mesh; one rank if it has none.
mlir::FailureOr<tp::Mesh> meshOfModule(mlir::ModuleOp module,
                                       const TargetTraits &traits);

/// What a pass on a rank's functions works on.
struct PassInput {
  llvm::SmallVector<mlir::func::FuncOp> functions;
  TargetTraits traits;
};

/// The functions of `module`, on tensors, and the traits of `target`, as `pass`
/// gets them. Fails with a located error that names the pass.
mlir::FailureOr<PassInput> passInputOnTensors(mlir::ModuleOp module,
                                              llvm::StringRef target,
                                              llvm::StringRef pass);

/// What a pass on programs of a rank does: verifies and changes each program of
/// `module`. Fails with a located error.
mlir::LogicalResult
changePrograms(mlir::ModuleOp module, llvm::StringRef target,
               llvm::StringRef pass,
               llvm::function_ref<mlir::LogicalResult(mlir::func::FuncOp,
                                                      const TargetTraits &)>
                   change);

/// Replaces `functions`, on tensors and cleaned up, by programs of a rank on
/// memory without offsets. They have what they share in one order of
/// dimensions. Fails with a located error.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
formPrograms(llvm::ArrayRef<mlir::func::FuncOp> functions,
             const TargetTraits &traits);

/// An entry's program on a rank, with its memory planned. Kernels are emitted
/// with its analyses; each becomes a `tp.launch`.
struct CodegenPlan {
  CodegenPlan(const TargetTraits &traits, AssertTable &asserts)
      : traits(traits), kernels(traits), asserts(asserts) {}

  TargetTraits traits;
  mlir::func::FuncOp program;
  tp::Mesh mesh;
  MemorySizes memory;
  KernelPlans kernels;
  /// Of all entries.
  AssertTable &asserts;
  /// Bytes that a step writes, of allocations of which it writes a part.
  llvm::DenseMap<mlir::Value, int64_t> writtenBytes;
  /// Of the kernel that needs most.
  int64_t scratchBytes = 0;
  int64_t constantsAt = 0;

  ManifestSource manifestSource() const;
};

/// The programs of all entries.
struct CodegenPlans {
  AssertTable asserts;
  std::vector<std::unique_ptr<CodegenPlan>> entries;

  std::vector<ManifestSource> manifestSources() const;
};

/// Plans `module`, which is changed: its functions on tensors become programs
/// of a rank. One that is a program already is taken as it is, with the offsets
/// that it has. Fails with a located error.
mlir::FailureOr<std::unique_ptr<CodegenPlans>>
planCodegen(mlir::ModuleOp module, const TargetTraits &traits);

/// The parameters of the code of a kernel: each piece of memory once.
struct KernelParameters {
  llvm::SmallVector<mlir::Value> buffers;
  llvm::SmallVector<bool> read, written;
  /// The parameter of every buffer of the kernel.
  llvm::SmallVector<unsigned> ofBuffer;
  /// The parameter of every value in memory.
  llvm::DenseMap<mlir::Value, unsigned> of;
};
KernelParameters parametersOf(tp::KernelOp kernel, const KernelPlan &plan,
                              const Buffers &buffers);

/// Emits the code of a plan, whose parameters are given, as a function of its
/// name; `launch` is to say how it runs.
using EmitKernel = llvm::function_ref<mlir::FailureOr<std::string>(
    const KernelPlan &plan, const KernelParameters &parameters,
    tp::LaunchOp launch)>;

/// Replaces every kernel by the launch of its code. Equal kernels whose buffers
/// share memory in the same way are emitted once.
mlir::LogicalResult emitLaunches(CodegenPlan &planned, EmitKernel emit);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_CODEGENPLAN_H
