//===- UnnamedWeights.cpp - weights that no plan entry names --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnnamedWeights.h"
#include "BoundArguments.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
namespace rt = tp::runtime;

std::vector<rt::Port> tp::unnamedWeights(Attribute bindings,
                                         const rt::Manifest &manifest) {
  std::vector<rt::Port> unnamed;
  if (!bindings || manifest.mesh.numRanks() == 1)
    return unnamed;
  BoundArguments bound(cast<ArrayAttr>(bindings));
  // A plan names by its position the argument of an entry.
  llvm::StringSet<> seen;
  for (const rt::Entry &each : manifest.entries) {
    rt::EntryView entry(manifest, each);
    for (auto [position, port] : llvm::enumerate(entry.arguments))
      if (bound.containsPosition(position))
        seen.insert(port.name);
  }
  for (const rt::Port &port : manifest.arguments)
    if (port.role() == rt::PortRole::Parameter && !port.dead &&
        port.shape.size() >= 2 && port.localShape() == port.shape &&
        !bound.containsName(port.name, port.kind) && !seen.contains(port.name))
      unnamed.push_back(port);
  return unnamed;
}

static void list(ArrayRef<rt::Port> weights, InFlightDiagnostic &diagnostic) {
  constexpr size_t mostListed = 8;
  llvm::interleaveComma(
      weights.take_front(mostListed), diagnostic,
      [&](const rt::Port &port) { diagnostic << "'" << port.name << "'"; });
  if (weights.size() > mostListed)
    diagnostic << " and " << weights.size() - mostListed << " more";
}

void tp::remarkUnnamedWeights(Attribute bindings, const rt::Manifest &manifest,
                              Location location) {
  std::vector<rt::Port> unnamed = unnamedWeights(bindings, manifest);
  if (unnamed.empty())
    return;
  InFlightDiagnostic remark =
      emitRemark(location) << "without implicit collectives every rank does "
                              "the work of weights that no plan entry names: ";
  list(unnamed, remark);
}

LogicalResult tp::forbidUnnamedWeights(Attribute bindings,
                                       const rt::Manifest &manifest,
                                       Location location) {
  if (!bindings && manifest.mesh.numRanks() > 1)
    return emitError(location) << "expected a plan for --no-unnamed-weights, "
                                  "got a program with pins of its own";
  std::vector<rt::Port> unnamed = unnamedWeights(bindings, manifest);
  if (unnamed.empty())
    return success();
  InFlightDiagnostic error =
      emitError(location) << "expected a plan entry for every weight, got none "
                             "for weights that are whole on every rank: ";
  list(unnamed, error);
  StringRef name = unnamed.front().name;
  // Styles are for modules with a matrix.
  if (size_t dot = name.rfind('.');
      dot != StringRef::npos && unnamed.front().shape.size() == 2)
    error.attachNote() << "to keep a weight whole, write 'tp.parallelize \""
                       << name.take_front(dot)
                       << "\" with replicate'; to split it, colwise or "
                          "rowwise";
  else
    error.attachNote() << "to keep a weight whole, write 'tp.argument \""
                       << name << "\" replicate'; to split it, a shard";
  return error;
}
