//===- PacketEmitter.h - neighbouring elements in one thread ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of a packet are computed one after the other. Loads of
// neighbouring elements become one access, and so do stores. An access is as
// wide as the known alignment of its address.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_KERNELS_PACKETEMITTER_H
#define TP_LIB_CODEGEN_CUDA_KERNELS_PACKETEMITTER_H

#include "Emit/ElementEmitter.h"
#include <functional>

namespace tp::cuda {

class PacketEmitter : public target::ElementEmitter {
public:
  PacketEmitter(const target::StoredValues &plan, target::AssertTable &asserts,
                mlir::OpBuilder &builder, mlir::Location loc)
      : ElementEmitter(plan, asserts, builder, loc), plan(plan) {
    sharesOps = true;
  }

  /// A new dim: `value`, an i64 that lies in `range`.
  mlir::AffineExpr addDim(mlir::Value value, target::IndexRange range);

  /// The packet whose elements come next: `vector` neighbours, of which the
  /// emitted one is `lane`; `dim` counts packets. Without neighbours, 1.
  int64_t vector = 1, lane = 0;
  unsigned dim = 0;

  /// Keeps the element until `flush`: all reads of a packet come before its
  /// writes.
  void store(mlir::Value scalar, mlir::Value target,
             const target::Indices &index) override;
  /// An element that is to be written.
  struct Pending {
    mlir::Value target;
    mlir::AffineExpr base;
    int64_t lane, width;
    mlir::Value scalar;
  };
  using Stores = llvm::SmallVector<Pending>;
  /// What was stored and not yet written, to be written later.
  Stores take() { return std::exchange(pending, {}); }
  /// Writes `stores`: row scratch where `scratchGuard` holds, the rest where
  /// `guard` does (null: always).
  void flush(const Stores &stores, mlir::Value guard, mlir::Value scratchGuard);
  void flush(mlir::Value guard, mlir::Value scratchGuard) {
    flush(take(), guard, scratchGuard);
  }

  /// Values that were computed in this kernel, are no longer known where they
  /// are read, and have no place in memory.
  llvm::SetVector<mlir::Value> missing;
  /// Values that the kernel writes, and whether one was loaded since.
  llvm::DenseSet<mlir::Value> written;
  bool readsWritten = false;

  mlir::Value load(mlir::Value value, const target::Indices &index) override;
  /// Asked before an element is loaded from its address: what holds it already,
  /// as memory does, or null.
  std::function<mlir::Value(mlir::Value, mlir::AffineExpr)> held;
  /// `width` neighbours of `value` from `address` on, which is a multiple of
  /// that, as memory holds them: a vector if they are several.
  mlir::Value loadNeighbours(mlir::Value value, mlir::AffineExpr address,
                             int64_t width);
  /// Forgets accesses at a scope's end, as `restore` does elements.
  using Loads = std::map<std::pair<const void *, const void *>, mlir::Value>;
  Loads loads;

private:
  /// How many neighbours an access at `address` takes, and its first element.
  std::pair<int64_t, mlir::AffineExpr> widthOf(mlir::AffineExpr address,
                                               int64_t elementBytes) const;
  void write(llvm::ArrayRef<Pending> stores);

  const target::StoredValues &plan;
  Stores pending;
};

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_KERNELS_PACKETEMITTER_H
