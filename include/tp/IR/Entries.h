//===- Entries.h - the functions that a host can run ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model may have several entries over one set of weights and states: a
// decoder that takes a whole prompt and one that takes a token. Entries share
// arguments and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_ENTRIES_H
#define TP_IR_ENTRIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tp {
namespace attr {
/// On an entry: how often it runs, relative to the others.
inline constexpr llvm::StringLiteral calls = "tp.calls";
/// On a part of an entry (tp-outline-loops): the entry's name, and how often
/// the part runs whenever the entry does. Parts run before their entry, in
/// order.
inline constexpr llvm::StringLiteral partOf = "tp.part_of";
inline constexpr llvm::StringLiteral times = "tp.times";
/// The kind of an argument that carries a value from part to part. No host sets
/// or reads it.
inline constexpr llvm::StringLiteral carriedKind = "carried";
} // namespace attr

/// The public functions with a body that no other one calls, in order.
llvm::SmallVector<mlir::func::FuncOp> entriesOf(mlir::ModuleOp module);

/// The value of tp.calls; 1 without it.
int64_t callsOf(mlir::func::FuncOp entry);
inline constexpr int64_t mostCalls = 1000;

/// The name of the entry that `function` is or is a part of.
llvm::StringRef wholeEntryOf(mlir::func::FuncOp function);
bool isPartOfEntry(mlir::func::FuncOp function);
/// `callsOf` that entry; of a part whose entry is not in the module its own.
int64_t callsOfEntry(mlir::func::FuncOp function);
/// How often a step of its entry runs `function`: the value of tp.times; 1
/// without it.
int64_t timesOf(mlir::func::FuncOp function);

/// The values of a loop's body that are the same in every iteration: arguments
/// that it does not update, constants, and what ops without side effects
/// compute from these. Of a function that a step runs once there are none.
class InvariantValues {
public:
  explicit InvariantValues(mlir::func::FuncOp body);
  bool contains(mlir::Value value) const { return values.contains(value); }

private:
  llvm::DenseSet<mlir::Value> values;
};

/// An argument of one of several entries.
struct EntryArgument {
  unsigned entry = 0;
  unsigned argument = 0;
};

/// Arguments of different entries that are one tensor: weights of one name,
/// and other arguments of one name that a result of some entry updates. The
/// layout and the storage of a tensor are one over all entries.
class SharedArguments {
public:
  explicit SharedArguments(llvm::ArrayRef<mlir::func::FuncOp> entries);

  /// The tensors that two entries or more have, each with its arguments in the
  /// order of the entries.
  llvm::ArrayRef<llvm::SmallVector<EntryArgument, 2>> tensors() const {
    return shared;
  }
  /// The tensor that an argument is, as a position in `tensors()`.
  std::optional<unsigned> tensorOf(unsigned entry, unsigned argument) const;

private:
  std::vector<llvm::SmallVector<EntryArgument, 2>> shared;
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> numbers;
};

/// Entries agree on the type and the kind of what they share. Emits an error at
/// an argument of a later entry, with a note at that of the earlier one.
llvm::LogicalResult verifyEntries(mlir::ModuleOp module);

} // namespace tp

#endif // TP_IR_ENTRIES_H
