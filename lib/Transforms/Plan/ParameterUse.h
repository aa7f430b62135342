//===- ParameterUse.h - where a parameter is contracted ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter is followed forward through transposes, views and what is
// computed from it alone to the contraction or the gather that reads it. That
// op's other operand is the module's input, its result (with the module's bias)
// the output.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PARAMETERUSE_H
#define TP_LIB_TRANSFORMS_PLAN_PARAMETERUSE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tp {

/// A value at a module's boundary as the module sees it.
struct PortView {
  /// The module's own shape, as many elements as the value.
  llvm::SmallVector<int64_t> shape;
};

struct ParameterUse {
  mlir::BlockArgument parameter;
  mutable mlir::linalg::LinalgOp op;
  bool isGather = false;
  /// For each dimension of the parameter: contracted (or, in a gather, looked
  /// up at computed indices).
  llvm::SmallVector<bool> contracted;
  /// For each dimension: the op's other operand has it too, and so has the
  /// result, as with the experts of a product; or the op reads one of many
  /// along it.
  llvm::SmallVector<bool> batched;
  /// The op reads one slice of the parameter, of those that lie along this
  /// dimension: a weight that is stacked over layers.
  std::optional<unsigned> stackedDim;
  /// A product of weights alone that is added to another weight, as the two
  /// small matrices of LoRA: no activation is multiplied with it.
  bool isPartOfWeight = false;
  /// What the module reads; null where a gather has no index operand.
  mlir::OpOperand *input = nullptr;
  PortView inputView;
  /// The op's result, then its value after the module's bias and rounding.
  mlir::Value result, output;
  PortView outputView;
  /// The bias that is added to the result, if any.
  mlir::BlockArgument bias;
  /// Why the views could not be made out (empty: they were).
  std::string problem;
};

/// What the name of a module's weight or bias may end with: torch's word, which
/// comes first, Flax's, and those of plain trees of JAX.
inline constexpr llvm::StringLiteral weightNames[] = {"weight", "kernel", "w",
                                                      "embedding"};
inline constexpr llvm::StringLiteral biasNames[] = {"bias", "in_proj_bias",
                                                    "b"};
/// The weight of queries, keys and values in torch's MultiheadAttention, whose
/// result is not the module's.
inline constexpr llvm::StringLiteral inProjectionName = "in_proj_weight";

/// The contractions and gathers that read a parameter or buffer of `function`.
/// With `throughSelections` a lookup that selects whole matrices is followed to
/// the contractions that read them, in place of the lookup.
std::vector<ParameterUse> parameterUses(mlir::func::FuncOp function,
                                        bool throughSelections = false);

/// The operand of a reshape, transpose or layout pin, or null: the ops that
/// change only a value's shape.
mlir::Value viewSource(mlir::Operation *op);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PARAMETERUSE_H
