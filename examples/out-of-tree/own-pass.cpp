//===- own-pass.cpp - a pass of its own between tp's ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   own-pass MODEL.mlir PLAN.mlir [--fold-layers]
//
// Runs tp's passes with one of its own after tp-insert-collectives, which
// prints the collectives that it sees. With --fold-layers it sees few of many
// equal layers.
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "PrintCollectives.h"
#include "tp/Transforms/Layers/LayersPasses.h"

static void addAllLayers(mlir::PassManager &manager,
                         const tp::PartitionOptions &options) {
  for (const tp::PipelineStage &stage : tp::partitionStages()) {
    stage.build(manager, options);
    if (stage.name == "insert-collectives")
      manager.addPass(std::make_unique<PrintCollectives>());
  }
}

static void addFewLayers(mlir::PassManager &manager,
                         const tp::PartitionOptions &options) {
  mlir::OpPassManager few(mlir::ModuleOp::getOperationName());
  for (const tp::PipelineStage &stage : tp::partitionStages()) {
    if (stage.seesAllLayers && !few.empty()) {
      manager.addPass(tp::createRepeatLayers(few));
      few.clear();
    }
    stage.build(stage.seesAllLayers ? manager : few, options);
    if (stage.name == "insert-collectives")
      few.addPass(std::make_unique<PrintCollectives>());
  }
}

int main(int argc, char **argv) {
  bool foldLayers = argc == 4 && llvm::StringRef(argv[3]) == "--fold-layers";
  if (argc != 3 && !foldLayers) {
    llvm::errs() << "usage: own-pass MODEL.mlir PLAN.mlir [--fold-layers]\n";
    return 2;
  }
  Model model(argv[1], argv[2]);
  if (!model.module)
    return 1;
  if (foldLayers)
    addFewLayers(model.passes, model.options);
  else
    addAllLayers(model.passes, model.options);
  return model.run() ? 0 : 1;
}
