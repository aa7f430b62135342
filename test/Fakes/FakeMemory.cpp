//===- FakeMemory.cpp - device memory on the host -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeMemory.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>

using namespace tp::fake;

namespace {

constexpr size_t page = 4096;
constexpr unsigned char redZone = 0xa5, fresh = 0xcd;

struct Allocation {
  size_t bytes;
  int device;
};

std::map<CUdeviceptr, Allocation> &live() {
  static std::map<CUdeviceptr, Allocation> allocations;
  return allocations;
}

size_t pagesOf(size_t bytes) { return (bytes + page - 1) / page * page; }

} // namespace

size_t tp::fake::totalMemory() {
  const char *wish = std::getenv("TP_FAKE_MEMORY");
  return wish ? std::strtoull(wish, nullptr, 10) : size_t(1) << 30;
}

size_t tp::fake::freeMemory() {
  size_t used = 0;
  for (const auto &[address, allocation] : live())
    used += allocation.bytes;
  return totalMemory() - std::min(used, totalMemory());
}

CUresult tp::fake::allocate(CUdeviceptr *address, size_t bytes) {
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > freeMemory())
    return CUDA_ERROR_OUT_OF_MEMORY;
  size_t inside = pagesOf(bytes);
  void *mapped = mmap(nullptr, inside + 2 * page, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  char *memory = static_cast<char *>(mapped) + page;
  mprotect(memory, inside, PROT_READ | PROT_WRITE);
  std::memset(memory, fresh, bytes);
  std::memset(memory + bytes, redZone, inside - bytes);
  *address = CUdeviceptr(memory);
  live()[*address] = {bytes, currentDevice()};
  return CUDA_SUCCESS;
}

CUresult tp::fake::release(CUdeviceptr address) {
  auto found = live().find(address);
  if (found == live().end()) {
    complain("memory is freed that is not allocated");
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto *memory = reinterpret_cast<unsigned char *>(address);
  size_t bytes = found->second.bytes, inside = pagesOf(bytes);
  bool whole = std::all_of(memory + bytes, memory + inside,
                           [](unsigned char byte) { return byte == redZone; });
  mprotect(memory, inside, PROT_NONE);
  live().erase(found);
  if (whole)
    return CUDA_SUCCESS;
  complain("something wrote beyond the end of " + std::to_string(bytes) +
           " bytes of device memory");
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

bool tp::fake::isMemory(CUdeviceptr address, size_t bytes) {
  auto after = live().upper_bound(address);
  if (after == live().begin())
    return false;
  auto [begin, allocation] = *std::prev(after);
  size_t size = allocation.bytes;
  return address - begin <= size && bytes <= size - (address - begin);
}

int tp::fake::deviceOf(CUdeviceptr address) {
  auto after = live().upper_bound(address);
  return isMemory(address, 1) ? std::prev(after)->second.device : -1;
}
