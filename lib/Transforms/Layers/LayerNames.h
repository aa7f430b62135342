//===- LayerNames.h - what a copied layer is called -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops refer to their layer in their locations and in `tp.reason`. A copy for
// another layer refers to that layer, as in the program before any layer was
// left out.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LAYERS_LAYERNAMES_H
#define TP_LIB_TRANSFORMS_LAYERS_LAYERNAMES_H

#include "RepeatedLayers.h"

namespace tp::layers {

class LayerNames {
public:
  /// Names of things of layer `from` for layer `to` of the whole program.
  LayerNames(const RepeatedLayers &layers, int64_t from, int64_t to) {
    add(layers, from, to);
  }
  /// Without names yet.
  LayerNames() = default;
  /// Those of one more layer; nothing where the program has no layer `to`.
  void add(const RepeatedLayers &layers, int64_t from, int64_t to);

  mlir::Location rename(mlir::Location location);
  /// Names of modules and arguments that occur as words in a text.
  mlir::StringAttr rename(mlir::StringAttr text);
  /// Texts and locations in lists and dictionaries.
  mlir::Attribute rename(mlir::Attribute attribute);
  /// Renames the layers in `op` and in the ops of its regions.
  void rename(mlir::Operation *op);

private:
  void add(mlir::Location from, mlir::Location to);

  llvm::DenseMap<mlir::Attribute, mlir::LocationAttr> locations;
  /// Of modules and arguments; texts that hold them.
  llvm::DenseMap<mlir::StringAttr, mlir::StringAttr> modules, texts;
};

} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_LAYERNAMES_H
