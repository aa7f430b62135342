//===- BucketBuffer.h - several collectives' data in one buffer -*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plain collective splits its operand along at most one dimension and
// concatenates its result along at most one. With that dimension first and all
// others flattened to a row, collectives on tensors of any shapes differ only
// in the length of their rows, and concatenated rows are one collective:
//
//   all_reduce, permute   1 x m  ->  1 x m
//   all_gather            1 x m  ->  n x m
//   reduce_scatter        n x m  ->  1 x m
//   all_to_all            n x m  ->  n x m
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PARTITION_BUCKETBUFFER_H
#define TP_LIB_TRANSFORMS_PARTITION_BUCKETBUFFER_H

#include "tp/IR/TP.h"

namespace tp {

/// One collective that replaces `members`, which are plain collectives of one
/// kind, reduction, permutation, group and element type on static shapes: their
/// rows in a buffer, the collective, and per member what it would have
/// received, in its shape. Every element is combined of the same elements in
/// the same order as before. Of the members' attributes the collective has the
/// reasons, and the values made have the names.
llvm::SmallVector<mlir::Value>
createBucket(mlir::OpBuilder &builder,
             llvm::ArrayRef<mlir::Operation *> members);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PARTITION_BUCKETBUFFER_H
