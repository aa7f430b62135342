//===- tp-lsp-server.cpp - MLIR with tp's dialect in editors --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tp/Pipelines/Compile.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter(tp::printVersion);
  mlir::DialectRegistry registry;
  tp::registerCompileDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
