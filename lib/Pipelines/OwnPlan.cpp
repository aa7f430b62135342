//===- OwnPlan.cpp - plans that are no file of entries --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnPlan.h"
#include "ShortLoops.h"
#include "tp/Transforms/Import/ImportPasses.h"
#include "tp/Transforms/Legalize/LegalizePasses.h"
#include "tp/Transforms/Plan/ExpandedPlan.h"

using namespace mlir;
using namespace tp;

LogicalResult tp::importAnnotations(ModuleOp model,
                                    const CompileOptions &options,
                                    Location location) {
  if (!options.writePlan.empty())
    return emitError(location)
           << "--write-plan writes entries for modules and ports, which cannot "
              "say what shard annotations say of other values; expected a "
              "model without annotations";
  ImportShardOptions import;
  import.plan = options.partition.plan;
  import.mesh = options.partition.mesh;
  PassManager manager(model.getContext());
  manager.addPass(createImportShard(import));
  return manager.run(model);
}

LogicalResult tp::checkWithoutPlan(const CompileOptions &options,
                                   Location location) {
  for (const auto &[option, value] :
       {std::pair("--explain", &options.explain),
        std::pair("--compare", &options.compare),
        std::pair("--what-if", &options.partition.whatIf),
        std::pair("--write-plan", &options.writePlan)})
    if (!value->empty())
      return emitError(location)
             << option << " is about a plan, expected --plan too";
  return success();
}

/// Of loops that are unrolled as they are, where no limit is given.
static constexpr int64_t fewOps = 500;

LogicalResult ExpandedPlanFile::replacePlan(ModuleOp model,
                                            PartitionOptions &options) {
  // Standard input cannot be read again.
  if (options.plan.empty() || options.plan == "-")
    return success();
  FailureOr<std::string> text =
      expandedPlan(options.plan, options.mesh, model, [&](ModuleOp copy) {
        // Unrolled, a long loop may have too many ops.
        shortenLoops(copy, options.unrollLimit.value_or(fewOps));
        PassManager manager(copy.getContext());
        manager.addPass(createLegalize());
        manager.addPass(createVerifyLegal());
        return manager.run(copy);
      });
  if (failed(text))
    return failure();
  if (text->empty())
    return success();
  if (runtime::Status status = file.create(".plan.mlir", *text + "\n");
      !status.ok())
    return model.emitError(status.message());
  options.plan = file.path().str();
  return success();
}
