//===- CudnnApi.h - what tp uses of cuDNN -----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by hand from cuDNN's documentation of its backend interface
// (cudnn_graph.h of cuDNN 9.19); see DriverApi.h.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_CUDNNAPI_H
#define TP_RUNTIME_CUDA_CUDNNAPI_H

#include "tp/Runtime/Cuda/DriverApi.h"

// NOLINTBEGIN(readability-identifier-naming): the names are cuDNN's.
namespace tp::runtime::cuda {

using cudnnStatus_t = int;
using cudnnHandle_t = struct cudnnContext *;
using cudnnBackendDescriptor_t = void *;

inline constexpr cudnnStatus_t CUDNN_STATUS_SUCCESS = 0;
inline constexpr cudnnStatus_t CUDNN_STATUS_NOT_INITIALIZED = 1001;
inline constexpr cudnnStatus_t CUDNN_STATUS_BAD_PARAM = 2000;
/// Codes from here to the next thousand say what a library cannot do.
inline constexpr cudnnStatus_t CUDNN_STATUS_NOT_SUPPORTED = 3000;
inline constexpr cudnnStatus_t CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN = 3001;
inline constexpr cudnnStatus_t CUDNN_STATUS_NOT_SUPPORTED_SHAPE = 3002;
inline constexpr cudnnStatus_t CUDNN_STATUS_INTERNAL_ERROR = 4000;
inline constexpr cudnnStatus_t CUDNN_STATUS_EXECUTION_FAILED = 5000;

/// cudnnDataType_t
inline constexpr int CUDNN_DATA_FLOAT = 0;
inline constexpr int CUDNN_DATA_HALF = 2;
inline constexpr int CUDNN_DATA_INT32 = 4;
inline constexpr int CUDNN_DATA_BFLOAT16 = 9;
inline constexpr int CUDNN_DATA_BOOLEAN = 11;
/// cudnnReduceTensorOp_t
inline constexpr int CUDNN_REDUCE_TENSOR_ADD = 0;
inline constexpr int CUDNN_REDUCE_TENSOR_MAX = 3;
/// cudnnPointwiseMode_t
inline constexpr int CUDNN_POINTWISE_ADD = 0;
inline constexpr int CUDNN_POINTWISE_MUL = 1;
inline constexpr int CUDNN_POINTWISE_DIV = 6;
inline constexpr int CUDNN_POINTWISE_SUB = 9;
inline constexpr int CUDNN_POINTWISE_EXP = 13;
inline constexpr int CUDNN_POINTWISE_LOG = 15;
inline constexpr int CUDNN_POINTWISE_CMP_GT = 302;
inline constexpr int CUDNN_POINTWISE_CMP_GE = 303;
inline constexpr int CUDNN_POINTWISE_GEN_INDEX = 501;
inline constexpr int CUDNN_POINTWISE_BINARY_SELECT = 601;
/// cudnnBackendHeurMode_t
inline constexpr int CUDNN_HEUR_MODE_FALLBACK = 2;
inline constexpr int CUDNN_HEUR_MODE_A = 3;

/// cudnnBackendAttributeType_t
inline constexpr int CUDNN_TYPE_HANDLE = 0;
inline constexpr int CUDNN_TYPE_DATA_TYPE = 1;
inline constexpr int CUDNN_TYPE_BOOLEAN = 2;
inline constexpr int CUDNN_TYPE_INT64 = 3;
inline constexpr int CUDNN_TYPE_VOID_PTR = 6;
inline constexpr int CUDNN_TYPE_HEUR_MODE = 8;
inline constexpr int CUDNN_TYPE_POINTWISE_MODE = 14;
inline constexpr int CUDNN_TYPE_BACKEND_DESCRIPTOR = 15;
inline constexpr int CUDNN_TYPE_REDUCTION_OPERATOR_TYPE = 18;
inline constexpr int CUDNN_TYPE_CHAR = 24;

/// cudnnBackendDescriptorType_t
inline constexpr int CUDNN_BACKEND_POINTWISE_DESCRIPTOR = 0;
inline constexpr int CUDNN_BACKEND_ENGINECFG_DESCRIPTOR = 3;
inline constexpr int CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 4;
inline constexpr int CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5;
inline constexpr int CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR = 13;
inline constexpr int CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 15;
inline constexpr int CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 16;
inline constexpr int CUDNN_BACKEND_TENSOR_DESCRIPTOR = 17;
inline constexpr int CUDNN_BACKEND_MATMUL_DESCRIPTOR = 18;
inline constexpr int CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR = 19;
inline constexpr int CUDNN_BACKEND_REDUCTION_DESCRIPTOR = 21;
inline constexpr int CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR = 22;
inline constexpr int CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR = 38;

/// cudnnBackendAttributeName_t
inline constexpr int CUDNN_ATTR_POINTWISE_MODE = 0;
inline constexpr int CUDNN_ATTR_POINTWISE_MATH_PREC = 1;
inline constexpr int CUDNN_ATTR_POINTWISE_AXIS = 9;
inline constexpr int CUDNN_ATTR_ENGINEHEUR_MODE = 200;
inline constexpr int CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 201;
inline constexpr int CUDNN_ATTR_ENGINEHEUR_RESULTS = 202;
inline constexpr int CUDNN_ATTR_ENGINEHEUR_DEVICEPROP = 204;
inline constexpr int CUDNN_ATTR_EXECUTION_PLAN_HANDLE = 400;
inline constexpr int CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 401;
inline constexpr int CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 402;
inline constexpr int CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP = 407;
inline constexpr int CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR = 750;
inline constexpr int CUDNN_ATTR_OPERATION_POINTWISE_XDESC = 751;
inline constexpr int CUDNN_ATTR_OPERATION_POINTWISE_BDESC = 752;
inline constexpr int CUDNN_ATTR_OPERATION_POINTWISE_YDESC = 753;
inline constexpr int CUDNN_ATTR_OPERATION_POINTWISE_TDESC = 758;
inline constexpr int CUDNN_ATTR_OPERATIONGRAPH_HANDLE = 800;
inline constexpr int CUDNN_ATTR_OPERATIONGRAPH_OPS = 801;
inline constexpr int CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT = 900;
inline constexpr int CUDNN_ATTR_TENSOR_DATA_TYPE = 901;
inline constexpr int CUDNN_ATTR_TENSOR_DIMENSIONS = 902;
inline constexpr int CUDNN_ATTR_TENSOR_STRIDES = 903;
inline constexpr int CUDNN_ATTR_TENSOR_UNIQUE_ID = 906;
inline constexpr int CUDNN_ATTR_TENSOR_IS_VIRTUAL = 907;
inline constexpr int CUDNN_ATTR_TENSOR_IS_BY_VALUE = 908;
inline constexpr int CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS = 1000;
inline constexpr int CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS = 1001;
inline constexpr int CUDNN_ATTR_VARIANT_PACK_WORKSPACE = 1003;
inline constexpr int CUDNN_ATTR_MATMUL_COMP_TYPE = 1500;
inline constexpr int CUDNN_ATTR_OPERATION_MATMUL_ADESC = 1520;
inline constexpr int CUDNN_ATTR_OPERATION_MATMUL_BDESC = 1521;
inline constexpr int CUDNN_ATTR_OPERATION_MATMUL_CDESC = 1522;
inline constexpr int CUDNN_ATTR_OPERATION_MATMUL_DESC = 1523;
inline constexpr int CUDNN_ATTR_REDUCTION_OPERATOR = 1600;
inline constexpr int CUDNN_ATTR_REDUCTION_COMP_TYPE = 1601;
inline constexpr int CUDNN_ATTR_OPERATION_REDUCTION_XDESC = 1610;
inline constexpr int CUDNN_ATTR_OPERATION_REDUCTION_YDESC = 1611;
inline constexpr int CUDNN_ATTR_OPERATION_REDUCTION_DESC = 1612;
inline constexpr int CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION = 2702;

} // namespace tp::runtime::cuda
// NOLINTEND(readability-identifier-naming)

/// X(name, symbol, parameters); all return a cudnnStatus_t.
// clang-format off
#define TP_CUDNN_FUNCTIONS(X)                                                  \
  X(cudnnCreate, cudnnCreate, (cudnnHandle_t *))                               \
  X(cudnnDestroy, cudnnDestroy, (cudnnHandle_t))                               \
  X(cudnnSetStream, cudnnSetStream, (cudnnHandle_t, CUstream))                 \
  X(cudnnBackendCreateDescriptor, cudnnBackendCreateDescriptor,                \
    (int, cudnnBackendDescriptor_t *))                                         \
  X(cudnnBackendDestroyDescriptor, cudnnBackendDestroyDescriptor,              \
    (cudnnBackendDescriptor_t))                                                \
  X(cudnnBackendFinalize, cudnnBackendFinalize, (cudnnBackendDescriptor_t))    \
  X(cudnnBackendSetAttribute, cudnnBackendSetAttribute,                        \
    (cudnnBackendDescriptor_t, int, int, int64_t, const void *))               \
  X(cudnnBackendGetAttribute, cudnnBackendGetAttribute,                        \
    (cudnnBackendDescriptor_t, int, int, int64_t, int64_t *, void *))          \
  X(cudnnBackendExecute, cudnnBackendExecute,                                  \
    (cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t))
// clang-format on

#endif // TP_RUNTIME_CUDA_CUDNNAPI_H
