//===- Verification.h - every stage on random data --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_VERIFY_VERIFICATION_H
#define TP_LIB_PIPELINES_VERIFY_VERIFICATION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tp/Simulate/Simulator.h"

namespace tp {

/// Runs a program on all ranks after its stages, for `--verify`.
class Verification {
public:
  explicit Verification(unsigned seed) : seed(seed) {}

  /// Checks the program after `stage`. Before layouts stand in the types there
  /// is nothing to check; the partitioned program is held against the one with
  /// layouts. What cannot be run at one stage cannot be at the next either.
  mlir::LogicalResult check(mlir::ModuleOp module, llvm::StringRef stage);

  /// Prints what was compared. Where an op could not be run, a remark has said
  /// so already.
  void print(llvm::raw_ostream &os) const;

private:
  unsigned seed;
  mlir::OwningOpRef<mlir::ModuleOp> reference;
  SimulateReport last;
};

} // namespace tp

#endif // TP_LIB_PIPELINES_VERIFY_VERIFICATION_H
