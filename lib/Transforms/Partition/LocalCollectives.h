//===- LocalCollectives.h - a rank's part of a layout change ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PARTITION_LOCALCOLLECTIVES_H
#define TP_LIB_TRANSFORMS_PARTITION_LOCALCOLLECTIVES_H

#include "tp/IR/TP.h"

namespace tp {

/// Makes what one rank runs for `op`, a collective or a local step on types
/// with layouts, from the rank's buffer `source`: the plain collective, and the
/// ops that pad and compact its blocks. An error at `op` if it is another op,
/// or if the element type lacks a number that it needs.
mlir::FailureOr<mlir::Value> createLocalStep(mlir::OpBuilder &builder,
                                             mlir::Operation *op,
                                             mlir::Value source);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PARTITION_LOCALCOLLECTIVES_H
