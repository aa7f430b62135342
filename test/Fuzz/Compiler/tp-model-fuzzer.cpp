//===- tp-model-fuzzer.cpp - MLIR text through the middle of tp -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text is a model with its plan in it. A first line `// after STAGE` makes
// it IR as that stage leaves it: what the stage's verify pass lets through has
// to be enough for the stages behind. What fails must say why, and where.
//
//===----------------------------------------------------------------------===//

#include "../MemoryFile.h"
#include "FuzzContext.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/ParseSource.h"
#include "tp/Pipelines/Compile.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Transforms/Normalize/NormalizePasses.h"
#include "tp/Transforms/Plan/PlanPasses.h"
#include "tp/Transforms/Propagate/PropagatePasses.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"

using namespace mlir;

static std::unique_ptr<Pass> createVerifyAfter(llvm::StringRef stage) {
  if (stage == "apply-plan")
    return tp::createVerifyBound();
  if (stage == "normalize")
    return tp::createVerifyNormalForm();
  if (stage == "propagate")
    return tp::createVerifyAssignment();
  if (stage == "materialize")
    return tp::createVerifyMaterialized();
  if (stage == "insert-collectives")
    return tp::createVerifyCollectives();
  return nullptr;
}

static LogicalResult runStages(ModuleOp module, llvm::StringRef text) {
  PassManager manager(module.getContext());
  llvm::StringRef first = text.split('\n').first;
  bool behind = true;
  if (first.consume_front("// after ")) {
    std::unique_ptr<Pass> verify = createVerifyAfter(first.trim());
    behind = !verify;
    if (verify)
      manager.addPass(std::move(verify));
  }
  for (const tp::PipelineStage &stage : tp::partitionStages()) {
    if (behind)
      stage.build(manager, tp::PartitionOptions());
    behind |= stage.name == first.trim();
  }
  return manager.run(module);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Attributes stay in a context for good: a new one now and then.
  static std::unique_ptr<MLIRContext> context;
  static unsigned runs = 0;
  if (runs++ % 256 == 0)
    tp::fuzz::renew(context);
  tp::fuzz::LocatedErrors errors(*context);
  tp::fuzz::MemoryFile file(data, size);
  llvm::StringRef content(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module =
      tp::parseSource(file.path(), "the model", context.get());
  errors.check(module && succeeded(runStages(*module, content)));
  return 0;
}
