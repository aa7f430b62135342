//===- CarriedWeights.h - weights that parts hand on ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where loops are kept (tp-outline-loops), a part of an entry may compute a
// weight from a parameter, and the body of a loop reads it as an argument.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PARAMETERS_CARRIEDWEIGHTS_H
#define TP_LIB_TRANSFORMS_PLAN_PARAMETERS_CARRIEDWEIGHTS_H

#include "Parameters/DerivedWeights.h"

namespace tp {

/// A view of a parameter of a function.
struct WeightView {
  mlir::BlockArgument parameter;
  ParameterView view;
};

/// The arguments of `function` that are views of its named parameters and
/// buffers: these themselves, then what one other part of its entry makes of
/// them. What several parts write is no view: iterations change it.
std::vector<WeightView> argumentWeights(mlir::func::FuncOp function);

/// The activations of a function whose `argumentWeights` are these.
Activations activationsBeside(llvm::ArrayRef<WeightView> weights,
                              mlir::func::FuncOp function);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PARAMETERS_CARRIEDWEIGHTS_H
