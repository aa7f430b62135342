//===- UnfoldedNames.h - names in the unfolded program ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops refer to layers in their locations, in `tp.reason` and in `tp.cause`: to
// their own, or to a layer next to it, such as the one that reads what a
// collective makes. In the folded program the layer after the copied one has
// the name of a later one, and the layer before it that of an earlier one.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LAYERS_UNFOLDEDNAMES_H
#define TP_LIB_TRANSFORMS_LAYERS_UNFOLDEDNAMES_H

#include "LayerNames.h"
#include <map>

namespace tp::layers {

class UnfoldedNames {
public:
  /// Layers of the folded program have the numbers they had up to `copied`;
  /// the next one is `copies` layers further on in `whole`.
  UnfoldedNames(const RepeatedLayers &whole, int64_t copied, int64_t copies)
      : whole(whole), copied(copied), copies(copies) {}

  /// Renames the layers in `op` and in the ops of its regions; `op` is or was
  /// copied from layer `folded` of the folded program and now is in layer
  /// `layer` of the whole one. `isNamedByLayer`: its location is not that of
  /// something that all layers share.
  void rename(mlir::Operation *op, int64_t folded, int64_t layer,
              bool isNamedByLayer);

private:
  LayerNames &movedBy(int64_t distance);

  const RepeatedLayers &whole;
  int64_t copied, copies;
  std::map<int64_t, LayerNames> names;
};

} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_UNFOLDEDNAMES_H
