//===- IdleRanks.cpp - warnings of runs that waste ranks ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdleRanks.h"
#include "Weights/ForgottenWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"
#include "llvm/Support/MathExtras.h"
#include <map>

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
  warnOfForgottenWeights(module, location);
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
        << attr::kind
        << " = \"parameter\"': every rank may do all the work; tp.export_jax "
           "takes them as 'parameters='";
}

namespace {
/// `parts` of `unit` elements each, divided among `ranks`.
struct Division {
  int64_t parts, unit, ranks;
  auto operator<=>(const Division &) const = default;

  /// What each rank has; the first ones have most.
  SmallVector<int64_t> ofRanks() const {
    SmallVector<int64_t> counts;
    int64_t most = llvm::divideCeil(parts, ranks);
    for (int64_t rank = 0; rank < ranks; ++rank)
      counts.push_back(std::clamp<int64_t>(parts - rank * most, 0, most));
    return counts;
  }
};
} // namespace

/// How the dimensions of a weight are divided that are cut in units.
static SmallVector<Division> divisionsOf(const runtime::Port &port) {
  std::map<int64_t, Division> divisions;
  for (const runtime::AxisPlacement &placement : port.layout) {
    const auto *shard = std::get_if<runtime::Sharded>(&placement.what);
    if (!shard || shard->unit == 1)
      continue;
    int64_t size = shard->segments.empty() ? port.shape[shard->dim]
                                           : shard->segments.front();
    auto [it, isNew] = divisions.insert(
        {shard->dim,
         {int64_t(llvm::divideCeil(size, shard->unit)), shard->unit, 1}});
    it->second.ranks *= placement.part.size;
  }
  SmallVector<Division> uneven;
  for (const auto &[dim, division] : divisions)
    if (division.parts % division.ranks != 0)
      uneven.push_back(division);
  return uneven;
}

static void remarkUnevenHeads(const runtime::Manifest &manifest,
                              Location location) {
  std::map<Division, std::vector<std::string>> weights;
  for (const runtime::Port &port : manifest.arguments)
    if (port.role() == runtime::PortRole::Parameter && !port.dead)
      for (const Division &division : divisionsOf(port))
        weights[division].push_back(port.name);
  for (const auto &[division, names] : weights) {
    InFlightDiagnostic remark =
        emitRemark(location) << division.parts << " parts of " << division.unit
                             << " elements that are never cut (heads), as in '"
                             << names.front() << "'";
    if (names.size() > 1)
      remark << " and " << names.size() - 1 << " more";
    remark << ", do not divide by " << division.ranks << " ranks, which hold ";
    constexpr size_t mostListed = 8;
    SmallVector<int64_t> counts = division.ofRanks();
    llvm::interleaveComma(ArrayRef(counts).take_front(mostListed), remark);
    remark << (counts.size() > mostListed ? ", ..." : "")
           << ": a step takes as long as " << counts.front() << " of them";
  }
}

/// Warns of axes along which ranks hold the same, and send each other nothing.
static void warnOfIdleAxes(const runtime::Manifest &manifest,
                           Location location) {
  SmallVector<bool> isUsed(manifest.mesh.axes.size(), false);
  auto use = [&](const runtime::Port &port) {
    for (const runtime::AxisPlacement &placement : port.layout)
      if (!std::holds_alternative<runtime::Replicated>(placement.what))
        isUsed[placement.part.axis] = true;
  };
  llvm::for_each(manifest.arguments, use);
  for (const runtime::Entry &entry : manifest.entries)
    llvm::for_each(entry.results, use);
  for (const runtime::RankGroup &group : manifest.groups)
    for (const runtime::AxisPart &part : group.axes)
      isUsed[part.axis] = true;
  for (auto [axis, isUsed] : llvm::zip_equal(manifest.mesh.axes, isUsed))
    if (!isUsed && axis.size > 1)
      emitWarning(location)
          << "the " << axis.size << " ranks along '" << axis.name
          << "' all do the same work: nothing is split over the axis, and "
             "nothing is sent along it; shard an input over it, or leave it "
             "out of the mesh";
}

void tp::warnOfIdleRanks(const runtime::Manifest &manifest, Location location) {
  remarkUnevenHeads(manifest, location);
  warnOfIdleAxes(manifest, location);
  bool hasResults =
      llvm::any_of(manifest.entries, [](const runtime::Entry &entry) {
        return !entry.results.empty();
      });
  int64_t ranks = manifest.mesh.numRanks();
  SmallVector<int64_t> idle;
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (llvm::all_of(manifest.entries, [&](const runtime::Entry &entry) {
          return llvm::all_of(entry.results, [&](const runtime::Port &result) {
            return !llvm::is_contained(result.shape, 0) &&
                   result.slice(manifest.mesh.coordinates(rank)).boxes.empty();
          });
        }))
      idle.push_back(rank);
  if (!hasResults || idle.empty())
    return;
  InFlightDiagnostic warning = emitWarning(location)
                               << idle.size() << " of " << ranks
                               << " ranks hold no part of any result: rank ";
  llvm::interleaveComma(ArrayRef(idle).take_front(8), warning);
  warning << (idle.size() > 8 ? ", ..." : "");
}
