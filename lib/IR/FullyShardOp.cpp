//===- FullyShardOp.cpp - parameters as shards, and their options ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

bool FullyShardOp::keepsGathered() {
  auto keep = getOptions().getAs<BoolAttr>("keep");
  return keep && keep.getValue();
}

bool FullyShardOp::shardsParameters() {
  auto stage = getOptions().getAs<IntegerAttr>("stage");
  return !stage || stage.getInt() == 3;
}

LogicalResult FullyShardOp::verify() {
  for (NamedAttribute option : getOptions()) {
    Attribute value = option.getValue();
    if (option.getName() == "keep") {
      if (!isa<BoolAttr>(value))
        return emitOpError() << "'keep' takes true or false, got " << value;
    } else if (option.getName() == "stage") {
      auto stage = dyn_cast<IntegerAttr>(value);
      if (!stage || isa<BoolAttr>(value) || stage.getInt() < 1 ||
          stage.getInt() > 3)
        return emitOpError()
               << "'stage' is 1, 2 or 3, got "
               << (stage && !isa<BoolAttr>(value) ? Twine(stage.getInt()).str()
                                                  : "no integer")
               << ": 3 shards parameters and optimizer states, 1 and 2 "
                  "optimizer states alone";
    } else {
      return emitOpError() << "tp.fully_shard has no option '"
                           << option.getName().getValue()
                           << "', its options are keep and stage";
    }
  }
  if (keepsGathered() && !shardsParameters())
    return emitOpError() << "'keep' is for stage 3: at stages 1 and 2 no "
                            "parameter is gathered, leave it out";
  return success();
}

// The other entry that is no style.
LogicalResult RecomputeOp::verify() {
  if (getOptions().empty())
    return success();
  return emitOpError() << "tp.recompute has no option '"
                       << getOptions().begin()->getName().getValue()
                       << "', it has none at all";
}
