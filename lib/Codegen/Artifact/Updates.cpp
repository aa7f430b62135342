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
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"

using namespace mlir;
namespace rt = tp::runtime;

LogicalResult tp::target::describeUpdates(func::FuncOp function,
                                          const rt::Manifest &manifest,
                                          rt::Entry &entry) {
  PortNames arguments(function, PortSide::Argument);
  PortNames results(function, PortSide::Result);
  rt::EntryView view(manifest, entry);
  llvm::DenseSet<unsigned> updated;
  for (auto [i, result] : llvm::enumerate(entry.results)) {
    std::optional<unsigned> argument = arguments.updatedBy(results, i);
    if (!argument)
      continue;
    const rt::Port &port = view.arguments[*argument];
    bool isSame = port.shape == result.shape && port.dtype == result.dtype &&
                  port.layout == result.layout &&
                  port.permutation == result.permutation;
    if (!isSame && function.getResultAttr(i, tp::attr::updates))
      return function.emitError("result #")
             << i << " updates '" << port.name << "', expected its layout "
             << rt::layoutText(port.layout, manifest.mesh) << ", got "
             << rt::layoutText(result.layout, manifest.mesh);
    if (isSame && updated.insert(*argument).second)
      result.update = rt::Update{int64_t(*argument), /*inPlace=*/false, {}};
  }
  return success();
}
