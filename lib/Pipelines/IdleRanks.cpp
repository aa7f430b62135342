//===- IdleRanks.cpp - warnings of runs that are not parallel -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdleRanks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

static int64_t countConstants(ModuleOp module) {
  int64_t elements = 0;
  module.walk([&](arith::ConstantOp op) {
    auto numbers = dyn_cast<DenseElementsAttr>(op.getValue());
    if (numbers && !numbers.isSplat())
      elements += numbers.getNumElements();
  });
  return elements;
}

static int64_t countParameters(ModuleOp module) {
  int64_t elements = 0;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        attr::kind);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (kind && kind == "parameter" && type)
        elements += type.getNumElements();
    }
  return elements;
}

void tp::warnOfReplicas(ModuleOp module, Location location) {
  auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh);
  if (!mesh || mesh.getValue().numRanks() == 1)
    return;
  // Tables of positions and the like are constants of any model.
  constexpr int64_t fewElements = 4096;
  int64_t constants = countConstants(module);
  int64_t parameters = countParameters(module);
  if (constants > std::max(fewElements, parameters))
    emitWarning(location)
        << "constants of " << constants
        << " elements are whole on every rank: weights are split where they "
           "are arguments with '"
        << attr::name << "' and '" << attr::kind << " = \"parameter\"'";
  else if (parameters == 0 && module->hasAttr(attr::autoAxes))
    emitWarning(location)
        << "the plan leaves the layouts of parameters to tp, and no argument "
           "has '"
        << attr::kind << " = \"parameter\"': every rank may do all the work";
}

void tp::warnOfIdleRanks(const runtime::Manifest &manifest, Location location) {
  const runtime::Entry &entry = manifest.entries.front();
  int64_t ranks = manifest.mesh.numRanks();
  SmallVector<int64_t> idle;
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (llvm::all_of(entry.results, [&](const runtime::Port &result) {
          return !llvm::is_contained(result.shape, 0) &&
                 result.slice(manifest.mesh.coordinates(rank)).boxes.empty();
        }))
      idle.push_back(rank);
  if (entry.results.empty() || idle.empty())
    return;
  InFlightDiagnostic warning = emitWarning(location)
                               << idle.size() << " of " << ranks
                               << " ranks hold no part of any result: rank ";
  llvm::interleaveComma(ArrayRef(idle).take_front(8), warning);
  warning << (idle.size() > 8 ? ", ..." : "");
}
