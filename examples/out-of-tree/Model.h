//===- Model.h - a model and a plan -----------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MODEL_H
#define MODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tp/Pipelines/Compile.h"

/// A model in a context that knows what tp's passes need, and passes to run on
/// it with the options of a plan.
struct Model {
  /// `module` is null after an error, which has been printed.
  Model(const char *path, const char *plan)
      : context(dialects()),
        module(mlir::parseSourceFile<mlir::ModuleOp>(path, &context)),
        passes(&context) {
    options.plan = plan;
  }
  bool run() { return mlir::succeeded(passes.run(*module)); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tp::PartitionOptions options;
  mlir::PassManager passes;

private:
  static mlir::DialectRegistry dialects() {
    mlir::DialectRegistry registry;
    tp::registerCompileDialects(registry);
    return registry;
  }
};

#endif // MODEL_H
