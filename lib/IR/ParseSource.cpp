//===- ParseSource.cpp - a module from a file of MLIR text ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/ParseSource.h"
#include "mlir/Parser/Parser.h"
#include "tp/Files/SourceText.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

OwningOpRef<ModuleOp> tp::parseSource(StringRef path, StringRef what,
                                      MLIRContext *context) {
  SourceProblem problem;
  auto fail = [&] {
    emitError(FileLineColLoc::get(context, path, problem.line, problem.column))
        << "cannot read " << what << ": " << problem.message;
    return OwningOpRef<ModuleOp>();
  };
  std::unique_ptr<llvm::MemoryBuffer> text = readSourceText(path, problem);
  if (!text)
    return fail();
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(text), SMLoc());
  // Ops of other dialects parse themselves, and not all of them take every
  // text: linalg.generic does not survive an iterator that is no string.
  OwningOpRef<ModuleOp> module;
  llvm::CrashRecoveryContext::Enable();
  bool survived = llvm::CrashRecoveryContext().RunSafely([&] {
    module = parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  });
  llvm::CrashRecoveryContext::Disable();
  if (survived)
    return module;
  problem.message = "MLIR's parser crashes on it";
  return fail();
}
