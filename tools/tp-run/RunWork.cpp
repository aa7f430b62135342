//===- RunWork.cpp - what tp-run does with a rank -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunWork.h"
#include "Report/Summary.h"
#include <cstdio>

using namespace tp::run;
using namespace tp::runtime;

Status RunWork::load(Rank &rank) const {
  if (Status status = loader.fill(rank); !status.ok())
    return status;
  if (options.skipCollectives && options.randomSeed)
    return rank.fillSkippedResults(*options.randomSeed);
  return {};
}

Status RunWork::feed(Rank &rank, int64_t step) const {
  if (options.isUnreal())
    if (Status status = loader.fillCounters(rank); !status.ok())
      return status;
  return loader.fillStep(rank, step);
}

Status RunWork::finish(Rank &rank) const {
  if (options.commandTimes.empty())
    return {};
  StepTimes measured;
  Status status = rank.measureCommands(options.repeat, measured);
  if (status.ok())
    status = writeCommandTimes(options.commandTimes, rank.program(),
                               rank.rank(), measured);
  if (status.ok() && options.stats)
    std::fputs(
        describeCommandTimes(rank.program(), rank.rank(), measured).c_str(),
        stdout);
  return status;
}
