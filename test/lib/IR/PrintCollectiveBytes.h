//===- PrintCollectiveBytes.h - bytes of all collectives --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_IR_PRINTCOLLECTIVEBYTES_H
#define TP_TEST_LIB_IR_PRINTCOLLECTIVEBYTES_H

namespace tp {
/// Registers `tp-print-collective-bytes`.
void registerPrintCollectiveBytesPass();
} // namespace tp

#endif // TP_TEST_LIB_IR_PRINTCOLLECTIVEBYTES_H
