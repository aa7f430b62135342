//===- BFloatRounding.h - rounding to bf16 without a library ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_FLOATS_BFLOATROUNDING_H
#define TP_LIB_CODEGEN_FLOATS_BFLOATROUNDING_H

namespace llvm {
class Module;
}

namespace tp::target {

/// Where `module` computes in bf16, defines the functions that code generation
/// calls on processors without an instruction for it. Not every libgcc has
/// them. To be called after optimisation, which would drop them as unused.
void defineBFloatRounding(llvm::Module &module);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_FLOATS_BFLOATROUNDING_H
