//===- EntryUses.h - how whole entries read parameters ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where loops are kept (tp-outline-loops), an entry is several functions of the
// same parameters, and the product that reads a weight is in one of them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PARAMETERS_ENTRYUSES_H
#define TP_LIB_TRANSFORMS_PLAN_PARAMETERS_ENTRYUSES_H

#include "../ParameterUse.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace tp {

class EntryUses {
public:
  explicit EntryUses(llvm::ArrayRef<mlir::func::FuncOp> functions)
      : functions(functions) {}

  /// How products and lookups read the parameter `name` in `function` and all
  /// other functions of its entry, in the order of a step. So those of the
  /// forward pass come first.
  llvm::ArrayRef<const ParameterUse *> of(mlir::func::FuncOp function,
                                          llvm::StringRef name);
  /// The use of the weight `name` in the module that it is of: the first at a
  /// location of the module, or else the first. Null without any.
  const ParameterUse *inModule(mlir::func::FuncOp function,
                               llvm::StringRef name, llvm::StringRef module);

private:
  struct Entry {
    std::vector<ParameterUse> uses;
    llvm::StringMap<llvm::SmallVector<const ParameterUse *, 2>> byName;
  };
  /// Finds them when they are first asked for: most plans never ask.
  Entry &entryOf(mlir::func::FuncOp function);

  llvm::ArrayRef<mlir::func::FuncOp> functions;
  llvm::StringMap<Entry> entries;
};

/// The dimension of the parameter that colwise, or rowwise, shards: the first
/// that the product does not sum over, or that it does; of a table the columns,
/// or the rows. It is none along which weights are stacked.
std::optional<unsigned> shardedDim(const ParameterUse &use, bool colwise);

/// What a style that names a parameter of two or more dimensions shards.
struct NamedDim {
  /// The use that tells, if there is one.
  const ParameterUse *use = nullptr;
  /// None where no use tells.
  std::optional<unsigned> dim;
};
/// `uses`: all of the parameter in its entry, in the order of a step.
/// `ofTable`: the style is of a table. `hasTable`: the model has torch's table
/// of modules.
NamedDim namedDim(llvm::ArrayRef<const ParameterUse *> uses, int64_t rank,
                  bool colwise, bool ofTable, bool hasTable);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PARAMETERS_ENTRYUSES_H
