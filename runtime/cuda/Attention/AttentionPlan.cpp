//===- AttentionPlan.cpp - an attention as cuDNN runs it ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"
#include "AttentionGraph.h"

using namespace tp::runtime;
using namespace tp::runtime::cuda;

/// Bytes of the widest access; operands begin and rows follow each other at
/// multiples of it.
static constexpr int64_t accessBytes = 16;

static std::string reasonOfOperand(const AttentionCommand &attention,
                                   const AttentionOperand &operand,
                                   CUdeviceptr address, int64_t heads,
                                   int64_t rows, const char *name) {
  const int64_t sizes[] = {attention.batch, heads, rows};
  bool aligned = address % accessBytes == 0;
  for (size_t d = 0; d < 3; ++d) {
    int64_t bytes = operand.strides[d] * byteSize(attention.dtype);
    if (sizes[d] > 1 && bytes == 0)
      return std::string("operand ") + name + " has a stride of 0";
    aligned &= sizes[d] == 1 || bytes % accessBytes == 0;
  }
  return aligned ? ""
                 : std::string("operand ") + name +
                       " is not aligned to 16 bytes in all rows";
}

static std::string reasonOfBias(const AttentionCommand &attention,
                                const AttentionMask &mask,
                                CUdeviceptr address) {
  const AttentionBias &bias = *attention.bias;
  if (bias.dtype != DataType::F32 && bias.dtype != attention.dtype)
    return std::string("a bias of ") + spelling(bias.dtype);
  if (address % accessBytes)
    return "the bias is not aligned to 16 bytes";
  if (attention.keys > 1 && bias.strides[3] != 1)
    return "the bias has a stride of " + std::to_string(bias.strides[3]) +
           " along the keys";
  if (attention.queries > 1 && bias.strides[2] != 0 &&
      bias.strides[2] < attention.keys)
    return "rows of the bias overlap";
  if (mask.upper && *mask.upper != 0)
    return "a bias and a diagonal that does not begin in the corner";
  return "";
}

std::string cuda::reasonAgainstCudnn(const AttentionCommand &attention,
                                     const AttentionAddresses &addresses,
                                     size_t version) {
  if (attention.dtype != DataType::F16 && attention.dtype != DataType::BF16)
    return spelling(attention.dtype);
  if (attention.emptyRows != EmptyRows::None)
    return "queries that see no key";
  constexpr int64_t factor = 8, largest = 256;
  for (int64_t size : {attention.headSize, attention.valueSize})
    if (size % factor || size > largest)
      return "a head size of " + std::to_string(size) +
             ", expected a multiple of 8 up to 256";
  AttentionMask mask(attention);
  if (mask.upper && *mask.upper < 0)
    return "a diagonal below the corner";
  if (mask.lower && attention.queries > attention.keys)
    return "a window over fewer keys than queries";
  if (mask.lower && !mask.endsWithLastKey && *mask.lower > 0)
    return "a window above the diagonal";
  constexpr size_t wrongWindows = 91400;
  constexpr int64_t rightUpTo = 1024;
  if (version == wrongWindows && mask.lower && !mask.upper &&
      attention.keys > rightUpTo)
    return "a window, which this version of cuDNN gets wrong";
  std::string reason;
  auto check = [&](const AttentionOperand &operand, CUdeviceptr address,
                   int64_t heads, int64_t rows, const char *name) {
    if (reason.empty())
      reason = reasonOfOperand(attention, operand, address, heads, rows, name);
  };
  check(attention.q, addresses.q, attention.heads, attention.queries, "q");
  check(attention.k, addresses.k, attention.kvHeads, attention.keys, "k");
  check(attention.v, addresses.v, attention.kvHeads, attention.keys, "v");
  check(attention.o, addresses.o, attention.heads, attention.queries, "o");
  if (reason.empty() && attention.bias)
    reason = reasonOfBias(attention, mask, addresses.bias);
  return reason;
}

Status AttentionPlan::create(const Cudnn &library, cudnnHandle_t handle,
                             const std::string &properties,
                             const AttentionCommand &attention,
                             std::unique_ptr<AttentionPlan> &plan,
                             std::string &reason) {
  std::unique_ptr<AttentionPlan> made(new AttentionPlan(library));
  AttentionGraph(*made, attention).build();
  reason.clear();
  if (Status status = made->choose(handle, properties, reason);
      !status.ok() || !reason.empty())
    return status;
  plan = std::move(made);
  return {};
}

Status AttentionPlan::choose(cudnnHandle_t handle,
                             const std::string &properties,
                             std::string &reason) {
  CudnnDescriptors &all = descriptors;
  cudnnBackendDescriptor_t device = nullptr;
  if (!handle) {
    device = all.create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    all.set(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
            int64_t(properties.size()), properties.data());
    all.finalize(device);
  }
  auto graph = all.create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle)
    all.set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
            &handle);
  all.set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
          operations);
  all.finalize(graph);
  // A failure of what was only tried: the first says most.
  Status first;
  auto failed = [&](const Status &status) {
    if (first.ok())
      first = status;
    return all.notSupported();
  };
  for (int mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    auto heuristic = all.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    all.set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    all.set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (!handle)
      all.set(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
    if (!all.ok())
      break;
    if (Status status = all.tryToFinalize(heuristic); !status.ok()) {
      if (!failed(status))
        return status;
      continue;
    }
    for (cudnnBackendDescriptor_t config : all.results(heuristic)) {
      auto tried = all.create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      if (handle)
        all.set(tried, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                &handle);
      else
        all.set(tried, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device);
      all.set(tried, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (!all.ok())
        break;
      Status status = all.tryToFinalize(tried);
      if (status.ok()) {
        plan = tried;
        workspace = all.integer(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
        return all.status;
      }
      if (!failed(status))
        return status;
    }
  }
  if (!all.ok() && !all.notSupported())
    return all.status;
  reason = !all.ok()     ? all.status.message()
           : !first.ok() ? first.message()
                         : "cuDNN has no kernel for it";
  return {};
}

Status AttentionPlan::bind(const AttentionAddresses &addresses,
                           CUdeviceptr workspaceAddress,
                           cudnnBackendDescriptor_t &bound) {
  std::vector<int64_t> numbers = {TensorQ, TensorK, TensorV, TensorO};
  std::vector<void *> pointers;
  for (CUdeviceptr address :
       {addresses.q, addresses.k, addresses.v, addresses.o})
    pointers.push_back(reinterpret_cast<void *>(address));
  if (addresses.bias) {
    numbers.push_back(TensorBias);
    pointers.push_back(reinterpret_cast<void *>(addresses.bias));
  }
  for (const auto &[number, value] : scalars) {
    numbers.push_back(number);
    pointers.push_back(value.get());
  }
  auto *work = reinterpret_cast<void *>(workspaceAddress);
  bound = descriptors.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  descriptors.set(bound, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                  CUDNN_TYPE_VOID_PTR, pointers);
  descriptors.set(bound, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                  numbers);
  descriptors.set(bound, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
                  1, &work);
  descriptors.finalize(bound);
  return descriptors.status;
}

Status AttentionPlan::run(cudnnHandle_t handle,
                          cudnnBackendDescriptor_t bound) const {
  return descriptors.library.cudnnBackendExecute(handle, plan, bound);
}
