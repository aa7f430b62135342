//===- PortNames.h - what arguments and results are called ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a training step a parameter and its optimizer states have the same name
// and different kinds. A name alone identifies a port if it is unique;
// `kind:name` always does. A result is the update of the argument that its
// `tp.updates` names; without it, one of kind `new_X` is the update of the
// argument of kind `X`, or `opt_X`, of the same name.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_PORTNAMES_H
#define TP_IR_PORTNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace tp {

enum class PortSide { Argument, Result };

class PortNames {
public:
  PortNames(mlir::func::FuncOp function, PortSide side);

  /// The ports that `text`, a name or `kind:name`, can refer to.
  llvm::ArrayRef<unsigned> find(llvm::StringRef text) const;
  /// Of several ports of one name the one that is not an optimizer state.
  std::optional<unsigned> weight(llvm::StringRef name) const;
  /// Of arguments: the one that this result updates.
  std::optional<unsigned> updatedBy(const PortNames &results,
                                    unsigned result) const;

  llvm::StringRef name(unsigned port) const { return names[port]; }
  /// Empty for a port without one.
  llvm::StringRef kind(unsigned port) const { return kinds[port]; }
  bool isOptimizerState(unsigned port) const {
    return kinds[port].starts_with("opt_");
  }
  bool isParameterOrState(unsigned port) const {
    return kinds[port] == "parameter" || isOptimizerState(port);
  }
  std::string qualified(unsigned port) const {
    return (kinds[port] + ":" + names[port]).str();
  }

private:
  std::vector<llvm::StringRef> names, kinds, updates;
  llvm::StringMap<llvm::SmallVector<unsigned, 1>> ports;
};

/// The arguments that results update, each with the result: of several results
/// whose kind names one argument, the first.
llvm::MapVector<unsigned, unsigned> updatesOf(mlir::func::FuncOp function);

/// The parameter whose layout argument `state` takes by default: the one that
/// it is an optimizer state of, if the shapes are equal.
std::optional<unsigned> parameterOfState(mlir::func::FuncOp function,
                                         const PortNames &arguments,
                                         unsigned state);

} // namespace tp

#endif // TP_IR_PORTNAMES_H
