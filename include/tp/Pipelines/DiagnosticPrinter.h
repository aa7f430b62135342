//===- DiagnosticPrinter.h - messages without a file ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PIPELINES_DIAGNOSTICPRINTER_H
#define TP_PIPELINES_DIAGNOSTICPRINTER_H

#include "mlir/IR/Diagnostics.h"

namespace tp {

/// Prints a message that stands at no line of a file behind the module and the
/// name that its location has: exported ops have these alone. Shows lines of
/// text only.
class DiagnosticPrinter : public mlir::SourceMgrDiagnosticHandler {
public:
  DiagnosticPrinter(llvm::SourceMgr &sources, mlir::MLIRContext *context);

private:
  /// False for a line of a file that is not to be shown.
  bool hasPrintableLine(mlir::Location location);
  void print(mlir::Diagnostic &diagnostic);
};

} // namespace tp

#endif // TP_PIPELINES_DIAGNOSTICPRINTER_H
