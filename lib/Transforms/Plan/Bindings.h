//===- Bindings.h - what every plan entry bound -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_BINDINGS_H
#define TP_LIB_TRANSFORMS_PLAN_BINDINGS_H

#include "tp/IR/TP.h"

namespace tp {

struct BoundValue {
  /// weight, bias, argument, result, or a port: "input", "output 1", and
  /// "input from" for the side a layout change starts at.
  std::string port;
  /// An argument's name, or the graph node.
  std::string loc;
  llvm::SmallVector<int64_t> dims;
  Placement layout;
};

enum class BindingStatus { Bound, Overridden, WithoutEffect };
llvm::StringRef toString(BindingStatus status);

/// One entry on one module (or port).
struct Binding {
  mlir::Operation *entry;
  std::string axis;
  /// The name or pattern of the entry.
  std::string pattern;
  std::string module;
  std::string style;
  BindingStatus status = BindingStatus::WithoutEffect;
  llvm::SmallVector<BoundValue> values;
};

/// The module attribute `tp.bindings`. `withEntryLocations`: every row says as
/// `at` where in the plan its entry stands.
mlir::ArrayAttr toAttribute(mlir::MLIRContext *context,
                            llvm::ArrayRef<Binding> bindings,
                            bool withEntryLocations = false);
/// The same for people.
void printBindings(llvm::raw_ostream &os, llvm::ArrayRef<Binding> bindings);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_BINDINGS_H
