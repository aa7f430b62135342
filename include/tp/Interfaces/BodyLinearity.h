//===- BodyLinearity.h - partial values through a scalar body ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_BODYLINEARITY_H
#define TP_INTERFACES_BODYLINEARITY_H

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "tp/Sharding/Layout.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tp {

inline constexpr ReductionKind allReductionKinds[] = {
    ReductionKind::Sum, ReductionKind::Avg, ReductionKind::Product,
    ReductionKind::Max, ReductionKind::Min};

/// What the values yielded by `body` are if the scalars for which `isPartial`
/// holds are partial of kind `kind` over ranks and all others are the same on
/// all ranks: the kind they all share, or nothing where some yielded value is
/// not partial, or is no function through which partial values may pass.
///
/// The table, K being any kind, P partial and F the same on all ranks:
///   sum      P + P, P - P, -P, P * F, P / F (F no constant infinity, NaN or
///            divisor 0), casts between floats, select(F, P, P)
///   avg      as sum, and P + F, P - F, F - P
///   max/min  max(P, P), max(P, F), min(P, F), P + F, P - F (F no constant
///            infinity or NaN), P * C, P / C (C a finite constant but 0),
///            widening, select(F, P, P); -P, F - P and a negative C swap max
///            and min (min likewise)
///   product  P * P, P / P, select(F, P, P)
/// A constant zero counts as P under sum, and so on for each kind's identity.
std::optional<ReductionKind>
partialThroughBody(mlir::Block &body, ReductionKind kind,
                   llvm::function_ref<bool(mlir::Value)> isPartial);

/// True if `value` is a constant that changes nothing under `kind`: 0 for sum,
/// 1 for product, -inf or the least integer for max, and so on. Every constant
/// is one for avg. An i1 counts as 0 or 1.
bool isIdentityConstant(mlir::Value value, ReductionKind kind);
bool isIdentityConstant(mlir::Attribute value, ReductionKind kind);

/// The attribute of the identity of `kind` for a scalar type, or null if it has
/// none (avg; types that are no number).
mlir::TypedAttr identityOf(ReductionKind kind, mlir::Type type);

/// How `combiner`, the op that adds one more element to an accumulator,
/// combines. Nothing for ops that tp cannot combine over ranks with the same
/// meaning (maxnumf ignores NaN, unsigned max has another order).
std::optional<ReductionKind> reductionKindOf(mlir::Operation *combiner);

} // namespace tp

#endif // TP_INTERFACES_BODYLINEARITY_H
