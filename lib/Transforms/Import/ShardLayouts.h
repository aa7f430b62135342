//===- ShardLayouts.h - layouts of the dialect `shard` ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_IMPORT_SHARDLAYOUTS_H
#define TP_LIB_TRANSFORMS_IMPORT_SHARDLAYOUTS_H

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "tp/IR/TP.h"

namespace tp {
/// The mesh of a grid. `sizes` ("axis=size,...", or empty) names its axes and
/// repeats their sizes.
mlir::FailureOr<Mesh> meshOfGrid(mlir::shard::GridOp grid,
                                 llvm::StringRef sizes);

/// The layout that an annotation states: a placement on every axis of `mesh`.
/// Fails, with an error at the annotation, if tp has no such layout.
mlir::FailureOr<Layout> layoutOf(mlir::shard::ShardOp annotation,
                                 const Mesh &mesh);
} // namespace tp

#endif // TP_LIB_TRANSFORMS_IMPORT_SHARDLAYOUTS_H
