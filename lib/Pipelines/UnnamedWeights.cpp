//===- UnnamedWeights.cpp - weights that no plan entry names --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnnamedWeights.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;
namespace rt = tp::runtime;

/// The arguments that entries bound: by name, by kind and name, or by position.
static llvm::StringSet<> boundArguments(ArrayAttr bindings) {
  llvm::StringSet<> bound;
  for (auto row : bindings.getAsRange<DictionaryAttr>())
    for (auto value :
         row.getAs<ArrayAttr>("values").getAsRange<DictionaryAttr>()) {
      StringRef port = value.getAs<StringAttr>("port").getValue();
      if (llvm::is_contained({"weight", "bias", "parameter", "argument"}, port))
        bound.insert(value.getAs<StringAttr>("loc").getValue());
    }
  return bound;
}

std::vector<rt::Port> tp::unnamedWeights(Attribute bindings,
                                         const rt::Manifest &manifest) {
  std::vector<rt::Port> unnamed;
  if (!bindings || manifest.mesh.numRanks() == 1)
    return unnamed;
  llvm::StringSet<> bound = boundArguments(cast<ArrayAttr>(bindings));
  rt::EntryView entry(manifest, manifest.entries.front());
  for (auto [position, port] : llvm::enumerate(entry.arguments))
    if (port.role() == rt::PortRole::Parameter && !port.dead &&
        port.shape.size() >= 2 && port.localShape() == port.shape &&
        !bound.contains(port.name) &&
        !bound.contains(port.kind + ":" + port.name) &&
        !bound.contains(std::to_string(position)))
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
  if (size_t dot = name.rfind('.'); dot != StringRef::npos)
    error.attachNote() << "to keep a weight whole, write 'tp.parallelize \""
                       << name.take_front(dot)
                       << "\" with replicate'; to split it, colwise or "
                          "rowwise";
  else
    error.attachNote() << "to keep a weight whole, write 'tp.argument \""
                       << name << "\" replicate'; to split it, a shard";
  return error;
}
