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
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tp/Pipelines/Compile.h"
#include "tp/Support/SourceText.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  tp::registerAllPasses();
  tp::registerCheckShardingRulesPass();
  tp::registerPrintShardingRulesPass();
  mlir::DialectRegistry registry;
  tp::registerCompileDialects(registry);
  llvm::InitLLVM init(argc, argv);
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "tp optimizer driver\n", registry);
  tp::SourceProblem problem;
  auto text = tp::readSourceText(input, problem);
  if (!text) {
    llvm::errs() << input << ":" << problem.line << ":" << problem.column
                 << ": error: cannot read the input: " << problem.message
                 << "\n";
    return 1;
  }
  std::string message;
  auto file = mlir::openOutputFile(output, &message);
  if (!file) {
    llvm::errs() << "error: " << message << "\n";
    return 1;
  }
  return tp::runOnLargeStack([&] {
    if (failed(
            mlir::MlirOptMain(file->os(), std::move(text), registry,
                              mlir::MlirOptMainConfig::createFromCLOptions())))
      return 1;
    // A stream that ends with an error ends the process in LLVM's own words.
    file->os().flush();
    if (std::error_code error = file->os().error()) {
      file->os().clear_error();
      llvm::errs() << "error: cannot write '" << file->getFilename()
                   << "': " << error.message() << "\n";
      return 1;
    }
    file->keep();
    return 0;
  });
}
