//===- TrialPartition.cpp - a partition made for its numbers --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrialPartition.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tp/IR/Collective.h"
#include "tp/IR/Collectives/CollectiveBytes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/TP.h"
#include "tp/Sharding/Hardware.h"

using namespace mlir;
using namespace tp;

static int64_t timeOfCollectives(func::FuncOp function,
                                 const Hardware &hardware) {
  int64_t time = 0;
  function.walk([&](Operation *op) {
    std::optional<Collective> collective = asCollective(op);
    if (!collective)
      return;
    Machine machine = hardware.machineAlong(
        collective->axes.getMesh().getValue(), collective->axes.getParts());
    time = saturatingAdd(time,
                         collectiveTime(bytesOfCollective(op).ring, machine));
  });
  return saturatingRound(double(time) * double(timesOf(function)));
}

static int64_t timeOfCommands(const ProgramStatistics &rank,
                              const Machine &machine) {
  int64_t time = computeTime(0, rank.movedBytes, machine);
  for (NumberClass numbers : allNumberClasses)
    time = saturatingAdd(
        time, computeTime(rank.operations[static_cast<size_t>(numbers)], 0,
                          machine, numbers));
  return time;
}

FailureOr<TrialPartition> tp::measurePartition(ModuleOp partitioned,
                                               StringRef hardwareName) {
  SourceProblem problem;
  std::optional<Hardware> hardware = readHardware(hardwareName, problem);
  if (!hardware)
    return failure();
  TrialPartition trial;
  for (auto function : partitioned.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      trial.layouts.push_back(function.getArgAttr(i, attr::layout));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      trial.layouts.push_back(function.getResultAttr(i, attr::layout));
    trial.picoseconds = saturatingAdd(trial.picoseconds,
                                      timeOfCollectives(function, *hardware));
  }
  OwningOpRef<ModuleOp> copy = partitioned.clone();
  FailureOr<ProgramStatistics> planned = planMemoryForCPU(*copy);
  if (failed(planned))
    return failure();
  trial.rank = *planned;
  trial.picoseconds = saturatingAdd(
      trial.picoseconds, timeOfCommands(*planned, hardware->machine));
  return trial;
}

FailureOr<TrialPartition> tp::tryPartition(ModuleOp model,
                                           const PartitionOptions &options) {
  MLIRContext *context = model.getContext();
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = model.clone();
  if (failed(runPartitionPipeline(*copy, options)))
    return failure();
  return measurePartition(*copy, options.hardware);
}
