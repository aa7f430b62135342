//===- NcclApi.h - what tp uses of NCCL -------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by hand from NCCL's documentation (nccl.h of 2.28); see DriverApi.h.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_NCCLAPI_H
#define TP_RUNTIME_CUDA_NCCLAPI_H

#include "tp/Runtime/Cuda/DriverApi.h"
#include <climits>

// NOLINTBEGIN(readability-identifier-naming): the names are NCCL's.
namespace tp::runtime::cuda {

using ncclResult_t = int;
using ncclComm_t = struct ncclComm *;
using ncclWindow_t = struct ncclWindow_vidmem *;
using ncclDataType_t = int;
using ncclRedOp_t = int;

inline constexpr ncclResult_t ncclSuccess = 0;
inline constexpr ncclResult_t ncclUnhandledCudaError = 1;
inline constexpr ncclResult_t ncclSystemError = 2;
inline constexpr ncclResult_t ncclInternalError = 3;
inline constexpr ncclResult_t ncclInvalidArgument = 4;
inline constexpr ncclResult_t ncclInvalidUsage = 5;
inline constexpr ncclResult_t ncclRemoteError = 6;
inline constexpr ncclResult_t ncclInProgress = 7;

inline constexpr ncclDataType_t ncclInt8 = 0;
inline constexpr ncclDataType_t ncclUint8 = 1;
inline constexpr ncclDataType_t ncclInt32 = 2;
inline constexpr ncclDataType_t ncclUint32 = 3;
inline constexpr ncclDataType_t ncclInt64 = 4;
inline constexpr ncclDataType_t ncclUint64 = 5;
inline constexpr ncclDataType_t ncclFloat16 = 6;
inline constexpr ncclDataType_t ncclFloat32 = 7;
inline constexpr ncclDataType_t ncclFloat64 = 8;
inline constexpr ncclDataType_t ncclBfloat16 = 9;
inline constexpr ncclDataType_t ncclFloat8e4m3 = 10;
inline constexpr ncclDataType_t ncclFloat8e5m2 = 11;

inline constexpr ncclRedOp_t ncclSum = 0;
inline constexpr ncclRedOp_t ncclProd = 1;
inline constexpr ncclRedOp_t ncclMax = 2;
inline constexpr ncclRedOp_t ncclMin = 3;
inline constexpr ncclRedOp_t ncclAvg = 4;

inline constexpr int NCCL_WIN_COLL_SYMMETRIC = 1;
inline constexpr int NCCL_WIN_REQUIRED_ALIGNMENT = 4096;

struct ncclUniqueId {
  char internal[128];
};

/// ncclConfig_t of 2.28. A newer library reads as much of it as `size` says.
struct ncclConfig_t {
  size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef;
  unsigned version = 22809;
  int blocking = INT_MIN;
  int cgaClusterSize = INT_MIN;
  int minCTAs = INT_MIN;
  int maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
  int trafficClass = INT_MIN;
  const char *commName = nullptr;
  int collnetEnable = INT_MIN;
  int CTAPolicy = INT_MIN;
  int shrinkShare = INT_MIN;
  int nvlsCTAs = INT_MIN;
  int nChannelsPerNetPeer = INT_MIN;
  int nvlinkCentricSched = INT_MIN;
};

} // namespace tp::runtime::cuda
// NOLINTEND(readability-identifier-naming)

/// X(name, symbol, parameters); all return an ncclResult_t.
// clang-format off
#define TP_NCCL_FUNCTIONS(X)                                                   \
  X(ncclGetVersion, ncclGetVersion, (int *))                                   \
  X(ncclGetUniqueId, ncclGetUniqueId, (ncclUniqueId *))                        \
  X(ncclCommInitRankConfig, ncclCommInitRankConfig,                            \
    (ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *))                    \
  X(ncclCommSplit, ncclCommSplit,                                              \
    (ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *))                      \
  X(ncclCommCount, ncclCommCount, (ncclComm_t, int *))                         \
  X(ncclCommUserRank, ncclCommUserRank, (ncclComm_t, int *))                   \
  X(ncclCommCuDevice, ncclCommCuDevice, (ncclComm_t, int *))                   \
  X(ncclCommAbort, ncclCommAbort, (ncclComm_t))                                \
  X(ncclMemAlloc, ncclMemAlloc, (void **, size_t))                             \
  X(ncclMemFree, ncclMemFree, (void *))                                        \
  X(ncclCommRegister, ncclCommRegister,                                        \
    (ncclComm_t, void *, size_t, void **))                                     \
  X(ncclCommDeregister, ncclCommDeregister, (ncclComm_t, void *))              \
  X(ncclCommWindowRegister, ncclCommWindowRegister,                            \
    (ncclComm_t, void *, size_t, ncclWindow_t *, int))                         \
  X(ncclCommWindowDeregister, ncclCommWindowDeregister,                        \
    (ncclComm_t, ncclWindow_t))                                                \
  X(ncclCommGetAsyncError, ncclCommGetAsyncError,                              \
    (ncclComm_t, ncclResult_t *))                                              \
  X(ncclAllReduce, ncclAllReduce,                                              \
    (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,    \
     CUstream))                                                                \
  X(ncclAllGather, ncclAllGather,                                              \
    (const void *, void *, size_t, ncclDataType_t, ncclComm_t, CUstream))      \
  X(ncclReduceScatter, ncclReduceScatter,                                      \
    (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,    \
     CUstream))                                                                \
  X(ncclSend, ncclSend,                                                        \
    (const void *, size_t, ncclDataType_t, int, ncclComm_t, CUstream))         \
  X(ncclRecv, ncclRecv,                                                        \
    (void *, size_t, ncclDataType_t, int, ncclComm_t, CUstream))               \
  X(ncclGroupStart, ncclGroupStart, ())                                        \
  X(ncclGroupEnd, ncclGroupEnd, ())
// clang-format on

#endif // TP_RUNTIME_CUDA_NCCLAPI_H
