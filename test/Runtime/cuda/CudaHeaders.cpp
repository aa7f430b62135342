//===- CudaHeaders.cpp - declarations against the real headers ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values, layouts and prototypes that are declared by hand against those of
// NVIDIA's headers. TP_HEADERS_DRIVER, TP_HEADERS_CUBLASLT, TP_HEADERS_NCCL and
// TP_HEADERS_CUDNN say which of them are there. scripts/check-cuda-headers.py
// sees to it that nothing is left out here.
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/CublasLtApi.h"
#include "tp/Runtime/Cuda/CudnnApi.h"
#include "tp/Runtime/Cuda/NcclApi.h"

namespace ours = tp::runtime::cuda;

// Macros in the real header.
static constexpr int symmetric = ours::NCCL_WIN_COLL_SYMMETRIC;
static constexpr int windowAlignment = ours::NCCL_WIN_REQUIRED_ALIGNMENT;
static constexpr auto paramEnd = ours::CU_LAUNCH_PARAM_END_AS_INT;
static constexpr auto paramPointer =
    ours::CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT;
static constexpr auto paramSize = ours::CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT;
static constexpr unsigned portable = ours::CU_MEMHOSTALLOC_PORTABLE;
static constexpr unsigned deviceMap = ours::CU_MEMHOSTALLOC_DEVICEMAP;

#ifdef TP_HEADERS_DRIVER
#include <cuda.h>
#endif
#ifdef TP_HEADERS_CUBLASLT
#include <cublasLt.h>
#endif
#ifdef TP_HEADERS_NCCL
#include <nccl.h>
#endif
#ifdef TP_HEADERS_CUDNN
#include <cudnn_graph.h>
#endif
#include <type_traits>

namespace {

/// Whether an argument of one type is passed as one of the other: enumerations
/// are integers here, and handles pointers to structures of our own.
template <typename Ours, typename Theirs> constexpr bool passesAlike() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    using To = std::remove_cv_t<std::remove_pointer_t<Ours>>;
    using TheirTo = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
    constexpr bool opaque = std::is_void_v<To> || std::is_class_v<To>;
    if constexpr (!std::is_pointer_v<Ours> || !std::is_pointer_v<Theirs>)
      return false;
    else if constexpr (std::is_void_v<TheirTo> || std::is_class_v<TheirTo>)
      return opaque && std::is_void_v<To> == std::is_void_v<TheirTo>;
    else
      return !opaque && passesAlike<To, TheirTo>();
  } else if constexpr (std::is_class_v<Ours> || std::is_class_v<Theirs>) {
    return std::is_class_v<Ours> == std::is_class_v<Theirs> &&
           sizeof(Ours) == sizeof(Theirs);
  } else {
    return sizeof(Ours) == sizeof(Theirs) &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs> &&
           (std::is_enum_v<Theirs> ||
            std::is_signed_v<Ours> == std::is_signed_v<Theirs>);
  }
}

template <typename Ours, typename Theirs> struct SameCall : std::false_type {};
template <typename... Ours, typename Result, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct SameCall<int(Ours...), Result(Theirs...)>
    : std::bool_constant<sizeof(Result) == sizeof(int) &&
                         (passesAlike<Ours, Theirs>() && ...)> {};

} // namespace

#define SAME_CALL(NAME, SYMBOL, PARAMETERS)                                    \
  static_assert(::SameCall<int PARAMETERS, decltype(::SYMBOL)>::value, #SYMBOL);

// The header's names are macros of newer versions in part.
#define SAME(NAME)                                                             \
  static_assert((long long)(ours::NAME) == (long long)(::NAME), #NAME);
#define SAME_MEMBER(TYPE, MEMBER)                                              \
  static_assert(offsetof(ours::TYPE, MEMBER) == offsetof(::TYPE, MEMBER) &&    \
                    sizeof(ours::TYPE::MEMBER) == sizeof(::TYPE::MEMBER),      \
                #TYPE "::" #MEMBER);
#define SAME_SIZE(TYPE)                                                        \
  static_assert(sizeof(ours::TYPE) == sizeof(::TYPE), #TYPE);

#ifdef TP_HEADERS_DRIVER
namespace tp::runtime::cuda {
TP_CUDA_DRIVER_FUNCTIONS(SAME_CALL)
}
SAME(CUDA_SUCCESS)
SAME(CUDA_ERROR_INVALID_VALUE)
SAME(CUDA_ERROR_OUT_OF_MEMORY)
SAME(CUDA_ERROR_NOT_INITIALIZED)
SAME(CUDA_ERROR_NO_DEVICE)
SAME(CUDA_ERROR_INVALID_DEVICE)
SAME(CUDA_ERROR_INVALID_IMAGE)
SAME(CUDA_ERROR_INVALID_CONTEXT)
SAME(CUDA_ERROR_NO_BINARY_FOR_GPU)
SAME(CUDA_ERROR_INVALID_PTX)
SAME(CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
SAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
SAME(CUDA_ERROR_JIT_COMPILATION_DISABLED)
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
SAME(CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
SAME(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
SAME(CU_STREAM_CAPTURE_STATUS_NONE)
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
SAME(CU_EVENT_RECORD_EXTERNAL)
static_assert(portable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(deviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(paramEnd == CU_LAUNCH_PARAM_END_AS_INT);
static_assert(paramPointer == CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
static_assert(paramSize == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);
SAME_SIZE(CUDA_MEMCPY2D)
SAME_MEMBER(CUDA_MEMCPY2D, srcXInBytes)
SAME_MEMBER(CUDA_MEMCPY2D, srcY)
SAME_MEMBER(CUDA_MEMCPY2D, srcMemoryType)
SAME_MEMBER(CUDA_MEMCPY2D, srcHost)
SAME_MEMBER(CUDA_MEMCPY2D, srcDevice)
SAME_MEMBER(CUDA_MEMCPY2D, srcArray)
SAME_MEMBER(CUDA_MEMCPY2D, srcPitch)
SAME_MEMBER(CUDA_MEMCPY2D, dstXInBytes)
SAME_MEMBER(CUDA_MEMCPY2D, dstY)
SAME_MEMBER(CUDA_MEMCPY2D, dstMemoryType)
SAME_MEMBER(CUDA_MEMCPY2D, dstHost)
SAME_MEMBER(CUDA_MEMCPY2D, dstDevice)
SAME_MEMBER(CUDA_MEMCPY2D, dstArray)
SAME_MEMBER(CUDA_MEMCPY2D, dstPitch)
SAME_MEMBER(CUDA_MEMCPY2D, WidthInBytes)
SAME_MEMBER(CUDA_MEMCPY2D, Height)
#endif

#ifdef TP_HEADERS_NCCL
namespace tp::runtime::cuda {
TP_NCCL_FUNCTIONS(SAME_CALL)
}
static_assert(symmetric == NCCL_WIN_COLL_SYMMETRIC);
static_assert(windowAlignment == NCCL_WIN_REQUIRED_ALIGNMENT);
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
SAME(ncclUint32)
SAME(ncclInt64)
SAME(ncclUint64)
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
SAME_SIZE(ncclUniqueId)
SAME_MEMBER(ncclUniqueId, internal)
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
#endif

#ifdef TP_HEADERS_CUBLASLT
namespace tp::runtime::cuda {
TP_CUBLASLT_FUNCTIONS(SAME_CALL)
}
static_assert(std::is_same_v<decltype(::cublasLtGetVersion), size_t()>);
static_assert(std::is_same_v<decltype(::cublasLtGetStatusName),
                             const char *(::cublasStatus_t)>);
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
SAME(CUBLASLT_MATMUL_DESC_EPILOGUE)
SAME(CUBLASLT_MATMUL_DESC_BIAS_POINTER)
SAME(CUBLASLT_EPILOGUE_DEFAULT)
SAME(CUBLASLT_EPILOGUE_RELU)
SAME(CUBLASLT_EPILOGUE_BIAS)
SAME(CUBLASLT_EPILOGUE_GELU)
SAME(CUBLASLT_EPILOGUE_RELU_BIAS)
SAME(CUBLASLT_EPILOGUE_GELU_BIAS)
SAME(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
SAME(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)

SAME_SIZE(cublasLtMatmulAlgo_t)
SAME_MEMBER(cublasLtMatmulAlgo_t, data)
SAME_SIZE(cublasLtMatmulHeuristicResult_t)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, algo)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, workspaceSize)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, state)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, wavesCount)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, reserved)
#endif

#ifdef TP_HEADERS_CUDNN
namespace tp::runtime::cuda {
TP_CUDNN_FUNCTIONS(SAME_CALL)
}
static_assert(std::is_same_v<decltype(::cudnnGetVersion), size_t()>);
static_assert(std::is_same_v<decltype(::cudnnGetErrorString),
                             const char *(::cudnnStatus_t)>);
static_assert(
    std::is_same_v<decltype(::cudnnGetLastErrorString), void(char *, size_t)>);
SAME(CUDNN_STATUS_SUCCESS)
SAME(CUDNN_STATUS_NOT_INITIALIZED)
SAME(CUDNN_STATUS_BAD_PARAM)
SAME(CUDNN_STATUS_NOT_SUPPORTED)
SAME(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
SAME(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)
SAME(CUDNN_STATUS_INTERNAL_ERROR)
SAME(CUDNN_STATUS_EXECUTION_FAILED)
SAME(CUDNN_DATA_FLOAT)
SAME(CUDNN_DATA_HALF)
SAME(CUDNN_DATA_INT32)
SAME(CUDNN_DATA_BFLOAT16)
SAME(CUDNN_DATA_BOOLEAN)
SAME(CUDNN_REDUCE_TENSOR_ADD)
SAME(CUDNN_REDUCE_TENSOR_MAX)
SAME(CUDNN_POINTWISE_ADD)
SAME(CUDNN_POINTWISE_MUL)
SAME(CUDNN_POINTWISE_DIV)
SAME(CUDNN_POINTWISE_SUB)
SAME(CUDNN_POINTWISE_EXP)
SAME(CUDNN_POINTWISE_LOG)
SAME(CUDNN_POINTWISE_CMP_GT)
SAME(CUDNN_POINTWISE_CMP_GE)
SAME(CUDNN_POINTWISE_GEN_INDEX)
SAME(CUDNN_POINTWISE_BINARY_SELECT)
SAME(CUDNN_HEUR_MODE_FALLBACK)
SAME(CUDNN_HEUR_MODE_A)
SAME(CUDNN_TYPE_HANDLE)
SAME(CUDNN_TYPE_DATA_TYPE)
SAME(CUDNN_TYPE_BOOLEAN)
SAME(CUDNN_TYPE_INT64)
SAME(CUDNN_TYPE_VOID_PTR)
SAME(CUDNN_TYPE_HEUR_MODE)
SAME(CUDNN_TYPE_POINTWISE_MODE)
SAME(CUDNN_TYPE_BACKEND_DESCRIPTOR)
SAME(CUDNN_TYPE_REDUCTION_OPERATOR_TYPE)
SAME(CUDNN_TYPE_CHAR)
SAME(CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
SAME(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
SAME(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
SAME(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
SAME(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
SAME(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
SAME(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
SAME(CUDNN_BACKEND_TENSOR_DESCRIPTOR)
SAME(CUDNN_BACKEND_MATMUL_DESCRIPTOR)
SAME(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
SAME(CUDNN_BACKEND_REDUCTION_DESCRIPTOR)
SAME(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
SAME(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)
SAME(CUDNN_ATTR_POINTWISE_MODE)
SAME(CUDNN_ATTR_POINTWISE_MATH_PREC)
SAME(CUDNN_ATTR_POINTWISE_AXIS)
SAME(CUDNN_ATTR_ENGINEHEUR_MODE)
SAME(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
SAME(CUDNN_ATTR_ENGINEHEUR_RESULTS)
SAME(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP)
SAME(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)
SAME(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
SAME(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
SAME(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP)
SAME(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
SAME(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)
SAME(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)
SAME(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)
SAME(CUDNN_ATTR_OPERATION_POINTWISE_TDESC)
SAME(CUDNN_ATTR_OPERATIONGRAPH_HANDLE)
SAME(CUDNN_ATTR_OPERATIONGRAPH_OPS)
SAME(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)
SAME(CUDNN_ATTR_TENSOR_DATA_TYPE)
SAME(CUDNN_ATTR_TENSOR_DIMENSIONS)
SAME(CUDNN_ATTR_TENSOR_STRIDES)
SAME(CUDNN_ATTR_TENSOR_UNIQUE_ID)
SAME(CUDNN_ATTR_TENSOR_IS_VIRTUAL)
SAME(CUDNN_ATTR_TENSOR_IS_BY_VALUE)
SAME(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)
SAME(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
SAME(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)
SAME(CUDNN_ATTR_MATMUL_COMP_TYPE)
SAME(CUDNN_ATTR_OPERATION_MATMUL_ADESC)
SAME(CUDNN_ATTR_OPERATION_MATMUL_BDESC)
SAME(CUDNN_ATTR_OPERATION_MATMUL_CDESC)
SAME(CUDNN_ATTR_OPERATION_MATMUL_DESC)
SAME(CUDNN_ATTR_REDUCTION_OPERATOR)
SAME(CUDNN_ATTR_REDUCTION_COMP_TYPE)
SAME(CUDNN_ATTR_OPERATION_REDUCTION_XDESC)
SAME(CUDNN_ATTR_OPERATION_REDUCTION_YDESC)
SAME(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
SAME(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)
#endif
