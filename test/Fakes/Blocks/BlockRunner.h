//===- BlockRunner.h - GPU kernels on the host ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel of a section cubin.host: one fiber per thread of a block,
// blocks one after the other. What the kernel asks of the device, its code
// calls here as "tp_block_...", so a program that runs kernels exports its
// symbols.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_BLOCKS_BLOCKRUNNER_H
#define TP_TEST_FAKES_BLOCKS_BLOCKRUNNER_H

#include "AccessMeter.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tp::fakes {

/// As the shared object exports it: `params[i]` is the address of argument i,
/// as in cuLaunchKernel.
using HostKernel = void (*)(void *const *params);

/// The most shared memory of a block, in bytes.
inline constexpr int64_t mostSharedBytes = 227 * 1024;

/// Runs the kernel on every thread of every block, the blocks in an order that
/// is no kernel's. Returns an empty string, or what went wrong: a launch that
/// no device takes, a barrier or an exchange that not all of its threads reach,
/// shared memory written beyond `sharedBytes` or touched by two threads without
/// a barrier between. Shared memory is full of NaN where a block begins.
/// Kernels of several host threads run one after the other.
std::string runKernel(HostKernel kernel, void *const *params,
                      std::array<int64_t, 3> grid, std::array<int64_t, 3> block,
                      int64_t sharedBytes);

/// The same for the blocks of these numbers alone, x fastest; what they tell of
/// accesses is counted in `meter` (null: not).
std::string runBlocks(HostKernel kernel, void *const *params,
                      std::array<int64_t, 3> grid, std::array<int64_t, 3> block,
                      int64_t sharedBytes, const std::vector<int64_t> &numbers,
                      AccessMeter *meter);

} // namespace tp::fakes

#endif // TP_TEST_FAKES_BLOCKS_BLOCKRUNNER_H
