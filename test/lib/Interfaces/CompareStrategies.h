//===- CompareStrategies.h - rules against what holds -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_INTERFACES_COMPARESTRATEGIES_H
#define TP_TEST_LIB_INTERFACES_COMPARESTRATEGIES_H

namespace tp {
/// Registers `tp-compare-strategies`, which tests of rules use.
void registerCompareStrategiesPass();
} // namespace tp

#endif // TP_TEST_LIB_INTERFACES_COMPARESTRATEGIES_H
