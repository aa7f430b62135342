//===- TimedRun.h - runs that may reach a time-out --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_CUDA_TIMEDRUN_H
#define TP_TEST_RUNTIME_CUDA_TIMEDRUN_H

#include "CudaRun.h"
#include "Patience.h"

namespace tp::test {

/// Runs until the time-out that `text` speaks of, as "%T", fires where it says;
/// a run of which it speaks of none has no time-out. `text` becomes what the
/// run has to say.
inline CudaOutcome runInTime(CudaRun &folder, const std::string &arguments,
                             const std::string &environment,
                             std::string &text) {
  CudaOutcome done;
  for (double seconds : timeouts) {
    std::string part = withTimeout(text, seconds);
    bool reaches = part != text;
    done = folder.run(arguments + " --timeout=" +
                          secondsText(reaches ? seconds : neverSeconds),
                      environment);
    if (reaches && firedElsewhere(done.err, {part}, seconds))
      continue;
    text = part;
    break;
  }
  return done;
}

} // namespace tp::test

#endif // TP_TEST_RUNTIME_CUDA_TIMEDRUN_H
