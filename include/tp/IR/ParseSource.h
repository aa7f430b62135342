//===- ParseSource.h - a module from a file of MLIR text --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_PARSESOURCE_H
#define TP_IR_PARSESOURCE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tp {
/// The module in the text of `path`, which messages call `what` ("the plan").
/// Null after an error in that file: it is not text (Files/SourceText.h), the
/// parser rejects it, or an upstream parser crashes on it. After a crash the
/// context must not be used; the process should end.
mlir::OwningOpRef<mlir::ModuleOp> parseSource(llvm::StringRef path,
                                              llvm::StringRef what,
                                              mlir::MLIRContext *context);
} // namespace tp

#endif // TP_IR_PARSESOURCE_H
