//===- RepeatedLayers.h - what repeats in a function ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of many layers repeats the same ops with other parameters. A
// *correspondence* is one op, or one argument, of every layer, in the order of
// the layers. Correspondences are found from the arguments: ops that use
// corresponding values in the same way correspond, and so do their other
// operands and their results. So a layer contains everything that shifts by one
// with its parameters: forward, backward and optimizer ops, in any order.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LAYERS_REPEATEDLAYERS_H
#define TP_LIB_TRANSFORMS_LAYERS_REPEATEDLAYERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace tp::layers {

/// One op, or one argument, of each of the layers `first`, `first + 1` and so
/// on.
struct Correspondence {
  int64_t first = 0;
  llvm::SmallVector<mlir::Operation *, 0> ops;
  llvm::SmallVector<mlir::BlockArgument, 0> arguments;

  int64_t size() const { return ops.empty() ? arguments.size() : ops.size(); }
  bool covers(int64_t layer) const {
    return layer >= first && layer < first + size();
  }
  mlir::Operation *op(int64_t layer) const { return ops[layer - first]; }
  /// What corresponds to result `result` in `layer`.
  mlir::Value value(int64_t layer, unsigned result) const {
    if (ops.empty())
      return arguments[layer - first];
    return op(layer)->getResult(result);
  }
};

/// The place of an op or a value among the correspondences.
struct Place {
  unsigned correspondence = 0;
  int64_t layer = 0;
};

/// What an op takes: the value of an correspondence `shift` layers further, or,
/// without an correspondence, one value that all layers share.
struct Source {
  std::optional<unsigned> correspondence;
  unsigned result = 0;
  int64_t shift = 0;
  mlir::Value shared;
  bool operator==(const Source &) const = default;
};

class RepeatedLayers {
public:
  /// `arguments`: the correspondences of arguments to begin with.
  RepeatedLayers(mlir::func::FuncOp func,
                 std::vector<Correspondence> arguments);

  /// The correspondences of the function's arguments whose names differ in one
  /// number (`layers.7.wq.weight`) and that are otherwise equal; all of the
  /// range of layers that is most frequent. Empty if nothing repeats.
  static std::vector<Correspondence>
  argumentCorrespondences(mlir::func::FuncOp func);

  mlir::func::FuncOp function() const { return func; }
  llvm::ArrayRef<Correspondence> correspondences() const { return all; }
  std::optional<Place> placeOf(mlir::Operation *op) const;
  std::optional<Place> placeOf(mlir::Value value) const;
  Source sourceOf(mlir::Value value, int64_t layer) const;

  /// Whether layers `first` to `last` are equal: every correspondence in one of
  /// them is in all, its inputs are the same relative to the layer and at most
  /// one layer away, and its results are only used by ops of correspondences,
  /// or returned.
  bool isPeriodic(int64_t first, int64_t last) const;

private:
  mlir::func::FuncOp func;
  std::vector<Correspondence> all;
  llvm::DenseMap<mlir::Operation *, Place> places;
  llvm::DenseMap<mlir::Value, Place> argumentPlaces;
};

} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_REPEATEDLAYERS_H
