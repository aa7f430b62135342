//===- MemoryOrder.h - the order of elements in memory ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of a memref as a map from an index to the place of the element,
// counted in elements. Row-major is the default layout; a map with one stride
// per dimension prints as `strided`.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_PROGRAM_MEMORYORDER_H
#define TP_LIB_CODEGEN_PROGRAM_MEMORYORDER_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tp/IR/TP.h"

namespace tp::target {

/// The place of an element of `type`, over its index: a map with one result.
mlir::AffineMap placeMap(mlir::MemRefType type);

/// A memref of `shape` whose elements lie where `place` says.
mlir::MemRefType orderedMemRef(llvm::ArrayRef<int64_t> shape,
                               mlir::Type elementType, mlir::AffineMap place);

/// Whether elements lie row-major, without gaps. Dimensions of size 1 do not
/// count.
bool isRowMajor(mlir::MemRefType type);

/// The order of an all_to_all's result: the received blocks one after the
/// other, each row-major.
mlir::AffineMap receivedOrder(tp::AllToAllOp op);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_PROGRAM_MEMORYORDER_H
