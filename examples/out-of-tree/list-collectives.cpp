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

#include "Model.h"
#include "tp/IR/Collective.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: list-collectives MODEL.mlir PLAN.mlir\n";
    return 2;
  }
  Model model(argv[1], argv[2]);
  if (!model.module)
    return 1;
  tp::buildPartitionPipeline(model.passes, model.options);
  if (!model.run())
    return 1;

  model.module->walk([](mlir::Operation *op) {
    if (tp::isCollective(op))
      llvm::outs() << op->getName() << " of " << op->getOperand(0).getType()
                   << "\n";
  });
  return 0;
}
