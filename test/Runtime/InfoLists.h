//===- InfoLists.h - what tp-run --info prints ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_INFOLISTS_H
#define TP_TEST_RUNTIME_INFOLISTS_H

#include "cuda/CudaProgram.h"
#include <cstdlib>

namespace tp::test {

/// `tp-run --info` of the program prints all the parts, and none of `others`.
inline void expectInfo(const CudaProgram &program,
                       const std::vector<const char *> &parts,
                       const std::vector<const char *> &others = {}) {
  TemporaryFolder folder;
  std::string path = program.write(folder.file("m.tp"));
  std::string out = folder.file("out.txt");
  ASSERT_EQ(
      std::system(
          (std::string(TP_RUN) + " --info " + path + " > " + out).c_str()),
      0);
  std::string text = readFile(out);
  for (const char *part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  for (const char *other : others)
    EXPECT_EQ(text.find(other), std::string::npos) << other << "\n" << text;
}

} // namespace tp::test

#endif // TP_TEST_RUNTIME_INFOLISTS_H
