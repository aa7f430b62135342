//===- WeightStorage.h - how parameters are stored --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_WEIGHTSTORAGE_H
#define TP_CODEGEN_WEIGHTSTORAGE_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

namespace tp {

/// Fails, with an error at `location`, unless parameters may be stored in the
/// type of this name for this target.
llvm::LogicalResult checkWeightStorage(mlir::Location location,
                                       llvm::StringRef type,
                                       llvm::StringRef target);

} // namespace tp

#endif // TP_CODEGEN_WEIGHTSTORAGE_H
