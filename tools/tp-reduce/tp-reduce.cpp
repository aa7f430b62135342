//===- tp-reduce.cpp - makes a failing program small ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shrink.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Reducer/Passes.h"
#include "tp/Files/OutputText.h"
#include "tp/IR/ParseSource.h"
#include "tp/Pipelines/Compile.h"
#include "tp/Pipelines/Pipelines.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include <csignal>

namespace cl = llvm::cl;

static cl::OptionCategory category("tp-reduce options");
static cl::opt<std::string> model(cl::Positional, cl::Required,
                                  cl::desc("<model.mlir>"), cl::cat(category));
static cl::opt<std::string> output("o", cl::init("-"), cl::value_desc("file"),
                                   cl::desc("the small program; - prints it"),
                                   cl::cat(category));

static tp::runtime::Status write(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return tp::writeOutputText(output, text);
}

/// A long reduction that is ended leaves what it has found so far.
static void keepBest(mlir::ModuleOp module) {
  // What cannot be written now is an error at the end.
  if (output != "-")
    (void)write(module);
}

static int reduce(mlir::MLIRContext &context,
                  const mlir::PassPipelineCLParser &passes) {
  auto failed = [](const tp::runtime::Status &status) {
    if (!status.ok())
      llvm::errs() << "error: " << status.message() << "\n";
    return !status.ok();
  };
  if (output != "-" && failed(tp::runtime::checkOutputs({output}, {model})))
    return 1;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      tp::parseSource(model, "the program", &context);
  if (!module)
    return 1;
  mlir::PassManager manager(&context);
  auto emitError = [&](const llvm::Twine &message) {
    return mlir::emitError(mlir::UnknownLoc::get(&context)) << message;
  };
  if (mlir::failed(passes.addToPipeline(manager, emitError)) ||
      mlir::failed(manager.run(*module)))
    return 1;
  return failed(write(*module)) ? 1 : 0;
}

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  mlir::registerReducerPasses();
  tp::registerAllPasses();
  tp::registerShrinkPass(keepBest);
  // A reader of the standard output may have seen enough: the rest is written.
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  std::signal(SIGPIPE, SIG_IGN);
  cl::SetVersionPrinter(tp::printVersion);
  mlir::PassPipelineCLParser passes("", "how programs are made small");
  cl::ParseCommandLineOptions(argc, argv, "makes a failing program small\n");
  mlir::DialectRegistry registry;
  tp::registerCompileDialects(registry);
  mlir::MLIRContext context(registry);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  return reduce(context, passes);
}
