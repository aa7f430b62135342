//===- DriverApi.h - what tp uses of the CUDA driver API --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by hand from the documentation of the CUDA driver API (cuda.h of
// CUDA 13.0), so that no toolkit is needed to build. Names, values and layouts
// are that header's; test/Runtime/cuda/CudaHeaders.cpp holds them against it
// where it is installed.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_DRIVERAPI_H
#define TP_RUNTIME_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are the driver's.
namespace tp::runtime::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUpointer_attribute = int;

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NOT_INITIALIZED = 3;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_INVALID_DEVICE = 101;
inline constexpr CUresult CUDA_ERROR_INVALID_IMAGE = 200;
inline constexpr CUresult CUDA_ERROR_INVALID_CONTEXT = 201;
inline constexpr CUresult CUDA_ERROR_NO_BINARY_FOR_GPU = 209;
inline constexpr CUresult CUDA_ERROR_INVALID_PTX = 218;
inline constexpr CUresult CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221;
inline constexpr CUresult CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222;
inline constexpr CUresult CUDA_ERROR_JIT_COMPILATION_DISABLED = 223;
inline constexpr CUresult CUDA_ERROR_INVALID_HANDLE = 400;
inline constexpr CUresult CUDA_ERROR_NOT_FOUND = 500;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;
inline constexpr CUresult CUDA_ERROR_ILLEGAL_ADDRESS = 700;
inline constexpr CUresult CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701;
inline constexpr CUresult CUDA_ERROR_LAUNCH_FAILED = 719;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905;
inline constexpr CUresult CUDA_ERROR_CAPTURED_EVENT = 907;

/// CUdevice_attribute
inline constexpr int CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
/// CUfunction_attribute
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
/// CUjit_option
inline constexpr int CU_JIT_ERROR_LOG_BUFFER = 5;
inline constexpr int CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
/// CUpointer_attribute
inline constexpr CUpointer_attribute CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2;
inline constexpr CUpointer_attribute CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9;
/// CUstreamCaptureStatus
inline constexpr int CU_STREAM_CAPTURE_STATUS_NONE = 0;
/// CUmemorytype
inline constexpr int CU_MEMORYTYPE_DEVICE = 2;
/// CUstreamCaptureMode
inline constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;

/// Keys of cuLaunchKernel's `extra`, as addresses.
inline constexpr uintptr_t CU_LAUNCH_PARAM_END_AS_INT = 0;
inline constexpr uintptr_t CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT = 1;
inline constexpr uintptr_t CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT = 2;

inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
/// CUstreamWaitValue_flags
inline constexpr unsigned CU_STREAM_WAIT_VALUE_GEQ = 0;
inline constexpr unsigned CU_EVENT_DEFAULT = 0;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
/// Each launch of a graph records the event, and not its capture.
inline constexpr unsigned CU_EVENT_RECORD_EXTERNAL = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;

/// A copy of `Height` rows of `WidthInBytes`.
struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

} // namespace tp::runtime::cuda
// NOLINTEND(readability-identifier-naming)

/// X(name, symbol in the library, parameters) of each function; all return a
/// CUresult. Where the header's name is a macro for a newer version of the
/// function, the symbol is that version's.
// clang-format off
#define TP_CUDA_DRIVER_FUNCTIONS(X)                                            \
  X(cuGetErrorName, cuGetErrorName, (CUresult, const char **))                 \
  X(cuInit, cuInit, (unsigned))                                                \
  X(cuDriverGetVersion, cuDriverGetVersion, (int *))                           \
  X(cuDeviceGetCount, cuDeviceGetCount, (int *))                               \
  X(cuDeviceGet, cuDeviceGet, (CUdevice *, int))                               \
  X(cuDeviceGetName, cuDeviceGetName, (char *, int, CUdevice))                 \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, CUdevice))        \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                        \
    (CUcontext *, CUdevice))                                                   \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice))       \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext))                             \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))                        \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *))                        \
  X(cuPointerGetAttribute, cuPointerGetAttribute,                              \
    (void *, CUpointer_attribute, CUdeviceptr))                                \
  X(cuMemGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))                       \
  X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                        \
  X(cuMemFree, cuMemFree_v2, (CUdeviceptr))                                    \
  X(cuMemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))               \
  X(cuMemFreeHost, cuMemFreeHost, (void *))                                    \
  X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                   \
    (CUdeviceptr *, void *, unsigned))                                         \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                   \
    (CUdeviceptr, const void *, size_t, CUstream))                             \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                   \
    (void *, CUdeviceptr, size_t, CUstream))                                   \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                   \
    (CUdeviceptr, CUdeviceptr, size_t, CUstream))                              \
  X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *, CUstream))    \
  X(cuMemsetD8Async, cuMemsetD8Async,                                          \
    (CUdeviceptr, unsigned char, size_t, CUstream))                            \
  X(cuMemsetD2D8Async, cuMemsetD2D8Async,                                      \
    (CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream))            \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx,                                    \
    (CUmodule *, const void *, unsigned, int *, void **))                      \
  X(cuModuleUnload, cuModuleUnload, (CUmodule))                                \
  X(cuModuleGetFunction, cuModuleGetFunction,                                  \
    (CUfunction *, CUmodule, const char *))                                    \
  X(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))            \
  X(cuLaunchKernel, cuLaunchKernel,                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  X(cuStreamCreate, cuStreamCreate, (CUstream *, unsigned))                    \
  X(cuStreamDestroy, cuStreamDestroy_v2, (CUstream))                           \
  X(cuStreamQuery, cuStreamQuery, (CUstream))                                  \
  X(cuStreamGetCtx, cuStreamGetCtx, (CUstream, CUcontext *))                   \
  X(cuStreamIsCapturing, cuStreamIsCapturing, (CUstream, int *))               \
  X(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))       \
  X(cuStreamWaitValue32, cuStreamWaitValue32_v2,                               \
    (CUstream, CUdeviceptr, uint32_t, unsigned))                               \
  X(cuStreamWriteValue32, cuStreamWriteValue32_v2,                             \
    (CUstream, CUdeviceptr, uint32_t, unsigned))                               \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, int))            \
  X(cuStreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph *))             \
  X(cuEventCreate, cuEventCreate, (CUevent *, unsigned))                       \
  X(cuEventDestroy, cuEventDestroy_v2, (CUevent))                              \
  X(cuEventRecord, cuEventRecord, (CUevent, CUstream))                         \
  X(cuEventRecordWithFlags, cuEventRecordWithFlags,                            \
    (CUevent, CUstream, unsigned))                                             \
  X(cuEventQuery, cuEventQuery, (CUevent))                                     \
  X(cuEventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))       \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags,                           \
    (CUgraphExec *, CUgraph, unsigned long long))                              \
  X(cuGraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))                     \
  X(cuGraphDestroy, cuGraphDestroy, (CUgraph))                                 \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))
// clang-format on

#endif // TP_RUNTIME_CUDA_DRIVERAPI_H
