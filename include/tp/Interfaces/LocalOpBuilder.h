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
#include "llvm/ADT/DenseMap.h"

namespace tp {

/// The context of `createLocal`: a builder, this rank's buffers, and sizes and
/// offsets of the split factors. Sizes are those of buffers, in elements;
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
  /// Maps every operand and captured value of the op to this rank's value:
  /// slots to buffers, scalars to the rank's scalars.
  mlir::IRMapping mapping() const;
  /// Sets this rank's values for scalars, which are not slots.
  void setScalars(const mlir::IRMapping &mapping) { scalars = mapping; }
  /// The buffer type of result `result`.
  mlir::RankedTensorType resultType(unsigned result) const;

  bool isSplit(unsigned factor) const;
  /// Some rank's chunk of the factor has fewer indices than the buffer.
  bool isUneven(unsigned factor) const;
  /// Size of the factor's chunk.
  int64_t localSize(unsigned factor) const;
  /// The range of the rank's chunk of a factor that a dimension covers.
  FactorWindow localWindow(const DimFactors &dim) const;
  /// Creates at the insertion point the values that the functions below use.
  /// Call it before them, once per factor.
  void prepareIndices(unsigned factor);
  /// Whether the rank holds an index of the factor, and its local index. `own`
  /// is meaningless unless `holds`.
  struct OwnIndex {
    mlir::Value holds, own;
  };
  OwnIndex ownIndex(unsigned factor, mlir::Value global);
  /// The global index of the rank's local `index` of the factor.
  mlir::Value globalIndex(unsigned factor, mlir::Value index);
  /// Whether the rank's `index` of the factor is one that it holds, rather than
  /// padding.
  mlir::Value isValid(unsigned factor, mlir::Value index);

private:
  /// One segment of a split factor on this rank.
  struct Segment {
    int64_t localStart = 0;
    /// Where the segment's chunk starts and ends in the factor.
    mlir::Value offset, end;
  };
  std::vector<int64_t> segmentsOf(unsigned factor) const;
  int64_t chunkOf(unsigned factor, int64_t size) const;
  Segment segmentOf(unsigned factor, int64_t start, int64_t size);

private:
  MeshAttr mesh;
  llvm::SmallVector<mlir::Value> localSlots;
  mlir::IRMapping scalars;
  llvm::DenseMap<unsigned, llvm::SmallVector<Segment, 1>> prepared;
};

} // namespace tp

#endif // TP_INTERFACES_LOCALOPBUILDER_H
