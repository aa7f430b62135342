//===- SplitPlans.h - one plan for each axis --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_AXES_SPLITPLANS_H
#define TP_LIB_TRANSFORMS_PLAN_AXES_SPLITPLANS_H

#include "tp/IR/TP.h"

namespace tp {

/// Puts one plan for each axis in place of the plans of a file: it has the
/// entries of all plans for that axis, in their order. Plans for axes that
/// `mesh` has not, which are optional, are left out. Two plans for the same
/// axes are an error.
mlir::LogicalResult splitPlans(llvm::SmallVector<PlanOp> &plans,
                               const Mesh &mesh);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_AXES_SPLITPLANS_H
