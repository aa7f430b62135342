//===- CheckShardingRules.h - rules against the unsharded op ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_INTERFACES_CHECKSHARDINGRULES_H
#define TP_TEST_LIB_INTERFACES_CHECKSHARDINGRULES_H

namespace tp {
/// Registers `tp-check-sharding-rules`, which tests of rules use.
void registerCheckShardingRulesPass();
} // namespace tp

#endif // TP_TEST_LIB_INTERFACES_CHECKSHARDINGRULES_H
