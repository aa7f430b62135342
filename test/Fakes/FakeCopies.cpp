//===- FakeCopies.cpp - memory calls of the fake driver -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeMemory.h"
#include "FakeQueues.h"
#include <cstdlib>
#include <cstring>

using namespace tp::fake;

static CUresult outside(const char *function) {
  complain(std::string(function) + " leaves its memory");
  return CUDA_ERROR_INVALID_VALUE;
}

extern "C" {

TP_FAKE CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER("cuMemGetInfo", Context)
  *free = freeMemory();
  *total = totalMemory();
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  ENTER("cuMemAlloc", Context, Drains)
  return allocate(address, bytes);
}
TP_FAKE CUresult cuMemFree_v2(CUdeviceptr address) {
  ENTER("cuMemFree", Context, Drains)
  return release(address);
}
TP_FAKE CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc", Context, Drains)
  *memory = std::calloc(1, bytes);
  return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
TP_FAKE CUresult cuMemFreeHost(void *memory) {
  ENTER("cuMemFreeHost", Context, Drains)
  std::free(memory);
  return CUDA_SUCCESS;
}
/// What is allocated is memory of the device whose context was current.
TP_FAKE CUresult cuPointerGetAttribute(void *value, CUpointer_attribute what,
                                       CUdeviceptr address) {
  ENTER("cuPointerGetAttribute", Driver)
  int device = deviceOf(address);
  if (device < 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (what == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *static_cast<unsigned *>(value) = CU_MEMORYTYPE_DEVICE;
  else if (what == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
    *static_cast<int *>(value) = device;
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *seen, void *memory,
                                              unsigned) {
  ENTER("cuMemHostGetDevicePointer", Context)
  *seen = CUdeviceptr(memory);
  return CUDA_SUCCESS;
}

TP_FAKE CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from,
                                      size_t bytes, CUstream stream) {
  ENTER("cuMemcpyHtoDAsync", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(to, bytes))
    return outside("cuMemcpyHtoDAsync");
  return queueNow(stream, "a copy to the device", fault, [=] {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  });
}
TP_FAKE CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                                      CUstream stream) {
  ENTER("cuMemcpyDtoHAsync", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(from, bytes))
    return outside("cuMemcpyDtoHAsync");
  return queueNow(stream, "a copy to the host", fault, [=] {
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  });
}
TP_FAKE CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                                      size_t bytes, CUstream stream) {
  ENTER("cuMemcpyDtoDAsync", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(from, bytes) || !isMemory(to, bytes))
    return outside("cuMemcpyDtoDAsync");
  return queueNow(stream, "a copy", fault, [=] {
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
                 bytes);
  });
}
TP_FAKE CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy,
                                    CUstream stream) {
  ENTER("cuMemcpy2DAsync", Context)
  NEEDS_HANDLE(stream)
  CUDA_MEMCPY2D c = *copy;
  auto extent = [&](size_t pitch) {
    return c.Height ? (c.Height - 1) * pitch + c.WidthInBytes : 0;
  };
  if (c.srcMemoryType != CU_MEMORYTYPE_DEVICE ||
      c.dstMemoryType != CU_MEMORYTYPE_DEVICE || c.srcPitch < c.WidthInBytes ||
      c.dstPitch < c.WidthInBytes || c.srcXInBytes || c.dstXInBytes || c.srcY ||
      c.dstY)
    return CUDA_ERROR_INVALID_VALUE;
  if (!isMemory(c.srcDevice, extent(c.srcPitch)) ||
      !isMemory(c.dstDevice, extent(c.dstPitch)))
    return outside("cuMemcpy2DAsync");
  return queueNow(stream, "a copy of rows", fault, [=] {
    for (size_t y = 0; y < c.Height; ++y)
      std::memcpy(reinterpret_cast<char *>(c.dstDevice) + y * c.dstPitch,
                  reinterpret_cast<char *>(c.srcDevice) + y * c.srcPitch,
                  c.WidthInBytes);
  });
}
TP_FAKE CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch,
                                   unsigned char value, size_t width,
                                   size_t height, CUstream stream) {
  ENTER("cuMemsetD2D8Async", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(to, height ? (height - 1) * pitch + width : 0))
    return outside("cuMemsetD2D8Async");
  return queueNow(stream, "a fill", fault, [=] {
    for (size_t y = 0; y < height; ++y)
      std::memset(reinterpret_cast<char *>(to) + y * pitch, value, width);
  });
}
TP_FAKE CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                 size_t bytes, CUstream stream) {
  ENTER("cuMemsetD8Async", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(to, bytes))
    return outside("cuMemsetD8Async");
  return queueNow(stream, "a fill", fault, [=] {
    std::memset(reinterpret_cast<void *>(to), value, bytes);
  });
}

} // extern "C"
