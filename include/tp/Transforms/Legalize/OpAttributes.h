//===- OpAttributes.h - what each attribute of an op is to tp ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attribute can change what an op computes. So every op that tp accepts is
// in one table with all its attributes, and whatever is not in the table is
// refused: a new version of a dialect cannot bring in an attribute, or a value
// of an enum, that tp would silently leave out. Attributes that are not the
// op's own (discardable ones, such as those of exporters) change nothing and
// are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_LEGALIZE_OPATTRIBUTES_H
#define TP_TRANSFORMS_LEGALIZE_OPATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace tp {

enum class AttributeUse {
  /// The result is what the attribute says.
  Honoured,
  /// The result is the same with and without it.
  Ignored,
  /// It permits results that tp does not make use of; tp-legalize takes it out.
  Dropped,
};

struct AttributeRule {
  llvm::StringLiteral name;
  AttributeUse use;
  llvm::StringLiteral reason;
  /// Whether a value is one that the rule speaks of; null: all are.
  bool (*isKnown)(mlir::Attribute value) = nullptr;
};

enum class OpUse {
  Accepted,
  Refused,
  /// tp-legalize or tp-verify-legal says at the op what to write instead.
  RefusedLater,
};

struct OpRule {
  OpUse use;
  llvm::SmallVector<const AttributeRule *, 2> attributes;

  const AttributeRule *find(llvm::StringRef attribute) const;
};

/// The dialects all of whose ops are in the table. Ops of others have no
/// meaning to tp, and are refused by name where something reads them.
llvm::ArrayRef<llvm::StringLiteral> dialectsOfOpTable();

/// What is known of the op of this name; null: nothing.
const OpRule *opRule(llvm::StringRef name);
llvm::SmallVector<llvm::StringRef> opsOfTable();

/// Emits an error if the table does not know the op, one of its attributes or
/// the attribute's value.
mlir::LogicalResult checkAttributes(mlir::Operation *op);

} // namespace tp

#endif // TP_TRANSFORMS_LEGALIZE_OPATTRIBUTES_H
