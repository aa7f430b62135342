//===- own-opt.cpp - an opt tool of its own, with tp's passes -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrintCollectives.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tp/Pipelines/Compile.h"

int main(int argc, char **argv) {
  tp::registerAllPasses();
  mlir::PassRegistration<PrintCollectives>();
  mlir::DialectRegistry registry;
  tp::registerCompileDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "own-opt\n", registry));
}
