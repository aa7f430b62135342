//===- Registration.cpp - all passes and dialects of tp -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/Registration.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "tp/Codegen/CPU/CPUPasses.h"
#include "tp/Codegen/CodegenPasses.h"
#include "tp/Codegen/CPU/CompileForCPU.h"
#include "tp/Codegen/CUDA/CUDAPasses.h"
#include "tp/IR/TMTensor.h"
#include "tp/IR/TP.h"
#include "tp/Pipelines/Compile.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Runtime/Version.h"
#include "tp/Simulate/SimulatePasses.h"
#include "tp/Transforms/Export/ExportPasses.h"
#include "tp/Transforms/Import/ImportPasses.h"
#include "tp/Transforms/Layers/LayersPasses.h"
#include "tp/Transforms/Legalize/LegalizePasses.h"
#include "tp/Transforms/Normalize/NormalizePasses.h"
#include "tp/Transforms/Partition/PartitionPasses.h"
#include "tp/Transforms/Plan/PlanPasses.h"
#include "tp/Transforms/Propagate/PropagatePasses.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"
#include "llvm/Config/llvm-config.h"

void tp::registerAllPasses() {
  registerTPImportPasses();
  registerTPLayersPasses();
  registerTPLegalizePasses();
  registerTPPlanPasses();
  registerTPNormalizePasses();
  registerTPPropagatePasses();
  registerTPRedistributePasses();
  registerTPPartitionPasses();
  registerTPExportPasses();
  registerTPSimulatePasses();
  registerTPCodegenPasses();
  registerTPCPUPasses();
  registerTPCUDAPasses();
  registerPartitionPipeline();
}

void tp::printVersion(llvm::raw_ostream &os) {
  os << "tp " TP_VERSION "\nLLVM " LLVM_VERSION_STRING "\n";
}

void tp::registerCompileDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<TPDialect, tm_tensor::TMTensorDialect>();
  registerAllShardingRules(registry);
  registerCPUTargetDialects(registry);
}
