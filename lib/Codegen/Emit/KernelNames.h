//===- KernelNames.h - equal kernels have one name --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_EMIT_KERNELNAMES_H
#define TP_LIB_CODEGEN_EMIT_KERNELNAMES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace tp::target {

/// Names the kernels of a module, every distinct body once.
class KernelNames {
public:
  /// The name of the kernel whose body is `function`, and whether no function
  /// before had this body. All functions have the same symbol.
  std::pair<std::string, bool> nameOf(mlir::Operation *function);

private:
  /// By the text of the body.
  llvm::StringMap<std::string> known;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_EMIT_KERNELNAMES_H
