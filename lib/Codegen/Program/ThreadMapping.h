//===- ThreadMapping.h - how a kernel lies on threads -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_PROGRAM_THREADMAPPING_H
#define TP_LIB_CODEGEN_PROGRAM_THREADMAPPING_H

#include "mlir/IR/Operation.h"
#include "tp/IR/CodegenAttributes.h"

namespace tp::target {

/// What a kernel, or its launch, says of the threads that run it; null where it
/// says nothing. A target that maps kernels gives it a meaning.
inline mlir::Attribute threadMapping(mlir::Operation *op) {
  return op->getAttr(tp::attr::mapping);
}

inline void setThreadMapping(mlir::Operation *op, mlir::Attribute mapping) {
  op->setAttr(tp::attr::mapping, mapping);
}

} // namespace tp::target

#endif // TP_LIB_CODEGEN_PROGRAM_THREADMAPPING_H
