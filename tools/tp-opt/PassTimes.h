//===- PassTimes.h - what every pass costs ----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--mlir-timing` shows the time that passed, which on a busy machine is that
// of others too. This is the process's own.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TPOPT_PASSTIMES_H
#define TP_TOOLS_TPOPT_PASSTIMES_H

#include "mlir/Pass/PassManager.h"

namespace tp {

/// CPU seconds, user and system of all threads, since the process began.
double cpuSeconds();

/// A pass as it ran, with the verification of the program after it and the
/// passes it ran itself. `depth`: how many passes it ran in.
struct PassTime {
  std::string pass;
  unsigned depth = 0;
  double begin = 0, end = 0;
};

/// Lets `manager` add its passes to `times`, in the order they begin.
void recordPassTimes(mlir::PassManager &manager, std::vector<PassTime> &times);

/// `{"passes": [{"pass", "depth", "cpu_seconds"}], "before", "after", "total",
/// "peak_bytes"}`: `before` the first pass the input is read, `after` the last
/// one the program is printed; seconds of CPU. `peak_bytes`: the largest
/// resident size.
void writePassTimes(llvm::raw_ostream &os, llvm::ArrayRef<PassTime> times);

} // namespace tp

#endif // TP_TOOLS_TPOPT_PASSTIMES_H
