//===- BoundArguments.h - arguments that plan entries name ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_WEIGHTS_BOUNDARGUMENTS_H
#define TP_LIB_PIPELINES_WEIGHTS_BOUNDARGUMENTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSet.h"

namespace tp {

/// The arguments that entries of a plan name: by name, by kind and name, or by
/// position.
class BoundArguments {
public:
  /// `bindings`: the module's `tp.bindings`.
  explicit BoundArguments(mlir::ArrayAttr bindings);

  bool containsName(llvm::StringRef name, llvm::StringRef kind) const {
    return names.contains(name) || names.contains((kind + ":" + name).str());
  }
  bool containsPosition(unsigned number) const {
    return names.contains(std::to_string(number));
  }
  /// Whether an entry names the parameter at this position.
  bool containsParameter(unsigned number, llvm::StringRef name) const {
    return containsName(name, "parameter") || containsPosition(number);
  }

private:
  llvm::StringSet<> names;
};

} // namespace tp

#endif // TP_LIB_PIPELINES_WEIGHTS_BOUNDARGUMENTS_H
