//===- ModuleTree.h - the modules a plan may name ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Module names come from the exporter's table (`tp.modules`), from the names
// of parameters and from locations `"module"("graph node")`. The table also
// knows modules that hold no op.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_MODULETREE_H
#define TP_LIB_TRANSFORMS_PLAN_MODULETREE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/Transforms/Plan/NamePattern.h"
#include "llvm/ADT/MapVector.h"

namespace tp {

/// The module a location names, empty for the root; none for locations without
/// a module, for backward ops and for names in angle brackets.
std::optional<llvm::StringRef> modulePathOf(mlir::Location loc);
/// True if `module` is `outer` or a submodule of it.
bool isInside(llvm::StringRef module, llvm::StringRef outer);

/// An argument of a module's call, or a part of what it returns: what a plan
/// has one layout for.
struct CallValue {
  /// Empty where the table has no names, and for results.
  llvm::StringRef name;
  /// Graph nodes: one, or those of a tuple, a list or a dict; "" for what is
  /// not a tensor.
  llvm::SmallVector<llvm::StringRef, 1> nodes;

  /// Its node where it is one tensor, or "".
  llvm::StringRef tensor() const {
    return nodes.size() == 1 ? nodes.front() : llvm::StringRef();
  }
};

/// One row of the exporter's table.
struct ModuleRow {
  llvm::StringRef className;
  /// Positional arguments come first. Where the table does not tell which
  /// tensors belong together, each is an argument, or a result, of its own.
  llvm::SmallVector<CallValue, 0> arguments, results;
  /// How many layouts a plan lists: 0 where the table does not tell.
  unsigned numPositional = 0, numResults = 0;
  bool fromTable = false;
};

class ModuleTree {
public:
  /// Fails with an error where `tp.modules` is not a table.
  static mlir::FailureOr<ModuleTree> build(mlir::func::FuncOp function);

  const ModuleRow *find(llvm::StringRef module) const;
  /// The modules `pattern` names, in the order of the table.
  llvm::SmallVector<llvm::StringRef> match(llvm::StringRef pattern) const;
  /// The modules inside of `module`, in the order of the table.
  llvm::SmallVector<llvm::StringRef> inside(llvm::StringRef module) const;
  /// Whether any module but the root has a name.
  bool namesAny() const { return rows.size() > 1; }
  /// Whether an exporter, such as torch's, wrote a table of modules.
  bool hasTable() const {
    return llvm::any_of(rows,
                        [](const auto &row) { return row.second.fromTable; });
  }
  /// The nearest names where a pattern matches nothing, nearest first; of
  /// modules and of `parameters`.
  llvm::SmallVector<Suggestion>
  nearest(llvm::StringRef pattern,
          llvm::ArrayRef<llvm::StringRef> parameters = {}) const;

private:
  void add(llvm::StringRef module);
  llvm::MapVector<llvm::StringRef, ModuleRow> rows;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_MODULETREE_H
