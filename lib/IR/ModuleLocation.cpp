//===- ModuleLocation.cpp - where in the model an op comes from -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/ModuleLocation.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Path.h"

using namespace mlir;

/// The location `"module"("node")` inside `location`, or null.
static NameLoc moduleLocation(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return isa<NameLoc>(name.getChildLoc()) ? name : NameLoc();
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      if (NameLoc found = moduleLocation(part))
        return found;
    return {};
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return moduleLocation(call.getCallee());
  return {};
}

StringRef tp::moduleOf(Location location) {
  NameLoc name = moduleLocation(location);
  return name ? name.getName().getValue() : StringRef();
}

StringRef tp::nodeOf(Location location) {
  NameLoc name = moduleLocation(location);
  return name ? cast<NameLoc>(name.getChildLoc()).getName().getValue()
              : StringRef();
}

bool tp::isOfBackwardPass(Location location) {
  if (StringRef module = moduleOf(location); !module.empty())
    return module.starts_with("bwd:");
  return StringRef(sourceNameOf(location).location).contains(" bwd:");
}

tp::SourceName tp::sourceNameOf(Location location) {
  SourceName name{moduleOf(location).str(), nodeOf(location).str()};
  if (auto plain = dyn_cast<NameLoc>(location); plain && name.location.empty())
    name.location = plain.getName().str();
  else if (auto file = dyn_cast<FileLineColLoc>(location))
    name.location = (llvm::sys::path::filename(file.getFilename().getValue()) +
                     ":" + Twine(file.getLine()))
                        .str();
  // What a function without names of its own computes is its caller's.
  else if (auto call = dyn_cast<CallSiteLoc>(location);
           call && name.location.empty()) {
    SourceName callee = sourceNameOf(call.getCallee());
    return callee.location.empty() ? sourceNameOf(call.getCaller()) : callee;
  }
  return name;
}
