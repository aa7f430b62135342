//===- OpAttributes.h - what each attribute of an op is to tp ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attribute can change what an op computes. So one table lists every op that
// tp accepts, with all its attributes, and everything else is rejected: a new
// version of a dialect cannot introduce an attribute, or a value of an enum,
// that tp would silently ignore. Attributes that are not the op's own
// (discardable ones, such as those of exporters) change nothing and are
// ignored.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_LEGALIZE_OPATTRIBUTES_H
#define TP_TRANSFORMS_LEGALIZE_OPATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace tp {

enum class AttributeUse {
  /// tp implements the attribute.
  Honoured,
  /// The attribute does not change the result.
  Ignored,
  /// It permits other results, which tp does not use; tp-legalize removes it.
  Dropped,
};

struct AttributeRule {
  llvm::StringLiteral name;
  AttributeUse use = AttributeUse::Honoured;
  /// Whether the rule covers a value; null: it covers all.
  bool (*isKnown)(mlir::Attribute value) = nullptr;
};

enum class OpUse {
  Accepted,
  Refused,
  /// Rejected by tp-legalize or tp-verify-legal, with an error at the op that
  /// says what to write instead.
  RefusedLater,
};

struct OpRule {
  OpUse use;
  llvm::SmallVector<const AttributeRule *, 2> attributes;

  const AttributeRule *find(llvm::StringRef attribute) const;
};

/// The dialects whose ops are all in the table. Ops of other dialects are
/// rejected by name if something reads their results.
llvm::ArrayRef<llvm::StringLiteral> dialectsOfOpTable();

/// The rule of the op with this name; null if the table does not have it.
const OpRule *opRule(llvm::StringRef name);
llvm::SmallVector<llvm::StringRef> opsOfTable();

/// Emits an error if the table does not know the op, one of its attributes or
/// the attribute's value.
mlir::LogicalResult checkAttributes(mlir::Operation *op);

} // namespace tp

#endif // TP_TRANSFORMS_LEGALIZE_OPATTRIBUTES_H
