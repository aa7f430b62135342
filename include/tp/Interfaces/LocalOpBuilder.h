//===- LocalOpBuilder.h - making what one rank computes ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_LOCALOPBUILDER_H
#define TP_INTERFACES_LOCALOPBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "tp/IR/TP.h"
#include "tp/Interfaces/ShardingRule.h"

namespace tp {

/// What `createLocal` works with: a builder, this rank's buffers, and sizes
/// and offsets of the split factors. Sizes are those of buffers, in elements;
/// offsets and valid sizes are index values that depend on the rank.
class LocalOpBuilder {
public:
  LocalOpBuilder(mlir::OpBuilder &builder, mlir::Operation *op, MeshAttr mesh,
                 const ShardingRule &rule, const Strategy &strategy,
                 mlir::ValueRange localSlots);

  mlir::OpBuilder &builder;
  mlir::Operation *op;
  const ShardingRule &rule;
  const Strategy &strategy;

  /// This rank's buffer of slot `slot`.
  mlir::Value slot(unsigned slot) const { return localSlots[slot]; }
  /// Maps every operand and captured value of the op to what the rank has:
  /// slots to buffers, scalars to the rank's scalars.
  mlir::IRMapping mapping() const;
  /// What the rank has for values that are no slots.
  void setScalars(const mlir::IRMapping &mapping) { scalars = mapping; }
  /// The buffer type of result `result`.
  mlir::RankedTensorType resultType(unsigned result) const;

  bool isSplit(unsigned factor) const;
  /// Size of the factor's chunk.
  int64_t localSize(unsigned factor) const;
  /// Where this rank's chunk starts in the factor.
  mlir::Value offset(unsigned factor);
  /// One past this rank's last valid index of the factor.
  mlir::Value end(unsigned factor);

private:
  MeshAttr mesh;
  llvm::SmallVector<mlir::Value> localSlots;
  mlir::IRMapping scalars;
};

} // namespace tp

#endif // TP_INTERFACES_LOCALOPBUILDER_H
