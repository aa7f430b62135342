//===- tp-opt.cpp - runs passes on MLIR text ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassTimes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tp/Files/OutputText.h"
#include "tp/Files/SourceText.h"
#include "tp/Pipelines/Compile.h"
#include "tp/Runtime/Linked/LinkedOps.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#ifdef TP_TEST_PASSES
#include "TestPasses.h"
#endif

/// The passes of the command line; their times go to `times`.
static mlir::MlirOptMainConfig
configWithTimes(std::vector<tp::PassTime> &times) {
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  auto timed = config;
  timed.setPassPipelineSetupFn(
      [config, &times](mlir::PassManager &manager) -> llvm::LogicalResult {
        if (failed(config.setupPassPipeline(manager)))
          return llvm::failure();
        tp::recordPassTimes(manager, times);
        return llvm::success();
      });
  return timed;
}

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  tp::registerAllPasses();
#ifdef TP_TEST_PASSES
  tp::registerTestPasses();
#endif
  mlir::DialectRegistry registry;
  tp::registerCompileDialects(registry);
  llvm::InitLLVM init(argc, argv);
  llvm::cl::SetVersionPrinter(tp::printVersion);
  llvm::cl::opt<std::string> timesPath(
      "pass-times", llvm::cl::value_desc("file"),
      llvm::cl::desc("Write CPU seconds of every pass and the peak memory as "
                     "JSON"));
  llvm::cl::list<std::string> links(
      "link", llvm::cl::value_desc("library"),
      llvm::cl::desc("A shared object with functions that compute ops of other "
                     "dialects, which the simulator calls"));
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
  std::vector<std::string> written, read;
  for (const std::string &path : {output, timesPath.getValue()})
    if (!path.empty() && path != "-")
      written.push_back(path);
  if (input != "-")
    read.push_back(input);
  auto reported = [](const tp::runtime::Status &status) {
    if (!status.ok())
      llvm::errs() << "error: " << status.message() << "\n";
    return !status.ok();
  };
  for (const std::string &library : links)
    if (reported(tp::runtime::linkLibrary(library)))
      return 1;
  if (reported(tp::runtime::checkOutputs(written, read)))
    return 1;
  return tp::runOnLargeStack([&] {
    std::vector<tp::PassTime> times;
    std::string program;
    llvm::raw_string_ostream os(program);
    if (failed(mlir::MlirOptMain(
            os, std::move(text), registry,
            timesPath.empty() ? mlir::MlirOptMainConfig::createFromCLOptions()
                              : configWithTimes(times)))) {
      // What stands before the failure is for the reader of the messages.
      if (output == "-")
        llvm::outs() << program;
      return 1;
    }
    if (!timesPath.empty()) {
      std::string lines;
      llvm::raw_string_ostream timesOs(lines);
      tp::writePassTimes(timesOs, times);
      if (reported(tp::writeOutputText(timesPath, lines)))
        return 1;
    }
    return reported(tp::writeOutputText(output, program)) ? 1 : 0;
  });
}
