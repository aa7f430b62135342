//===- CombinerIdentity.h - what leaves an operand as it is -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_COMBINERIDENTITY_H
#define TP_LIB_CODEGEN_ELEMENTS_COMBINERIDENTITY_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/Operation.h"

namespace tp::target {

/// The identity: n with op(x, n) = op(n, x) = x for every x, of a sum, product,
/// minimum, maximum or bitwise op of arith on two scalars: of a sum of floats
/// -0.0, which leaves both zeros as they are. Null for any other op.
mlir::TypedAttr identityOf(mlir::Operation *op);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_COMBINERIDENTITY_H
