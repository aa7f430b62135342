//===- CauseAttributes.h - why a layout changes -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tp.causes`, from tp-propagate to tp-materialize: on an argument a list, on
// an op a list per tensor result, of
//
//     {axis = "tp", from = "shard<1>", to = #tp.placement<replicate>, of,
//      pins = [{what = "input", name = "attention", layout = "replicate",
//               entry = "plan.mlir:4:3"}], implicit = "to ask for it, ...",
//      next_best = "none" | "too large" | "not tried" |
//           {ring_bytes_per_rank, time_ps, with, more_with, without, more_...}}
//
// a change that a collective makes. `implicit`: only if no plan entry asks for
// it; empty where no entry names the value. `chosen`: on an axis that is left
// to tp, the arguments that it split, as `pins`. `taken`: the shard that all
// readers of a sum take of it, and `to_take` = {at, option}, the entry that
// makes it whole and the option with which it is reduced to the shard alone.
// `with` and `without` list collectives,
// {kind, axis, from, to, ring_bytes_per_rank, times, of}, `of` being the
// argument, the pin, or the location of the op that produces the value, and
// `times`, if there is one, how often a loop runs it. The `of` of the change is
// that of its value, before all pins of it.
//
// `tp.cause`, from tp-materialize to the artifact's manifest, on layout changes
// and the collectives that make them: {uses, changes}, `changes` being the
// entries of the above for this change, and `uses` a list of {what, name} (a
// pin or a port), or {what, at} (the op that required it, and its location).
//
// `tp.expected`, a unit, on tp.constrain: the pin states the layout that the
// value is expected to have; it does not ask for a collective that converts it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_CAUSEATTRIBUTES_H
#define TP_IR_CAUSEATTRIBUTES_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace tp {

namespace attr {
inline constexpr llvm::StringLiteral causes = "tp.causes";
inline constexpr llvm::StringLiteral cause = "tp.cause";
inline constexpr llvm::StringLiteral expected = "tp.expected";
} // namespace attr

/// `file:line:column` of a plan entry, or empty.
std::string entryText(mlir::Location location);
/// The same without the file's folder, on which artifacts do not depend.
std::string shortEntryText(mlir::Location location);

/// Takes all causes off the ops in `root`.
void removeCauses(mlir::Operation *root);

/// An attribute as JSON: texts, integers, lists, dictionaries, placements as in
/// plans, and locations, which become {"module", "location"}; others as they
/// are printed.
llvm::json::Value toJSON(mlir::Attribute attribute);

} // namespace tp

#endif // TP_IR_CAUSEATTRIBUTES_H
