//===- FakeMemory.h - device memory on the host -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_FAKEMEMORY_H
#define TP_TEST_FAKES_FAKEMEMORY_H

#include "FakeDevice.h"

namespace tp::fake {

/// Allocations between pages that cannot be touched, filled with a pattern; the
/// rest of the last page is a red zone, looked at when the memory is freed.
/// Freed memory can never be touched again.
CUresult allocate(CUdeviceptr *address, size_t bytes);
CUresult release(CUdeviceptr address);
/// The device that was current when the address's memory was allocated; -1 of
/// memory that is not allocated.
int deviceOf(CUdeviceptr address);
/// TP_FAKE_MEMORY bytes, 1 GiB without; what is not allocated of them.
size_t totalMemory();
size_t freeMemory();

} // namespace tp::fake

#endif // TP_TEST_FAKES_FAKEMEMORY_H
