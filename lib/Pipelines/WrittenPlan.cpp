//===- WrittenPlan.cpp - the plan of what tp chose, as a file -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Styles ask for more than layouts of weights, so a plan in their words is
// given back to the compiler before anybody else gets it.
//
//===----------------------------------------------------------------------===//

#include "WrittenPlan.h"
#include "TrialPartition.h"
#include "tp/Files/TemporaryFile.h"
#include "tp/Transforms/Plan/TorchPlan.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tp;

StringRef tp::writtenPlanFile(StringRef output) {
  output.consume_front("torch:");
  return output;
}

/// The text in the language of the output.
static FailureOr<std::string> inLanguage(std::string text, StringRef output,
                                         ModuleOp model) {
  if (writtenPlanFile(output) == output)
    return text;
  return torchPlan(text, *model.getOps<func::FuncOp>().begin());
}

FailureOr<std::string> tp::writtenPlan(ModuleOp model, ModuleOp partitioned,
                                       PartitionOptions options,
                                       StringRef output, Location loc) {
  FailureOr<TrialPartition> chosen =
      measurePartition(partitioned, options.hardware);
  if (failed(chosen))
    return failure();
  TemporaryFile temporary;
  if (runtime::Status status = temporary.create(".plan.mlir"); !status.ok())
    return emitError(loc) << status.message();
  StringRef path = temporary.path();
  options.explain = options.remarks = false;
  std::string text;
  std::optional<TrialPartition> last;
  for (StringRef entries : {"modules", "ports"}) {
    PartitionOptions write = options, read = options;
    write.writePlan = std::string(path);
    write.writtenEntries = entries.str();
    if (failed(tryPartition(model, write)))
      return emitError(loc) << "cannot write the plan that was chosen";
    auto file = llvm::MemoryBuffer::getFile(path);
    if (!file)
      return emitError(loc)
             << "cannot read '" << path << "': " << file.getError().message();
    text = (*file)->getBuffer().str();
    read.plan = std::string(path);
    read.mesh.clear();
    read.writePlan.clear();
    FailureOr<TrialPartition> again = tryPartition(model, read);
    if (failed(again))
      continue;
    if (again->layouts == chosen->layouts &&
        again->rank.ringBytes == chosen->rank.ringBytes)
      return inLanguage(text, output, model);
    last = std::move(*again);
  }
  InFlightDiagnostic warning = emitWarning(loc);
  warning << "the plan that is written does not say all that was chosen";
  if (last)
    warning << ": a rank sends " << last->rank.ringBytes
            << " bytes under it and " << chosen->rank.ringBytes << " as chosen"
            << (last->layouts == chosen->layouts
                    ? ""
                    : ", and some arguments or results have other layouts");
  return inLanguage(text, output, model);
}
