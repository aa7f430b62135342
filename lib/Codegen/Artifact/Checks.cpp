//===- Checks.cpp - assertions before what outlives a step ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A failed assertion does not interrupt a step. Where ranks agree on all of
// them before a step writes its first argument, one that fails leaves state as
// it was.
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "Program/Buffers.h"
#include "Program/CommandUses.h"
#include "tp/IR/Entries.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;
namespace rt = tp::runtime;

namespace {
/// A command of a step: the entry or the part, and its place there.
struct Place {
  size_t program = 0;
  int64_t command = 0;
};
} // namespace

static bool checks(Operation *command) {
  auto launch = dyn_cast<tp::LaunchOp>(command);
  return launch && launch.getChecks();
}

static bool writesArgument(Operation *command, const Buffers &buffers) {
  return llvm::any_of(usesOf(command).writes, [&](Value memory) {
    return buffers.spaceOf(memory) == Space::Argument;
  });
}

void tp::target::describeChecks(ArrayRef<ManifestSource> programs,
                                rt::Manifest &manifest, int64_t entry) {
  std::vector<int64_t> step = manifest.partsOf(entry);
  step.push_back(entry);
  std::optional<Place> lastCheck, firstWrite;
  for (size_t i = 0; i < step.size(); ++i) {
    func::FuncOp function = programs[step[i]].function;
    Buffers buffers(function, programs[step[i]].constantsAt);
    for (auto [number, command] : llvm::enumerate(commandsOf(function))) {
      Place place{i, int64_t(number)};
      if (checks(command))
        lastCheck = place;
      if (!firstWrite && writesArgument(command, buffers))
        firstWrite = place;
    }
  }
  if (!lastCheck || !firstWrite || lastCheck->program > firstWrite->program)
    return;
  auto runsOnce = [&](size_t program) {
    const auto &part = manifest.entries[step[program]].part;
    return !part || part->times == 1;
  };
  if (runsOnce(firstWrite->program)) {
    if (lastCheck->program < firstWrite->program ||
        lastCheck->command < firstWrite->command)
      manifest.entries[step[firstWrite->program]].agreeAt = firstWrite->command;
    return;
  }
  // The iterations of a loop write: ranks agree behind a program before it.
  for (size_t i = firstWrite->program; i-- > lastCheck->program;)
    if (rt::Entry &before = manifest.entries[step[i]]; runsOnce(i)) {
      before.agreeAt = int64_t(before.program.size());
      return;
    }
}
