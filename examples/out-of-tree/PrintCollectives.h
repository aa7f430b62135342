//===- PrintCollectives.h - a pass of another project -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PRINTCOLLECTIVES_H
#define PRINTCOLLECTIVES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "tp/IR/Collectives/CollectiveBytes.h"
#include "tp/IR/Entries.h"
#include "llvm/Support/raw_ostream.h"

/// Prints the collectives of a program, before tp-partition or after, and the
/// bytes that a rank sends for each in a step.
struct PrintCollectives
    : mlir::PassWrapper<PrintCollectives, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintCollectives)
  llvm::StringRef getArgument() const override { return "print-collectives"; }
  void runOnOperation() override {
    getOperation()->walk([](mlir::func::FuncOp function) {
      int64_t times = tp::timesOf(function);
      function.walk([&](mlir::Operation *op) {
        if (std::optional<tp::Collective> collective = tp::asCollective(op))
          llvm::outs() << tp::toString(collective->kind) << " over "
                       << collective->axes.groupSize() << " ranks, "
                       << times * tp::bytesOfCollective(op).ring
                       << " bytes: " << op->getResult(0).getType() << "\n";
      });
    });
  }
};

#endif // PRINTCOLLECTIVES_H
