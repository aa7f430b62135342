//===- PortAttributes.h - what stands on arguments and results --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_PORTATTRIBUTES_H
#define TP_IR_PORTATTRIBUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {
namespace attr {
/// On the module: the names of the axes whose plans are marked `auto`.
inline constexpr llvm::StringLiteral autoAxes = "tp.auto";
/// On arguments and results, a unit: files hold unsigned integers.
inline constexpr llvm::StringLiteral unsignedPort = "tp.unsigned";
/// On results: the argument whose next value the result is (PortNames.h).
inline constexpr llvm::StringLiteral updates = "tp.updates";
/// On arguments: further names that files may have the weight under.
inline constexpr llvm::StringLiteral aliases = "tp.aliases";
/// On a tp.constrain that brings together a fully sharded parameter, and on the
/// change of layout that it becomes: the pass that it is for, `forward` or
/// `backward`. Each is a gather of its own, where it stands.
inline constexpr llvm::StringLiteral gather = "tp.gather";
inline constexpr llvm::StringLiteral forwardGather = "forward",
                                     backwardGather = "backward";
/// On a tp.constrain of keys or values, on the change of layout and on the
/// gather that it becomes, a unit: no rank holds all of them at once, they
/// travel from rank to rank (tp-form-attention). On the rotations of a backward
/// pass too: they are none of the forward pass, whose chunks are gone by then.
inline constexpr llvm::StringLiteral ring = "tp.ring";
/// On a function: the modules whose values are computed again in the backward
/// pass. Of a model or a plan, for tp-recompute.
inline constexpr llvm::StringLiteral recompute = "tp.recompute";
/// The style of such modules in the table of what the plan bound.
inline constexpr llvm::StringLiteral recomputeStyle = "recompute";
/// On a tp.constrain that is computed again, a unit.
inline constexpr llvm::StringLiteral recomputed = "tp.recomputed";
} // namespace attr

/// What `tp.pin` has instead of a placement if tp-propagate chooses the
/// placement.
enum class FreePort {
  /// A shard of any dimension.
  Sharded,
  /// Any layout that is not partial.
  Any,
  /// What the iterations of a loop add to: any layout. Numbers may be partial
  /// sums, which are reduced behind the loop, not in each iteration.
  Carried,
  /// That of the parameter whose state or update this port is, or of another
  /// argument that it updates (PortNames.h).
  AsParameter,
  /// The shard that the ranks share most evenly; ops that compute with it read
  /// it whole (`attr::gather`).
  FullySharded
};
/// `sharded`, `any`, `carried`, `as_parameter`, `fully_sharded`.
llvm::StringRef toString(FreePort port);
/// Nothing if the attribute is not one of these names.
std::optional<FreePort> freePortOf(mlir::Attribute attribute);

/// Fails, with an error at the argument or function, where an argument or a
/// result has an attribute of tp that is not known or not of its type, or where
/// two arguments have one name and kind, so that no file could feed both.
llvm::LogicalResult verifyPortAttributes(mlir::func::FuncOp function);
} // namespace tp

#endif // TP_IR_PORTATTRIBUTES_H
