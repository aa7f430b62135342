//===- SerialRunner.h - kernels without barriers on the host ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels run by where there is no BlockRunner, with the same call:
// threads run one after the other, so that kernels with barriers or exchanges,
// and those with shared memory, cannot.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_SERIALRUNNER_H
#define TP_TEST_FAKES_SERIALRUNNER_H

#include <array>
#include <cstdint>
#include <string>

namespace tp::fakes {

/// `params[i]` is the address of argument i, as in cuLaunchKernel.
using HostKernel = void (*)(void *const *params);

/// Runs the kernel on every thread of every block. Returns an empty string, or
/// what went wrong.
std::string runKernel(HostKernel kernel, void *const *params,
                      std::array<int64_t, 3> grid, std::array<int64_t, 3> block,
                      int64_t sharedBytes);

} // namespace tp::fakes

#endif // TP_TEST_FAKES_SERIALRUNNER_H
