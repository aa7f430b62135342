//===- Program.h - a function as the assignment sees it ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_PROGRAM_H
#define TP_LIB_TRANSFORMS_PROPAGATE_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/TP.h"
#include "tp/Interfaces/ShardingRule.h"

namespace tp::propagate {

/// The attribute of arguments and results that pins them: a dictionary from
/// axis names to `#tp.placement`.
inline constexpr llvm::StringLiteral pinAttribute = "tp.pin";

/// What a plan, or a default, asks of one node on one axis.
struct Pin {
  Placement placement;
  /// The value may also stay partial, to be replicated later.
  bool lazy = false;
};

struct Node {
  enum class Kind { Argument, Op, Constrain, Result };
  Kind kind = Kind::Op;
  /// The op; for an argument null, for a result the return op.
  mlir::Operation *op = nullptr;
  /// The number of the argument or result.
  unsigned index = 0;
  /// Ops and constrains.
  ShardingRule rule;
  /// Numbers of values. Results count tensors only.
  llvm::SmallVector<unsigned, 3> slots;
  llvm::SmallVector<unsigned, 1> results;
  /// One entry per mesh axis.
  llvm::SmallVector<std::optional<Pin>, 2> pins;
  /// A structural hash: the same wherever the op stands in the program.
  uint64_t key = 0;
  /// Computed from nothing but constants and replicated buffers (position
  /// tables, masks).
  bool isTable = false;
};

/// All that is decided on one axis: a choice per op, and the placements of
/// arguments and results as choices that split dimension numbers.
struct Program {
  mlir::func::FuncOp func;
  MeshAttr meshAttr;
  std::vector<Node> nodes;
  std::vector<mlir::Value> values;
  /// Made of parameters alone.
  std::vector<bool> isWeight;

  const Mesh &mesh() const { return meshAttr.getValue(); }
  mlir::RankedTensorType type(unsigned value) const {
    return mlir::cast<mlir::RankedTensorType>(values[value].getType());
  }
  mlir::Location location(const Node &node) const;
  /// `'attention.wq' output`, `argument #2 (tokens)`.
  std::string describe(const Node &node) const;
};

/// Reads the program and checks its pins. Emits an error at whatever it cannot
/// handle.
mlir::FailureOr<Program> readProgram(mlir::func::FuncOp func, MeshAttr mesh,
                                     bool replicateUnknown);

/// The one function with a body that a module must have, or failure with an
/// error.
mlir::FailureOr<mlir::func::FuncOp> functionOf(mlir::ModuleOp module);

/// The rule of an op that has tensors: its own, or that of an identity for
/// tp.constrain. Emits an error at an op without rule, unless it is to be
/// replicated.
mlir::FailureOr<ShardingRule> ruleOf(mlir::Operation *op,
                                     bool replicateUnknown);

/// True if the op has tensor slots or results.
bool handlesTensors(mlir::Operation *op);

/// The pins of an argument or result, one per axis. Emits an error at `where`
/// for one that does not fit the type.
mlir::FailureOr<llvm::SmallVector<std::optional<Pin>, 2>>
portPins(mlir::DictionaryAttr attributes, mlir::RankedTensorType type,
         const Mesh &mesh,
         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The pins of a tp.constrain, one per axis.
mlir::FailureOr<llvm::SmallVector<std::optional<Pin>, 2>>
constrainPins(ConstrainOp op, const Mesh &mesh);

/// True for a constant, an empty, and an op that only overwrites one (a fill,
/// an index computation).
bool isFreeProducer(mlir::Operation *op);

/// Copies every op that makes its results from nothing once per use, so that
/// each use may have its own layout. The copies of one op stand together.
using CopyGroups = std::vector<llvm::SmallVector<mlir::Operation *, 4>>;
CopyGroups copyFreeProducers(mlir::func::FuncOp func);
/// Makes one of copies that ended with the same layouts.
void mergeCopies(const CopyGroups &groups);

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_PROGRAM_H
