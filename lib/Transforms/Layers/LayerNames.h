//===- LayerNames.h - what a copied layer is called -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What things of one layer are called in another layer: locations of ops, names
// of modules and arguments, and the lines of the plan that pin them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LAYERS_LAYERNAMES_H
#define TP_LIB_TRANSFORMS_LAYERS_LAYERNAMES_H

#include "RepeatedLayers.h"

namespace tp::layers {

class LayerNames {
public:
  /// Adds names of things of layer `from` for layer `to` of the whole program;
  /// nothing where it has no layer `to`. What is known already stays.
  void add(const RepeatedLayers &layers, int64_t from, int64_t to);

  mlir::Location rename(mlir::Location location);
  /// Names of modules and arguments, and places of plan entries, that occur as
  /// words in a text.
  mlir::StringAttr rename(mlir::StringAttr text);
  /// Texts and locations in lists and dictionaries.
  mlir::Attribute rename(mlir::Attribute attribute);

private:
  void add(mlir::Location from, mlir::Location to);
  void addEntry(mlir::Location from, mlir::Location to);

  llvm::DenseMap<mlir::Attribute, mlir::LocationAttr> locations;
  /// Of modules, arguments and plan entries; texts that hold them.
  llvm::DenseMap<mlir::StringAttr, mlir::StringAttr> modules, texts;
};

} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_LAYERNAMES_H
