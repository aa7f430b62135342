//===- SerialRunner.cpp - kernels without barriers on the host ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SerialRunner.h"

using namespace tp::fakes;

namespace {

/// The thread that runs: its place in the block, the block's in the grid.
struct Place {
  std::array<int64_t, 3> thread, block, threads, blocks;
} place;

template <typename Visit>
void forEach(const std::array<int64_t, 3> &sizes, std::array<int64_t, 3> &at,
             Visit visit) {
  for (at[2] = 0; at[2] < sizes[2]; ++at[2])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[0] = 0; at[0] < sizes[0]; ++at[0])
        visit();
}

} // namespace

std::string tp::fakes::runKernel(HostKernel kernel, void *const *params,
                                 std::array<int64_t, 3> grid,
                                 std::array<int64_t, 3> block,
                                 int64_t sharedBytes) {
  if (sharedBytes)
    return "this device has no shared memory";
  place.threads = block;
  place.blocks = grid;
  forEach(place.blocks, place.block, [&] {
    forEach(place.threads, place.thread, [&] { kernel(params); });
  });
  return "";
}

// What kernels call, named after the intrinsics of NVVM.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
int32_t tp_block_read_ptx_sreg_tid_x() { return place.thread[0]; }
int32_t tp_block_read_ptx_sreg_tid_y() { return place.thread[1]; }
int32_t tp_block_read_ptx_sreg_tid_z() { return place.thread[2]; }
int32_t tp_block_read_ptx_sreg_ntid_x() { return place.threads[0]; }
int32_t tp_block_read_ptx_sreg_ctaid_x() { return place.block[0]; }
int32_t tp_block_read_ptx_sreg_ctaid_y() { return place.block[1]; }
int32_t tp_block_read_ptx_sreg_ctaid_z() { return place.block[2]; }
int32_t tp_block_read_ptx_sreg_nctaid_x() { return place.blocks[0]; }
}
// NOLINTEND(readability-identifier-naming)
