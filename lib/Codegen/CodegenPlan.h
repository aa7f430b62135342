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

/// Contractions of f16 or bf16 into f32 read operands widened before.
void populateWidenContractions(mlir::RewritePatternSet &patterns,
                               const TargetTraits &traits);

/// The only public function of the module.
mlir::FailureOr<mlir::func::FuncOp> entryOf(mlir::ModuleOp module,
                                            const TargetTraits &traits);

/// The module's mesh; one rank if it has none.
mlir::FailureOr<tp::Mesh> meshOfModule(mlir::ModuleOp module,
                                       const TargetTraits &traits);

/// A program with its storage, schedule and memory. `program` points at the
/// others once `link` was called.
struct CodegenPlan {
  ManifestSource program;
  std::unique_ptr<StoragePlan> plan;
  Schedule schedule;
  MemoryPlan memory;
  AssertTable asserts;

  void link() {
    program.plan = plan.get();
    program.schedule = &schedule;
    program.memory = &memory;
    program.asserts = &asserts;
  }
};

/// Plans `module`, which is changed. Fails with a located error.
mlir::FailureOr<std::unique_ptr<CodegenPlan>>
planCodegen(mlir::ModuleOp module, const TargetTraits &traits);

/// Fills in the bytes that a rank holds and sends.
void recordMemory(CodegenPlan &planned, tp::ProgramStatistics &statistics);

/// The bytes of all dense constants, each where the memory plan put it.
std::string constantBytes(StoragePlan &plan, const MemoryPlan &memory);

/// The parameters of the kernel of `command`: each memory block once, a value
/// that overwrites an operand under the operand's pointer. `parameter` is the
/// parameter of every value.
llvm::SmallVector<mlir::Value>
kernelBuffers(const StoragePlan &plan, const MemoryPlan &memory,
              const Command &command,
              llvm::DenseMap<mlir::Value, unsigned> &parameter);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_CODEGENPLAN_H
