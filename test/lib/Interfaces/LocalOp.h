//===- LocalOp.h - an op with its shapes made local -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank does when it applies an op to its own operands, read from the op
// alone and not from its sharding rule. Ops of which that is the meaning:
// linalg ops whose bodies neither ask where they are nor read tensors beside
// their operands, tensor.empty, constants of one value, reshapes,
// concatenations and slices of what is not split.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_INTERFACES_LOCALOP_H
#define TP_TEST_LIB_INTERFACES_LOCALOP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OwningOpRef.h"

namespace tp {

/// A module with one function, whose arguments are an op's tensor operands and
/// whose body is that op.
struct LocalOp {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  mlir::Operation *op = nullptr;
};

/// Empty, or why an op cannot be applied to operands of other shapes.
std::string whyNotLocal(mlir::Operation *op);

/// `op`, for which there is no `whyNotLocal`, on operands of these types; an
/// empty module where it is not defined on them.
LocalOp makeLocal(mlir::Operation *op,
                  llvm::ArrayRef<mlir::RankedTensorType> operands,
                  mlir::RankedTensorType result);

/// The tensor operands of an op, in order.
llvm::SmallVector<mlir::Value> tensorOperands(mlir::Operation *op);

/// The scalar operations of an op: of a linalg op those of its body in every
/// iteration (at least one), of one that moves elements one per element, of one
/// that makes a tensor of nothing none.
double scalarOperations(mlir::Operation *op);

} // namespace tp

#endif // TP_TEST_LIB_INTERFACES_LOCALOP_H
