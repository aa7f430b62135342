//===- CudaHeaders.cpp - declarations against the real headers ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/CublasLtApi.h"
#include "tp/Runtime/Cuda/NcclApi.h"

namespace ours = tp::runtime::cuda;

// Macros in the real header.
static constexpr unsigned portable = ours::CU_MEMHOSTALLOC_PORTABLE;
static constexpr unsigned deviceMap = ours::CU_MEMHOSTALLOC_DEVICEMAP;

#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>

// The header's names are macros of newer versions in part.
#define SAME(NAME)                                                             \
  static_assert((long long)(ours::NAME) == (long long)(::NAME), #NAME);
#define SAME_MEMBER(TYPE, MEMBER)                                              \
  static_assert(offsetof(ours::TYPE, MEMBER) == offsetof(::TYPE, MEMBER) &&    \
                    sizeof(ours::TYPE::MEMBER) == sizeof(::TYPE::MEMBER),      \
                #TYPE "::" #MEMBER);
#define SAME_SIZE(TYPE)                                                        \
  static_assert(sizeof(ours::TYPE) == sizeof(::TYPE), #TYPE);

SAME(CUDA_SUCCESS)
SAME(CUDA_ERROR_INVALID_VALUE)
SAME(CUDA_ERROR_OUT_OF_MEMORY)
SAME(CUDA_ERROR_NOT_INITIALIZED)
SAME(CUDA_ERROR_NO_DEVICE)
SAME(CUDA_ERROR_INVALID_DEVICE)
SAME(CUDA_ERROR_INVALID_IMAGE)
SAME(CUDA_ERROR_INVALID_CONTEXT)
SAME(CUDA_ERROR_INVALID_PTX)
SAME(CUDA_ERROR_INVALID_HANDLE)
SAME(CUDA_ERROR_NOT_FOUND)
SAME(CUDA_ERROR_NOT_READY)
SAME(CUDA_ERROR_ILLEGAL_ADDRESS)
SAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
SAME(CUDA_ERROR_LAUNCH_FAILED)
SAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
SAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
SAME(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
SAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
SAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
SAME(CUDA_ERROR_CAPTURED_EVENT)
SAME(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
SAME(CU_JIT_ERROR_LOG_BUFFER)
SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
SAME(CU_MEMORYTYPE_DEVICE)
SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
SAME(CU_STREAM_NON_BLOCKING)
SAME(CU_STREAM_WAIT_VALUE_GEQ)
SAME(CU_EVENT_DEFAULT)
SAME(CU_EVENT_DISABLE_TIMING)
static_assert(portable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(deviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
SAME(ncclSuccess)
SAME(ncclUnhandledCudaError)
SAME(ncclSystemError)
SAME(ncclInternalError)
SAME(ncclInvalidArgument)
SAME(ncclInvalidUsage)
SAME(ncclRemoteError)
SAME(ncclInProgress)
SAME(ncclInt8)
SAME(ncclUint8)
SAME(ncclInt32)
SAME(ncclInt64)
SAME(ncclFloat16)
SAME(ncclFloat32)
SAME(ncclFloat64)
SAME(ncclBfloat16)
SAME(ncclFloat8e4m3)
SAME(ncclFloat8e5m2)
SAME(ncclSum)
SAME(ncclProd)
SAME(ncclMax)
SAME(ncclMin)
SAME(ncclAvg)
SAME(CUBLAS_STATUS_SUCCESS)
SAME(CUBLAS_STATUS_NOT_INITIALIZED)
SAME(CUBLAS_STATUS_INVALID_VALUE)
SAME(CUBLAS_STATUS_EXECUTION_FAILED)
SAME(CUBLAS_STATUS_NOT_SUPPORTED)
SAME(CUDA_R_32F)
SAME(CUDA_R_64F)
SAME(CUDA_R_16F)
SAME(CUDA_R_16BF)
SAME(CUBLAS_COMPUTE_32F)
SAME(CUBLAS_COMPUTE_64F)
SAME(CUBLAS_COMPUTE_32F_FAST_TF32)
SAME(CUBLAS_OP_N)
SAME(CUBLAS_OP_T)
SAME(CUBLASLT_MATMUL_DESC_TRANSA)
SAME(CUBLASLT_MATMUL_DESC_TRANSB)
SAME(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
SAME(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)

SAME_SIZE(CUDA_MEMCPY2D)
SAME_MEMBER(CUDA_MEMCPY2D, srcXInBytes)
SAME_MEMBER(CUDA_MEMCPY2D, srcMemoryType)
SAME_MEMBER(CUDA_MEMCPY2D, srcHost)
SAME_MEMBER(CUDA_MEMCPY2D, srcDevice)
SAME_MEMBER(CUDA_MEMCPY2D, srcPitch)
SAME_MEMBER(CUDA_MEMCPY2D, dstXInBytes)
SAME_MEMBER(CUDA_MEMCPY2D, dstY)
SAME_MEMBER(CUDA_MEMCPY2D, dstMemoryType)
SAME_MEMBER(CUDA_MEMCPY2D, dstDevice)
SAME_MEMBER(CUDA_MEMCPY2D, dstPitch)
SAME_MEMBER(CUDA_MEMCPY2D, WidthInBytes)
SAME_MEMBER(CUDA_MEMCPY2D, Height)

SAME_SIZE(ncclUniqueId)
// A newer header has more members; it reads as many as the size says.
static_assert(sizeof(ours::ncclConfig_t) <= sizeof(::ncclConfig_t));
SAME_MEMBER(ncclConfig_t, size)
SAME_MEMBER(ncclConfig_t, magic)
SAME_MEMBER(ncclConfig_t, version)
SAME_MEMBER(ncclConfig_t, blocking)
SAME_MEMBER(ncclConfig_t, cgaClusterSize)
SAME_MEMBER(ncclConfig_t, minCTAs)
SAME_MEMBER(ncclConfig_t, maxCTAs)
SAME_MEMBER(ncclConfig_t, netName)
SAME_MEMBER(ncclConfig_t, splitShare)
SAME_MEMBER(ncclConfig_t, trafficClass)
SAME_MEMBER(ncclConfig_t, commName)
SAME_MEMBER(ncclConfig_t, collnetEnable)
SAME_MEMBER(ncclConfig_t, CTAPolicy)
SAME_MEMBER(ncclConfig_t, shrinkShare)
SAME_MEMBER(ncclConfig_t, nvlsCTAs)
SAME_MEMBER(ncclConfig_t, nChannelsPerNetPeer)
SAME_MEMBER(ncclConfig_t, nvlinkCentricSched)

SAME_SIZE(cublasLtMatmulAlgo_t)
SAME_SIZE(cublasLtMatmulHeuristicResult_t)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, algo)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, workspaceSize)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, state)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, wavesCount)
