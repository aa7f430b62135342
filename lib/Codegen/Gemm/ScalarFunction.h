//===- ScalarFunction.h - functions of one element --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exports write a function such as GELU as many elementwise ops, in many ways.
// What they compute together is known by its values: two functions made of
// sums, products, powers and tanh that agree on many points are the same.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_GEMM_SCALARFUNCTION_H
#define TP_LIB_CODEGEN_GEMM_SCALARFUNCTION_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tp::target {

/// `result` is a function of the element of a tensor at the same index.
struct FunctionOfElement {
  mlir::Value result;
  /// The tensor, and what is computed on the way; nothing else reads them.
  llvm::SmallVector<mlir::Value> within;
};

/// The function of `argument` that `is` knows by its values at the points it is
/// given, if the ops that read `argument` compute it and nothing else. Of
/// roundings only those to `narrow` are passed over, if it is given.
std::optional<FunctionOfElement>
functionOfElement(mlir::Value argument, mlir::Type narrow,
                  llvm::function_ref<bool(llvm::ArrayRef<double> points,
                                          llvm::ArrayRef<double> values)>
                      is);

/// GELU in its tanh form, constants rounded to f32 or less.
bool isTanhGelu(llvm::ArrayRef<double> points, llvm::ArrayRef<double> values);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_GEMM_SCALARFUNCTION_H
