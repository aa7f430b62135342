//===- LaneStores.h - masked stores of one element --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CPU_LANESTORES_H
#define TP_LIB_CODEGEN_CPU_LANESTORES_H

namespace llvm {
class Module;
} // namespace llvm

namespace tp::target {

/// Makes masked stores of which one element is written plain stores. LLVM 22
/// joins such a store of an x86 vector with the truncation before it, and then
/// writes the element as wide as it was: four bytes for one of bf16, two of
/// them behind it. The end of a loop that is vectorised is such a store where
/// one element is left.
void expandLaneStores(llvm::Module &module);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_CPU_LANESTORES_H
