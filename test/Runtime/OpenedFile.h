//===- OpenedFile.h - readers of files, on bytes ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_OPENEDFILE_H
#define TP_TEST_RUNTIME_OPENEDFILE_H

#include "TestProgram.h"

namespace tp::test {

/// Opens bytes as a file that `Reader` reads.
template <typename Reader> class OpenedFileTest : public testing::Test {
protected:
  runtime::Status open(const std::string &bytes) {
    return Reader::open(folder.write("file", bytes), reader);
  }
  TemporaryFolder folder;
  Reader reader;
};

} // namespace tp::test

#endif // TP_TEST_RUNTIME_OPENEDFILE_H
