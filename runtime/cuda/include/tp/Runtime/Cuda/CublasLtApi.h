//===- CublasLtApi.h - what tp uses of cuBLASLt -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by hand from cuBLAS's documentation (cublasLt.h, cublas_api.h and
// library_types.h of CUDA 13.0); see DriverApi.h.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_CUBLASLTAPI_H
#define TP_RUNTIME_CUDA_CUBLASLTAPI_H

#include "tp/Runtime/Cuda/DriverApi.h"

// NOLINTBEGIN(readability-identifier-naming): the names are cuBLAS's.
namespace tp::runtime::cuda {

using cublasStatus_t = int;
using cublasLtHandle_t = struct cublasLtContext *;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t *;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t *;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t *;

inline constexpr cublasStatus_t CUBLAS_STATUS_SUCCESS = 0;
inline constexpr cublasStatus_t CUBLAS_STATUS_NOT_INITIALIZED = 1;
inline constexpr cublasStatus_t CUBLAS_STATUS_INVALID_VALUE = 7;
inline constexpr cublasStatus_t CUBLAS_STATUS_EXECUTION_FAILED = 13;
inline constexpr cublasStatus_t CUBLAS_STATUS_NOT_SUPPORTED = 15;

/// cudaDataType_t
inline constexpr int CUDA_R_32F = 0;
inline constexpr int CUDA_R_64F = 1;
inline constexpr int CUDA_R_16F = 2;
inline constexpr int CUDA_R_16BF = 14;
/// cublasComputeType_t
inline constexpr int CUBLAS_COMPUTE_32F = 68;
inline constexpr int CUBLAS_COMPUTE_64F = 70;
inline constexpr int CUBLAS_COMPUTE_32F_FAST_TF32 = 77;
/// cublasOperation_t
inline constexpr int CUBLAS_OP_N = 0;
inline constexpr int CUBLAS_OP_T = 1;
/// cublasLtMatmulDescAttributes_t; int32_t twice, uint32_t, const void *
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSA = 3;
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSB = 4;
inline constexpr int CUBLASLT_MATMUL_DESC_EPILOGUE = 7;
inline constexpr int CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8;
/// cublasLtEpilogue_t; bias goes with each of the others
inline constexpr uint32_t CUBLASLT_EPILOGUE_DEFAULT = 1;
inline constexpr uint32_t CUBLASLT_EPILOGUE_RELU = 2;
inline constexpr uint32_t CUBLASLT_EPILOGUE_BIAS = 4;
inline constexpr uint32_t CUBLASLT_EPILOGUE_GELU = 32;
inline constexpr uint32_t CUBLASLT_EPILOGUE_RELU_BIAS = 6;
inline constexpr uint32_t CUBLASLT_EPILOGUE_GELU_BIAS = 36;
/// cublasLtMatrixLayoutAttribute_t; int32_t and int64_t
inline constexpr int CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5;
inline constexpr int CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6;
/// cublasLtMatmulPreferenceAttributes_t; uint64_t, then uint32_t
inline constexpr int CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8;

struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

} // namespace tp::runtime::cuda
// NOLINTEND(readability-identifier-naming)

/// X(name, symbol, parameters); all return a cublasStatus_t.
// clang-format off
#define TP_CUBLASLT_FUNCTIONS(X)                                               \
  X(cublasLtCreate, cublasLtCreate, (cublasLtHandle_t *))                      \
  X(cublasLtDestroy, cublasLtDestroy, (cublasLtHandle_t))                      \
  X(cublasLtMatmulDescCreate, cublasLtMatmulDescCreate,                        \
    (cublasLtMatmulDesc_t *, int, int))                                        \
  X(cublasLtMatmulDescDestroy, cublasLtMatmulDescDestroy,                      \
    (cublasLtMatmulDesc_t))                                                    \
  X(cublasLtMatmulDescSetAttribute, cublasLtMatmulDescSetAttribute,            \
    (cublasLtMatmulDesc_t, int, const void *, size_t))                         \
  X(cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutCreate,                    \
    (cublasLtMatrixLayout_t *, int, uint64_t, uint64_t, int64_t))              \
  X(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayoutDestroy,                  \
    (cublasLtMatrixLayout_t))                                                  \
  X(cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutSetAttribute,        \
    (cublasLtMatrixLayout_t, int, const void *, size_t))                       \
  X(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceCreate,            \
    (cublasLtMatmulPreference_t *))                                            \
  X(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreferenceDestroy,          \
    (cublasLtMatmulPreference_t))                                              \
  X(cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreferenceSetAttribute,\
    (cublasLtMatmulPreference_t, int, const void *, size_t))                   \
  X(cublasLtMatmulAlgoGetHeuristic, cublasLtMatmulAlgoGetHeuristic,            \
    (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,           \
     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,   \
     cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *,       \
     int *))                                                                   \
  X(cublasLtMatmulAlgoCheck, cublasLtMatmulAlgoCheck,                          \
    (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,           \
     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,   \
     const cublasLtMatmulAlgo_t *, cublasLtMatmulHeuristicResult_t *))         \
  X(cublasLtMatmul, cublasLtMatmul,                                            \
    (cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *,       \
     cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t,             \
     const void *, const void *, cublasLtMatrixLayout_t, void *,               \
     cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, void *, size_t,     \
     CUstream))
// clang-format on

#endif // TP_RUNTIME_CUDA_CUBLASLTAPI_H
