//===- Updates.cpp - results that are an argument's next value ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tp-propagate gives a result and the argument that it updates one layout. A
// result that says so by its kind alone may have another one, where the plan
// says so: then it is no update.
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"

using namespace mlir;
namespace rt = tp::runtime;

LogicalResult tp::target::describeUpdates(const ManifestSource &program,
                                          const rt::Manifest &manifest,
                                          rt::Entry &entry) {
  func::FuncOp function = program.function;
  if (tp::isPartOfEntry(function))
    return success();
  rt::EntryView view(manifest, entry);
  Operation *terminator = function.front().getTerminator();
  for (auto [argument, i] : tp::updatesOf(function)) {
    rt::Port &result = entry.results[i];
    const rt::Port &port = view.arguments[argument];
    auto memory =
        rootBuffer(terminator->getOperand(i)).getDefiningOp<tp::AllocOp>();
    bool inPlace = memory && memory.getMemory();
    auto reason = function.getResultAttrOfType<StringAttr>(i, tp::attr::copied);
    bool isSame = port.shape == result.shape && port.dtype == result.dtype &&
                  port.layout == result.layout &&
                  port.permutation == result.permutation;
    if (!isSame && (inPlace || function.getResultAttr(i, tp::attr::updates)))
      return function.emitError("result #")
             << i << " updates '" << port.name << "', expected its layout "
             << rt::layoutText(port.layout, manifest.mesh) << ", got "
             << rt::layoutText(result.layout, manifest.mesh);
    if (!isSame)
      continue;
    result.update = rt::Update{int64_t(argument), inPlace,
                               reason && !inPlace ? reason.str() : ""};
    if (!inPlace)
      continue;
    auto written = program.writtenBytes.find(memory.getResult());
    if (written != program.writtenBytes.end())
      result.update->writtenBytes = written->second;
  }
  return success();
}
