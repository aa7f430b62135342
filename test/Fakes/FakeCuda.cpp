//===- FakeCuda.cpp - a libcuda whose device is the host ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeQueues.h"
#include <cstdlib>
#include <cstring>

using namespace tp::fake;

extern thread_local int tpFakeOrdinal;

thread_local Fault tp::fake::fault;
std::set<void *> tp::fake::handles;
std::set<CUstream> tp::fake::streams;
Graph *tp::fake::capturing = nullptr;

namespace {

bool initialized = false;
/// The thread's contexts; the last one is current.
thread_local std::vector<CUcontext> contexts;

} // namespace

CUcontext tp::fake::currentContext() {
  return contexts.empty() ? nullptr : contexts.back();
}

/// Contexts are the handles of their devices.
static constexpr int firstHandle = 100;

int tp::fake::currentDevice() {
  CUcontext context = currentContext();
  return context ? int(reinterpret_cast<uintptr_t>(context)) - firstHandle : -1;
}

CUresult tp::fake::enter(const char *function, Needs needs, Order order) {
  fault = faultOf(function);
  if (fault.kind == Fault::Code)
    return fault.code;
  if (needs >= Driver && !initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (needs >= Context && !currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (needs >= Context && stickyError() != CUDA_SUCCESS)
    return stickyError();
  if (capturing && order != Ordered) {
    capturing->broken = true;
    complain(std::string(function) + " while a stream is captured");
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (order == Drains)
    drain(function);
  return CUDA_SUCCESS;
}

extern "C" {

TP_FAKE CUresult cuGetErrorName(CUresult error, const char **name) {
  switch (error) {
#define NAME(CODE)                                                             \
  case CODE:                                                                   \
    *name = #CODE;                                                             \
    return CUDA_SUCCESS;
    NAME(CUDA_ERROR_INVALID_VALUE)
    NAME(CUDA_ERROR_OUT_OF_MEMORY)
    NAME(CUDA_ERROR_NOT_INITIALIZED)
    NAME(CUDA_ERROR_NO_DEVICE)
    NAME(CUDA_ERROR_INVALID_DEVICE)
    NAME(CUDA_ERROR_INVALID_IMAGE)
    NAME(CUDA_ERROR_INVALID_CONTEXT)
    NAME(CUDA_ERROR_NO_BINARY_FOR_GPU)
    NAME(CUDA_ERROR_INVALID_PTX)
    NAME(CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
    NAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    NAME(CUDA_ERROR_JIT_COMPILATION_DISABLED)
    NAME(CUDA_ERROR_INVALID_HANDLE)
    NAME(CUDA_ERROR_NOT_FOUND)
    NAME(CUDA_ERROR_NOT_READY)
    NAME(CUDA_ERROR_ILLEGAL_ADDRESS)
    NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    NAME(CUDA_ERROR_LAUNCH_FAILED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    NAME(CUDA_ERROR_CAPTURED_EVENT)
#undef NAME
  }
  return CUDA_ERROR_INVALID_VALUE;
}

TP_FAKE CUresult cuInit(unsigned) {
  ENTER("cuInit", Nothing)
  initialized = true;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDriverGetVersion(int *version) {
  const char *wish = std::getenv("TP_FAKE_DRIVER");
  *version = wish ? std::atoi(wish) : 13000;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDeviceGetCount(int *count) {
  ENTER("cuDeviceGetCount", Driver)
  const char *wish = std::getenv("TP_FAKE_DEVICES");
  *count = wish ? std::atoi(wish) : 8;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  tpFakeOrdinal = ordinal;
  ENTER("cuDeviceGet", Driver)
  *device = firstHandle + ordinal;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  ENTER("cuDeviceGetName", Driver)
  std::strncpy(name, "fake", size);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  ENTER("cuDeviceGetAttribute", Driver)
  if (attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) {
    *value = 1 << 20;
    return CUDA_SUCCESS;
  }
  if (attribute != CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
      attribute != CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    return CUDA_ERROR_INVALID_VALUE;
  // A chip of this number, as far as the choice of code goes.
  const char *wish = std::getenv("TP_FAKE_CHIP");
  int chip = wish ? std::atoi(wish) : 0;
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
               ? chip / 10
               : chip % 10;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  ENTER("cuDevicePrimaryCtxRetain", Driver)
  *context = reinterpret_cast<CUcontext>(uintptr_t(device));
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  ENTER("cuDevicePrimaryCtxRelease", Driver)
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER("cuCtxSetCurrent", Driver)
  if (!contexts.empty())
    contexts.pop_back();
  if (context)
    contexts.push_back(context);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuCtxPushCurrent_v2(CUcontext context) {
  ENTER("cuCtxPushCurrent", Driver)
  contexts.push_back(context);
  return CUDA_SUCCESS;
}
/// Also after an error of the device, which it does not ask anything.
TP_FAKE CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  ENTER("cuCtxPopCurrent", Driver)
  if (contexts.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = contexts.back();
  contexts.pop_back();
  return CUDA_SUCCESS;
}

} // extern "C"
