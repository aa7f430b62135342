//===- OutputText.h - what the compiler's tools write -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_FILES_OUTPUTTEXT_H
#define TP_FILES_OUTPUTTEXT_H

#include "tp/Runtime/OutputFile.h"
#include "llvm/ADT/StringRef.h"

namespace tp {

/// Writes `text` to the file `path` (tp/Runtime/OutputFile.h), `-` being the
/// standard output.
runtime::Status writeOutputText(llvm::StringRef path, llvm::StringRef text);

} // namespace tp

#endif // TP_FILES_OUTPUTTEXT_H
