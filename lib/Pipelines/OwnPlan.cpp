//===- OwnPlan.cpp - models that bring a plan, or have none ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnPlan.h"
#include "tp/Transforms/Import/ImportPasses.h"

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
