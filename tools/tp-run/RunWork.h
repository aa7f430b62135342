//===- RunWork.h - what tp-run does with a rank -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_RUNWORK_H
#define TP_TOOLS_TP_RUN_RUNWORK_H

#include "Data/InputLoader.h"
#include "tp/Runtime/Launch/LaunchRanks.h"

namespace tp::run {

/// Loads what the options name, and times commands where they ask for it.
class RunWork final : public runtime::RankWork {
public:
  RunWork(const Options &options, const InputLoader &loader)
      : options(options), loader(loader) {}
  runtime::Status load(runtime::Rank &rank) const override;
  runtime::Status feed(runtime::Rank &rank, int64_t step) const override;
  runtime::Status finish(runtime::Rank &rank) const override;

private:
  const Options &options;
  const InputLoader &loader;
};

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_RUNWORK_H
