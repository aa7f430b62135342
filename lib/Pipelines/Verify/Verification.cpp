//===- Verification.cpp - every stage on random data ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify/Verification.h"

using namespace mlir;
using namespace tp;

LogicalResult Verification::check(ModuleOp module, StringRef stage) {
  if (last.stopped)
    return success();
  SimulateOptions options;
  options.seed = seed;
  options.asFarAsPossible = true;
  if (stage == "partition" || stage == "bucket-collectives") {
    last = {};
    return simulatePartitioned(module, *reference, options, &last);
  }
  if (stage != "materialize" && stage != "insert-collectives")
    return success();
  last = {};
  reference = module.clone();
  return simulate(module, options, &last);
}

void Verification::print(raw_ostream &os) const {
  if (last.stopped)
    return;
  if (last.ranks == 0) {
    os << "verified nothing: without a plan one rank runs the whole program\n";
    return;
  }
  SimulateReport shown = last;
  shown.unnamed = 0; // They are compared before the partition.
  os << "verified: " << describe(shown) << "\n";
}
