//===- KernelNames.cpp - equal kernels have one name ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelNames.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tp::target;

std::pair<std::string, bool> KernelNames::nameOf(Operation *function) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.useLocalScope();
  flags.elideLargeElementsAttrs(-1);
  function->print(stream, flags);
  auto [entry, isNew] = known.try_emplace(text);
  if (isNew)
    entry->second = "tp_kernel_" + std::to_string(known.size() - 1);
  return {entry->second, isNew};
}
