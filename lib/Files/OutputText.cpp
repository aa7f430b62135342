//===- OutputText.cpp - what the compiler's tools write -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Files/OutputText.h"
#include "llvm/Support/raw_ostream.h"

using namespace tp;

runtime::Status tp::writeOutputText(llvm::StringRef path,
                                    llvm::StringRef text) {
  // What has been printed so far comes first, whatever `path` names.
  llvm::raw_fd_ostream &os = llvm::outs();
  if (path == "-")
    os << text;
  os.flush();
  if (path != "-")
    return runtime::writeOutputFile(path.str(), {text.data(), text.size()});
  std::error_code error = os.error();
  os.clear_error();
  // A reader that has seen enough is no failure.
  if (error == std::errc::broken_pipe)
    return {};
  return error ? runtime::fileError("cannot write to the standard output: " +
                                    error.message())
               : runtime::Status();
}
