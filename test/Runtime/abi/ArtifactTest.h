//===- ArtifactTest.h - tests of one artifact -------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_ABI_ARTIFACTTEST_H
#define TP_TEST_RUNTIME_ABI_ARTIFACTTEST_H

#include "AbiCalls.h"
#include "TestProgram.h"

namespace tp::test {

/// A test that opens a program through the C ABI.
class ArtifactTest : public testing::Test {
protected:
  void open(TestProgram &program) {
    std::string path = program.write(folder.file("p.tp"));
    expectOk(tp_artifact_open(path.c_str(), &artifact));
  }
  void TearDown() override { tp_artifact_close(artifact); }

  TemporaryFolder folder;
  tp_artifact *artifact = nullptr;
};

} // namespace tp::test

#endif // TP_TEST_RUNTIME_ABI_ARTIFACTTEST_H
