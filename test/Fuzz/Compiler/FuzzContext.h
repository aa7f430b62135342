//===- FuzzContext.h - a context that tells whether errors came -*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_COMPILER_FUZZCONTEXT_H
#define TP_TEST_FUZZ_COMPILER_FUZZCONTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "tp/Pipelines/Compile.h"
#include <cstdlib>
#include <memory>

namespace tp::fuzz {

/// Makes a new context in place of the old one.
inline void renew(std::unique_ptr<mlir::MLIRContext> &context) {
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry all;
    registerCompileDialects(all);
    return all;
  }();
  context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
}

/// While it lives, takes all diagnostics and counts the errors at a place.
class LocatedErrors {
public:
  explicit LocatedErrors(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          count +=
              diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
              !mlir::isa<mlir::UnknownLoc>(diagnostic.getLocation());
          return mlir::success();
        }) {}
  /// Ends the process unless what failed said why, and nothing else did.
  void check(bool succeeded) const {
    if (succeeded != (count == 0))
      abort();
  }

private:
  unsigned count = 0;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_COMPILER_FUZZCONTEXT_H
