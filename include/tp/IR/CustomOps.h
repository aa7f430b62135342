//===- CustomOps.h - ops of others, and their rules -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_CUSTOMOPS_H
#define TP_IR_CUSTOMOPS_H

#include "tp/IR/TP.h"

#define GET_OP_CLASSES
#include "tp/IR/CustomOps.h.inc"

namespace tp {

/// A dimension that is never split.
inline constexpr llvm::StringLiteral unsplitDim = "_";

/// What a tp.rule states: "b i k, k j -> b i j", and what is reduced.
struct CustomRule {
  /// The names of one tensor's dimensions.
  using Dims = llvm::SmallVector<std::string, 4>;
  llvm::SmallVector<Dims> operands, results;
  llvm::SmallVector<std::string> reduced;
  ReductionKind combine = ReductionKind::Sum;

  /// Reads the text and the options. What is wrong goes to `problem`.
  static std::optional<CustomRule> read(llvm::StringRef text,
                                        mlir::ArrayAttr reduction,
                                        mlir::StringAttr combine,
                                        std::string &problem);
  /// The rule of an op that has one.
  static std::optional<CustomRule> of(CustomOp op, std::string &problem);

  /// Why tensors of these types are not what the rule is for (empty: they are).
  std::string whyNot(mlir::TypeRange inputs, mlir::TypeRange outputs) const;
  /// The names that a rank may have a part of, in the order in which the rule
  /// has them first: parallel ones, and those that are reduced.
  llvm::SmallVector<std::string> splitNames() const;
  bool reduces(llvm::StringRef name) const {
    return llvm::is_contained(reduced, name);
  }
};

/// What users call an op: the name that a tp.custom stands for.
llvm::StringRef customNameOf(mlir::Operation *op);

/// Replaces an op on tensors by a tp.custom, unless it is one.
mlir::FailureOr<CustomOp> makeCustom(mlir::Operation *op);

/// A tp.rule for `op` that splits nothing, as a start.
std::string ruleTemplate(mlir::Operation *op);

/// An attribute of an op as implementations read it: a text, integers or
/// floats. A truth value is an integer, one number a list of one.
struct CustomAttribute {
  std::string name;
  std::optional<std::string> text;
  bool isFloat = false;
  std::vector<int64_t> integers;
  std::vector<double> numbers;

  /// Nothing for an attribute that no implementation can read.
  static std::optional<CustomAttribute> of(mlir::NamedAttribute attribute);
};

/// The `tp_dtype` of an element, and the `tp_attribute_kind` of an attribute,
/// as functions get them (tp/Runtime/CustomOp.h).
std::optional<int32_t> dtypeOf(mlir::Type element);
int32_t kindOf(const CustomAttribute &attribute);

/// Why an implementation could not read an attribute (empty: it can).
std::string whyUnreadable(mlir::NamedAttribute attribute);

} // namespace tp

#endif // TP_IR_CUSTOMOPS_H
