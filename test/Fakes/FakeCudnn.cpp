//===- FakeCudnn.cpp - a libcudnn that computes on the host ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCudnn.h"
#include <algorithm>

using namespace tp::fake;

namespace {

/// What an attribute of a kind of descriptor holds.
struct Rule {
  int kind, attribute, type;
  /// How many, at least and at most; at least 0 if it may be left out.
  int64_t least, most;
  size_t bytes;
};

constexpr int64_t mostDimensions = 8, many = 1000;

// clang-format off
const Rule rules[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, 4},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, mostDimensions, 8},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 3, mostDimensions, 8},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1, 8},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1, 8},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 0, 1, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 0, 1, 1},
    {CUDNN_BACKEND_MATMUL_DESCRIPTOR, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, 4},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, 1, 4},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, 4},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1, 4},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, 4},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 0, 1, 8},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, 1, 8},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, 1, 8},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, 8},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, many, 8},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1, 4},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, 8},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, many, 8},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, many, 8},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 0, 1, 8},
    // What a heuristic fills in; nobody else sets it.
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, -1, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, 8},
};
// clang-format on

bool isKind(int kind) {
  return std::any_of(std::begin(rules), std::end(rules),
                     [&](const Rule &rule) { return rule.kind == kind; });
}

thread_local std::string lastError;

cudnnStatus_t refuse(cudnnStatus_t status, const std::string &function,
                     const std::string &reason) {
  lastError = "Error: ; Reason: " + reason + "\nError: ; Reason: its caller";
  // What cannot be done is an answer, what makes no sense a mistake.
  if (status == CUDNN_STATUS_BAD_PARAM)
    complain(function + ": " + reason);
  return status;
}

cudnnStatus_t checkRules(const Descriptor &descriptor) {
  for (const Rule &rule : rules) {
    if (rule.kind != descriptor.kind)
      continue;
    if (rule.least && !descriptor.has(rule.attribute))
      return refuse(CUDNN_STATUS_BAD_PARAM, "cudnnBackendFinalize",
                    "attribute " + std::to_string(rule.attribute) +
                        " of a descriptor of kind " +
                        std::to_string(rule.kind) + " is not set");
  }
  for (const auto &[attribute, value] : descriptor.attributes)
    if (value.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
      for (Descriptor *other : descriptor.all<Descriptor *>(attribute))
        if (!other || !other->finalized)
          return refuse(CUDNN_STATUS_BAD_PARAM, "cudnnBackendFinalize",
                        "attribute " + std::to_string(attribute) +
                            " is a descriptor that is not finalized");
  return CUDNN_STATUS_SUCCESS;
}

std::string mistakeOf(const Descriptor &descriptor) {
  switch (descriptor.kind) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return mistakeOfTensor(descriptor);
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return mistakeOfOperation(descriptor);
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return mistakeOfGraph(descriptor);
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return descriptor.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count ==
                   descriptor.attributes
                       .at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
                       .count
               ? ""
               : "there are not as many numbers as pointers";
  default:
    return "";
  }
}

const Descriptor &graphOf(const Descriptor &plan) {
  return plan.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).other(-1);
}

} // namespace

#define ENTER(FUNCTION)                                                        \
  lastError.clear();                                                           \
  ENTER_LIBRARY(FUNCTION)

extern "C" {

TP_FAKE size_t cudnnGetVersion() {
  const char *wish = std::getenv("TP_FAKE_CUDNN_VERSION");
  return wish ? std::strtoull(wish, nullptr, 10) : 91900;
}
TP_FAKE const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    NAME_OF(CUDNN_STATUS_NOT_INITIALIZED)
    NAME_OF(CUDNN_STATUS_BAD_PARAM)
    NAME_OF(CUDNN_STATUS_NOT_SUPPORTED)
    NAME_OF(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
    NAME_OF(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)
    NAME_OF(CUDNN_STATUS_INTERNAL_ERROR)
    NAME_OF(CUDNN_STATUS_EXECUTION_FAILED)
  }
  return "CUDNN_STATUS_OTHER";
}
TP_FAKE void cudnnGetLastErrorString(char *message, size_t size) {
  std::strncpy(message, lastError.c_str(), size);
}
TP_FAKE cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  ENTER("cudnnCreate")
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
TP_FAKE cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
TP_FAKE cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, CUstream stream) {
  ENTER("cudnnSetStream")
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
TP_FAKE cudnnStatus_t cudnnBackendCreateDescriptor(int kind,
                                                   void **descriptor) {
  ENTER("cudnnBackendCreateDescriptor")
  if (!isKind(kind))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "cudnnBackendCreateDescriptor",
                  "no descriptors of kind " + std::to_string(kind));
  auto *made = new Descriptor;
  made->kind = kind;
  *descriptor = made;
  return CUDNN_STATUS_SUCCESS;
}
TP_FAKE cudnnStatus_t cudnnBackendDestroyDescriptor(void *descriptor) {
  delete static_cast<Descriptor *>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
TP_FAKE cudnnStatus_t cudnnBackendSetAttribute(void *descriptor, int attribute,
                                               int type, int64_t count,
                                               const void *values) {
  ENTER("cudnnBackendSetAttribute")
  constexpr const char *function = "cudnnBackendSetAttribute";
  auto &made = *static_cast<Descriptor *>(descriptor);
  if (made.finalized)
    return refuse(CUDNN_STATUS_BAD_PARAM, function,
                  "the descriptor is finalized");
  for (const Rule &rule : rules) {
    if (rule.kind != made.kind || rule.attribute != attribute || attribute < 0)
      continue;
    if (type != rule.type || count < rule.least || count > rule.most)
      return refuse(CUDNN_STATUS_BAD_PARAM, function,
                    "attribute " + std::to_string(attribute) +
                        " has another type or count");
    const auto *bytes = static_cast<const char *>(values);
    made.attributes[attribute] = {
        type, count, {bytes, bytes + count * rule.bytes}};
    return CUDNN_STATUS_SUCCESS;
  }
  return refuse(CUDNN_STATUS_BAD_PARAM, function,
                "a descriptor of kind " + std::to_string(made.kind) +
                    " has no attribute " + std::to_string(attribute));
}
TP_FAKE cudnnStatus_t cudnnBackendFinalize(void *descriptor) {
  ENTER("cudnnBackendFinalize")
  auto &made = *static_cast<Descriptor *>(descriptor);
  if (cudnnStatus_t status = checkRules(made))
    return status;
  if (std::string mistake = mistakeOf(made); !mistake.empty())
    return refuse(CUDNN_STATUS_BAD_PARAM, "cudnnBackendFinalize", mistake);
  if (made.kind == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    std::string reason;
    if (cudnnStatus_t status = statusOfAttention(
            made.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), reason))
      return refuse(status, "cudnnBackendFinalize", reason);
  }
  made.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}
TP_FAKE cudnnStatus_t cudnnBackendGetAttribute(void *descriptor, int attribute,
                                               int type, int64_t wanted,
                                               int64_t *count, void *values) {
  ENTER("cudnnBackendGetAttribute")
  auto &made = *static_cast<Descriptor *>(descriptor);
  if (!made.finalized)
    return refuse(CUDNN_STATUS_BAD_PARAM, "cudnnBackendGetAttribute",
                  "the descriptor is not finalized");
  if (attribute == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
      type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    *count = 1;
    if (wanted == 0)
      return CUDNN_STATUS_SUCCESS;
    Descriptor &config = **static_cast<Descriptor **>(values);
    const Descriptor *graph =
        &made.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const auto *bytes = reinterpret_cast<const char *>(&graph);
    config.attributes[-1] = {type, 1, {bytes, bytes + sizeof(graph)}};
    config.finalized = true;
    return CUDNN_STATUS_SUCCESS;
  }
  if (attribute == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE &&
      type == CUDNN_TYPE_INT64 && wanted == 1) {
    *count = 1;
    *static_cast<int64_t *>(values) = cudnnWorkspaceBytes;
    return CUDNN_STATUS_SUCCESS;
  }
  return refuse(CUDNN_STATUS_BAD_PARAM, "cudnnBackendGetAttribute",
                "no attribute " + std::to_string(attribute));
}
TP_FAKE cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                          void *planDescriptor,
                                          void *packDescriptor) {
  ENTER("cudnnBackendExecute")
  constexpr const char *function = "cudnnBackendExecute";
  auto &plan = *static_cast<Descriptor *>(planDescriptor);
  auto &pack = *static_cast<Descriptor *>(packDescriptor);
  if (!plan.finalized || !pack.finalized ||
      plan.kind != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack.kind != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return refuse(CUDNN_STATUS_BAD_PARAM, function, "no plan and pack");
  auto numbers = pack.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto pointers = pack.all<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void *> given;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (!given.emplace(numbers[i], pointers[i]).second)
      return refuse(CUDNN_STATUS_BAD_PARAM, function,
                    "a number is there twice");
  const Descriptor &graph = graphOf(plan);
  std::map<int64_t, void *> addresses;
  // A value is read when the call is made, as a kernel's parameter is.
  std::map<int64_t, std::shared_ptr<int64_t>> values;
  for (const Descriptor *operation :
       graph.all<Descriptor *>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
    for (const Descriptor *tensor : tensorsOf(*operation)) {
      if (tensor->isVirtual())
        continue;
      auto found = given.find(tensor->number());
      if (found == given.end() || !found->second)
        return refuse(CUDNN_STATUS_BAD_PARAM, function,
                      "no pointer to tensor " +
                          std::to_string(tensor->number()));
      void *address = found->second;
      if (tensor->isByValue()) {
        auto value = std::make_shared<int64_t>(0);
        std::memcpy(value.get(), address, 4);
        values[tensor->number()] = value;
        address = value.get();
      } else if (!isMemory(CUdeviceptr(address), size_t(bytesOf(*tensor)))) {
        return refuse(CUDNN_STATUS_BAD_PARAM, function,
                      "tensor " + std::to_string(tensor->number()) +
                          " leaves its memory");
      } else if (CUdeviceptr(address) %
                 CUdeviceptr(
                     tensor->one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT))) {
        return refuse(CUDNN_STATUS_BAD_PARAM, function,
                      "tensor " + std::to_string(tensor->number()) +
                          " is not aligned as it says");
      }
      addresses[tensor->number()] = address;
    }
  if (addresses.size() != given.size())
    return refuse(CUDNN_STATUS_BAD_PARAM, function,
                  "pointers to tensors that are not in the graph");
  void *workspace = pack.has(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)
                        ? pack.one<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)
                        : nullptr;
  if (!isMemory(CUdeviceptr(workspace), cudnnWorkspaceBytes))
    return refuse(CUDNN_STATUS_BAD_PARAM, function, "no workspace");
  std::string what =
      "cudnnBackendExecute of plan " + std::to_string(uintptr_t(&plan));
  queueNow(handle->stream, what, fault, [&graph, addresses, values, workspace] {
    std::memset(workspace, 0x5a, size_t(cudnnWorkspaceBytes));
    compute(graph, addresses);
  });
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
