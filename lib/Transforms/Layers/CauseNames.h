//===- CauseNames.h - causes of copied collectives --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tp.cause` of a layer may name the layers next to it, and in the folded
// program the layer after the copied one has the name of a later one.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LAYERS_CAUSENAMES_H
#define TP_LIB_TRANSFORMS_LAYERS_CAUSENAMES_H

#include "LayerNames.h"
#include <map>

namespace tp::layers {

class CauseNames {
public:
  /// Layers of the folded program have the numbers they had up to `copied`;
  /// the next one is `copies` layers further on in `whole`.
  CauseNames(const RepeatedLayers &whole, int64_t copied, int64_t copies)
      : whole(whole), copied(copied), copies(copies) {}

  /// Renames the layers in `op`, which is or was copied from layer `folded` of
  /// the folded program and now is in layer `layer` of the whole one.
  void rename(mlir::Operation *op, int64_t folded, int64_t layer);

private:
  LayerNames &movedBy(int64_t distance);

  const RepeatedLayers &whole;
  int64_t copied, copies;
  std::map<int64_t, LayerNames> names;
};

} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_CAUSENAMES_H
