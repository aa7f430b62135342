//===- CudnnAttentions.cpp - attention by cuDNN ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/CudnnAttentions.h"
#include "AttentionPlan.h"
#include <algorithm>
#include <cstdlib>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

std::string cuda::formOf(const AttentionCommand &attention) {
  std::string key = spelling(attention.dtype);
  auto add = [&](const auto &values) {
    for (auto value : values)
      key += " " + std::to_string(value);
  };
  add(std::array{attention.batch, attention.heads, attention.kvHeads,
                 attention.queries, attention.keys, attention.headSize,
                 attention.valueSize});
  add(std::array{attention.scale});
  for (const std::optional<int64_t> &bound : {attention.lower, attention.upper})
    key += bound ? " " + std::to_string(*bound) : " none";
  for (const AttentionOperand *operand :
       {&attention.q, &attention.k, &attention.v, &attention.o})
    add(operand->strides);
  if (attention.bias) {
    key += std::string(" ") + spelling(attention.bias->dtype);
    add(attention.bias->strides);
  }
  return key;
}

CudnnAttentions::CudnnAttentions(Device &device, CUstream stream)
    : device(device), stream(stream) {}

CudnnAttentions::~CudnnAttentions() {
  if (device.failed()) {
    // Nothing more is asked of the device, not even through the library.
    for (auto &[key, form] : forms)
      (void)form.plan.release();
    (void)library.release();
    return;
  }
  forms.clear();
  if (handle)
    (void)library->cudnnDestroy(handle);
}

Status CudnnAttentions::open() {
  opened = true;
  const char *variable = std::getenv("TP_CUDNN");
  std::string wish = variable ? variable : "";
  if (wish == "off") {
    absent = "TP_CUDNN is off";
    return {};
  }
  // The cuDNN that is installed is for other devices.
  if (wish.empty() && device.chip() == "host") {
    absent = "TP_CUDNN names no library for a device that is the host";
    return {};
  }
  Status status = Cudnn::open(library);
  if (!status.ok() && wish.empty()) {
    absent = status.message();
    return {};
  }
  if (status.ok())
    status = library->cudnnCreate(&handle);
  if (status.ok())
    status = library->cudnnSetStream(handle, stream);
  return status;
}

Status CudnnAttentions::prepare(const AttentionCommand &attention,
                                const AttentionAddresses &addresses,
                                std::optional<size_t> &number,
                                std::string &reason) {
  number.reset();
  if (Status status = opened ? Status() : open(); !status.ok())
    return status;
  reason = !absent.empty()
               ? absent
               : reasonAgainstCudnn(attention, addresses, library->version());
  if (!reason.empty())
    return {};
  auto [place, isNew] = forms.try_emplace(formOf(attention));
  Form &form = place->second;
  if (isNew)
    if (Status status =
            AttentionPlan::create(*library, handle, /*properties=*/"",
                                  attention, form.plan, form.reason);
        !status.ok())
      return status;
  reason = form.reason;
  if (!form.plan)
    return {};
  number = calls.size();
  calls.push_back({form.plan.get(), addresses});
  return {};
}

Status CudnnAttentions::finish() {
  int64_t most = 0;
  for (const Call &call : calls)
    most = std::max(most, call.plan->workspaceBytes());
  CUdeviceptr workspace = 0;
  Status status;
  if (most)
    status = device.allocate(most, workspace);
  for (Call &call : calls)
    if (status.ok())
      status = call.plan->bind(call.addresses, workspace, call.bound);
  return status;
}

Status CudnnAttentions::run(size_t number) const {
  return calls[number].plan->run(handle, calls[number].bound);
}
