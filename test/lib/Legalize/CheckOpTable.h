//===- CheckOpTable.h - the table of ops and the dialects -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_LEGALIZE_CHECKOPTABLE_H
#define TP_TEST_LIB_LEGALIZE_CHECKOPTABLE_H

namespace tp {
/// Registers `tp-check-op-table`, which compares the table of ops and
/// attributes with what the dialects of this LLVM define.
void registerCheckOpTablePass();
} // namespace tp

#endif // TP_TEST_LIB_LEGALIZE_CHECKOPTABLE_H
