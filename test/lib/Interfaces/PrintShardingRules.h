//===- PrintShardingRules.h - rules as remarks ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_INTERFACES_PRINTSHARDINGRULES_H
#define TP_TEST_LIB_INTERFACES_PRINTSHARDINGRULES_H

namespace tp {
/// Registers `tp-print-sharding-rules`, which tests of rules use.
void registerPrintShardingRulesPass();
} // namespace tp

#endif // TP_TEST_LIB_INTERFACES_PRINTSHARDINGRULES_H
