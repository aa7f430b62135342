//===- tp-opt.cpp - runs passes on MLIR text ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrintShardingRules.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tp/IR/TP.h"
#include "tp/Interfaces/Registration.h"
#include "tp/Simulate/Passes.h"
#include "tp/Target/CPU/CompileForCPU.h"
#include "tp/Transforms/Normalize/Passes.h"
#include "tp/Transforms/Partition/Passes.h"
#include "tp/Transforms/Plan/Passes.h"
#include "tp/Transforms/Propagate/Passes.h"
#include "tp/Transforms/Redistribute/Passes.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  tp::registerPrintShardingRulesPass();
  tp::registerTPNormalizePasses();
  tp::registerTPPlanPasses();
  tp::registerTPRedistributePasses();
  tp::registerTPPartitionPasses();
  tp::registerTPPropagatePasses();
  tp::registerCPUPasses();
  tp::registerTPSimulatePasses();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<tp::TPDialect>();
  tp::registerAllShardingRules(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tp optimizer driver\n", registry));
}
