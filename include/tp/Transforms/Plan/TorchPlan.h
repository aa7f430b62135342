//===- TorchPlan.h - a plan as Python of torch.distributed ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PLAN_TORCHPLAN_H
#define TP_TRANSFORMS_PLAN_TORCHPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace tp {

/// The text of a plan file as Python: a dict from axes to plans that
/// parallelize_module of torch.distributed takes. What PyTorch has no style for
/// is a comment there, and a warning. `function` has the modules.
mlir::FailureOr<std::string> torchPlan(llvm::StringRef text,
                                       mlir::func::FuncOp function);

} // namespace tp

#endif // TP_TRANSFORMS_PLAN_TORCHPLAN_H
