//===- tp-opt.cpp - runs passes on MLIR text ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckShardingRules.h"
#include "PrintShardingRules.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tp/Pipelines/Compile.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  tp::registerAllPasses();
  tp::registerCheckShardingRulesPass();
  tp::registerPrintShardingRulesPass();
  mlir::DialectRegistry registry;
  tp::registerCompileDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tp optimizer driver\n", registry));
}
