//===- MappingAttribute.h - the mapping of a kernel as text -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MAPPING_MAPPINGATTRIBUTE_H
#define TP_LIB_CODEGEN_CUDA_MAPPING_MAPPINGATTRIBUTE_H

#include "KernelMapping.h"
#include "Program/KernelPlan.h"

namespace tp::cuda {

/// The mapping as `tp.mapping` of a kernel.
mlir::DictionaryAttr describe(const KernelMapping &mapping,
                              mlir::MLIRContext *context);

/// The mapping that `kernel`, of the plan, states. Fails with a located error
/// where it is none, or none of the kernel; `chosen` is the one that tp makes.
mlir::FailureOr<KernelMapping> checkedMapping(tp::KernelOp kernel,
                                              const target::KernelPlan &plan,
                                              const KernelMapping &chosen);

/// The mapping of a kernel's launch, which mapKernels has checked.
KernelMapping mappingOf(tp::LaunchOp launch, const target::KernelPlan &plan);

/// Gives every kernel of the program the mapping that tp makes, and checks
/// those that kernels have. Fails with a located error.
mlir::LogicalResult mapKernels(mlir::func::FuncOp program,
                               target::KernelPlans &kernels);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MAPPING_MAPPINGATTRIBUTE_H
