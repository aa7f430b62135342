//===- KernelPlan.h - the compute loops of a tp.kernel ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a `tp.kernel` says, as memory planning and emission use it: which of its
// values are stored, its compute loops with what they read, and their loop
// nests. It is an analysis of the op: the same text gives the same plan.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_PROGRAM_KERNELPLAN_H
#define TP_LIB_CODEGEN_PROGRAM_KERNELPLAN_H

#include "Kernels/FusedKernel.h"
#include "tp/IR/Program.h"

namespace tp::target {

struct KernelPlan {
  explicit KernelPlan(const TargetTraits &traits) : values(traits) {}

  StoredValues values;
  std::vector<std::unique_ptr<ComputeLoop>> computeLoops;
  std::unique_ptr<FusedKernel> fusedKernel;
  /// The buffer, an argument of the kernel's block, of every stored value that
  /// has one: values that are read, and results of `tp.compute`.
  llvm::MapVector<mlir::Value, mlir::BlockArgument> buffers;
};

/// Reads `kernel`. Fails with an error at a compute loop whose rows are not
/// those of the kernel, or that reads what another row computes.
mlir::FailureOr<std::unique_ptr<KernelPlan>>
planKernel(tp::KernelOp kernel, const TargetTraits &traits);

/// The plans of kernels. Kernels of equal layers are equal but for locations;
/// what is planned and emitted for the first serves all.
class KernelPlans {
public:
  explicit KernelPlans(const TargetTraits &traits) : traits(traits) {}

  /// The first kernel asked for that computes the same of its buffers, or
  /// `kernel`. One with a check is its own, for the check has its location.
  tp::KernelOp firstEqual(tp::KernelOp kernel);

  /// The plan of the first kernel that equals `kernel`, in the values and the
  /// block arguments of that one. Null after an error, which has been emitted.
  const KernelPlan *of(tp::KernelOp kernel);

private:
  TargetTraits traits;
  llvm::DenseMap<mlir::Operation *, tp::KernelOp> firsts;
  /// The kernels that are the first of their kind, by what they compute.
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<tp::KernelOp, 1>> byHash;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<KernelPlan>> plans;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_PROGRAM_KERNELPLAN_H
