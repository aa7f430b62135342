//===- list-collectives.cpp - a tool of its own, with tp's passes ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   list-collectives MODEL.mlir PLAN.mlir
//
// Splits the model as the plan says and prints the collectives of a rank's
// program.
//
//===----------------------------------------------------------------------===//

#include "mlir/Parser/Parser.h"
#include "tp/IR/Collective.h"
#include "tp/Pipelines/Compile.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: list-collectives MODEL.mlir PLAN.mlir\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  tp::registerCompileDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;

  tp::PartitionOptions options;
  options.plan = argv[2];
  mlir::PassManager passes(&context);
  tp::buildPartitionPipeline(passes, options);
  if (failed(passes.run(*module)))
    return 1;

  module->walk([](mlir::Operation *op) {
    if (tp::isCollective(op))
      llvm::outs() << op->getName() << " of " << op->getOperand(0).getType()
                   << "\n";
  });
  return 0;
}
