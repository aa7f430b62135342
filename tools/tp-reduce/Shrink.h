//===- Shrink.h - smaller tensor programs -----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_REDUCE_SHRINK_H
#define TP_TOOLS_TP_REDUCE_SHRINK_H

#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace tp {

/// `tp-shrink{test=FILE test-arg=..}` drops results and arguments of functions,
/// and puts an operand, an argument or a number in the place of an op, while
/// the program stays interesting. Many at once come first. `keep` is given
/// every smaller program that is.
void registerShrinkPass(std::function<void(mlir::ModuleOp)> keep);

} // namespace tp

#endif // TP_TOOLS_TP_REDUCE_SHRINK_H
