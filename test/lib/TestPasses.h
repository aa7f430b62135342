//===- TestPasses.h - passes that only tests run -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_TESTPASSES_H
#define TP_TEST_LIB_TESTPASSES_H

namespace tp {
/// Registers all passes of this folder, which tp-opt has where tests are built.
void registerTestPasses();
} // namespace tp

#endif // TP_TEST_LIB_TESTPASSES_H
