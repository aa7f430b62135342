//===- SourceText.h - MLIR text from a file ---------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser recurses as deep as its input is nested, and its bytecode
// reader trusts its input. Input that would crash them is rejected here first.
//
//===----------------------------------------------------------------------===//

#ifndef TP_FILES_SOURCETEXT_H
#define TP_FILES_SOURCETEXT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace tp {

/// An error in a file, and its position. Lines and columns count from 1; both
/// are 0 for an error of the whole file.
struct SourceProblem {
  std::string message;
  unsigned line = 0, column = 0;
};

/// Brackets of MLIR text may be nested this deep. A scope (a module, a
/// function, a loop, a loop nest's body) takes one or two.
inline constexpr unsigned maxSourceNesting = 256;
/// And an expression of index arithmetic may have this many operators.
inline constexpr unsigned maxSourceOperators = 4096;

/// Reads the text of `path`, `-` being standard input; null and a problem if it
/// is no regular file, cannot be read, is no text (bytecode, a zero byte) or is
/// nested too deep. The text is a copy: a file that changes later does not
/// matter.
std::unique_ptr<llvm::MemoryBuffer> readSourceText(llvm::StringRef path,
                                                   SourceProblem &problem);

/// Returns what `body` returns, called on a stack of a gigabyte (of which only
/// what is used takes memory): walks along a program of a million ops, or over
/// attributes that aliases nest, go deep too.
int runOnLargeStack(llvm::function_ref<int()> body);

} // namespace tp

#endif // TP_FILES_SOURCETEXT_H
