//===- LayerFolding.h - a function with few of its layers -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of equal layers, a few at each end are kept, because layers there have other
// neighbours. If the result of passes on the folded program still repeats, it
// is the result for the whole program: the layers left out are copies of the
// last kept layer before them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LAYERS_LAYERFOLDING_H
#define TP_LIB_TRANSFORMS_LAYERS_LAYERFOLDING_H

#include "RepeatedLayers.h"
#include "mlir/IR/BuiltinOps.h"

namespace tp::layers {

class LayerFolding {
public:
  /// Leaves all but the first and the last `keptAtEnd` layers out, in a new
  /// function in `into`; nothing if too few repeat. The last layer before and
  /// the first layer after those left out must be equal; differences at an end
  /// appear in the other kept layers.
  static std::optional<LayerFolding>
  fold(const RepeatedLayers &layers, int64_t keptAtEnd, mlir::ModuleOp into);

  int64_t copies() const { return lastOut - firstOut + 1; }
  int64_t numLayers() const { return layers.correspondences().front().size(); }

  /// Gives `folded`, which passes made of the new function, all arguments,
  /// layers and results of the function that was folded. False, and `folded` is
  /// of no use, where it does not repeat at the place. It is valid if it was
  /// before.
  bool unfold(mlir::func::FuncOp folded) const;

private:
  friend class Unfolder;

  explicit LayerFolding(const RepeatedLayers &layers) : layers(layers) {}
  bool chooseLayers(int64_t keptAtEnd);
  void chooseArguments();
  bool chooseResults();
  bool build(mlir::ModuleOp into) const;
  bool isOut(int64_t layer) const {
    return layer >= firstOut && layer <= lastOut;
  }
  bool isOut(mlir::Value value) const {
    std::optional<Place> place = layers.placeOf(value);
    return place && isOut(place->layer);
  }

  /// An argument or result of the whole function: a number in the folded one,
  /// and how many layers further on it is.
  struct Port {
    unsigned number = 0;
    int64_t further = 0;
  };

  const RepeatedLayers &layers;
  int64_t firstOut = 0, lastOut = -1;
  std::vector<Port> arguments, results;
};

} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_LAYERFOLDING_H
