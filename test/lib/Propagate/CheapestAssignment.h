//===- CheapestAssignment.h - what a program costs at least -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_PROPAGATE_CHEAPESTASSIGNMENT_H
#define TP_TEST_LIB_PROPAGATE_CHEAPESTASSIGNMENT_H

namespace tp {
/// Registers `tp-cheapest-assignment`, which tests of tp-propagate use.
void registerCheapestAssignmentPass();
} // namespace tp

#endif // TP_TEST_LIB_PROPAGATE_CHEAPESTASSIGNMENT_H
