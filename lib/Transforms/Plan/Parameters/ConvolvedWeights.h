//===- ConvolvedWeights.h - weights of convolutions -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PARAMETERS_CONVOLVEDWEIGHTS_H
#define TP_LIB_TRANSFORMS_PLAN_PARAMETERS_CONVOLVEDWEIGHTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// The channels of a convolution that a style shards.
struct ConvolvedChannels {
  /// The dimension of the weight.
  unsigned dim = 0;
  /// Whether the output has them, and with it the bias.
  bool ofOutput = false;
};

/// What colwise, or rowwise, shards of the weight of a convolution: the
/// channels that it makes, or those that it sums over. With groups both are the
/// groups. None where no convolution reads the parameter, or its dimensions
/// cannot be told.
std::optional<ConvolvedChannels> convolvedChannels(mlir::BlockArgument weight,
                                                   bool colwise);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PARAMETERS_CONVOLVEDWEIGHTS_H
