//===- ConvolvedWeights.cpp - weights of convolutions ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters/ConvolvedWeights.h"
#include "Parameters/ParameterView.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tp;

static std::optional<ConvolvedChannels>
channelsAt(OpOperand &operand, const ParameterView &view, bool colwise) {
  auto op = dyn_cast<linalg::LinalgOp>(operand.getOwner());
  // The filter is behind the image.
  if (!op || !linalg::isaConvolutionOpInterface(op) ||
      op.getNumDpsInputs() != 2 || op.getDpsInputOperand(1) != &operand)
    return std::nullopt;
  FailureOr<linalg::ConvolutionDimensions> dims =
      linalg::inferConvolutionDims(op);
  if (failed(dims))
    return std::nullopt;
  bool hasGroups = !dims->depth.empty();
  const auto &loops = hasGroups ? dims->depth
                      : colwise ? dims->outputChannel
                                : dims->inputChannel;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [dim, expr] : llvm::zip(view.dims, map.getResults()))
    if (auto loop = dyn_cast<AffineDimExpr>(expr);
        loop && dim >= 0 && llvm::is_contained(loops, loop.getPosition()))
      return ConvolvedChannels{unsigned(dim), colwise || hasGroups};
  return std::nullopt;
}

std::optional<ConvolvedChannels> tp::convolvedChannels(BlockArgument weight,
                                                       bool colwise) {
  auto type = dyn_cast<RankedTensorType>(weight.getType());
  if (!type)
    return std::nullopt;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  SmallVector<ParameterView> views;
  views.push_back({weight, {dims.begin(), dims.end()}});
  while (!views.empty()) {
    ParameterView view = views.pop_back_val();
    for (OpOperand &operand : view.value.getUses()) {
      if (std::optional<ConvolvedChannels> found =
              channelsAt(operand, view, colwise))
        return found;
      if (std::optional<ParameterView> next = follow(view, operand.getOwner()))
        views.push_back(*next);
    }
  }
  return std::nullopt;
}
