//===- tp-plugin.cpp - tp's passes in mlir-opt ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "tp/Pipelines/Compile.h"
#include "tp/Runtime/Version.h"

/// A tool may load the file as both kinds of plugin; a pipeline is registered
/// once.
static void registerPasses() {
  static bool done = [] {
    tp::registerAllPasses();
    return true;
  }();
  (void)done;
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tp", TP_VERSION, registerPasses};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tp", TP_VERSION,
          [](mlir::DialectRegistry *registry) {
            tp::registerCompileDialects(*registry);
            registerPasses();
          }};
}
