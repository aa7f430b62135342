//===- DeviceCalls.cpp - functions of users on a device -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/Rank/DeviceCalls.h"
#include <algorithm>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

static_assert(maxCallDimensions == TP_MAX_RANK);

static tp_attribute attributeOf(const CallAttribute &attribute) {
  tp_attribute made = {};
  made.name = attribute.name.c_str();
  made.text = "";
  std::visit(Overloaded{[&](const std::vector<int64_t> &integers) {
                          made.kind = TP_INTEGERS;
                          made.count = int64_t(integers.size());
                          made.integers = integers.data();
                        },
                        [&](const std::vector<double> &numbers) {
                          made.kind = TP_NUMBERS;
                          made.count = int64_t(numbers.size());
                          made.numbers = numbers.data();
                        },
                        [&](const std::string &text) {
                          made.kind = TP_TEXT;
                          made.text = text.c_str();
                        }},
             attribute.value);
  return made;
}

Status DeviceCall::prepare(const CallCommand &command, const Coordinates &rank,
                           int device, const AddressOf &addressOf) {
  if (Status status = findLinkedOp(command.op, TP_DEVICE, function);
      !status.ok())
    return status;
  call.op = command.op;
  call.space = TP_DEVICE;
  for (const auto *tensors : {&command.inputs, &command.outputs})
    for (const CallTensor &tensor : *tensors) {
      tp_tensor made = {};
      made.data = reinterpret_cast<void *>(addressOf(tensor.buffer));
      made.dtype = int32_t(tensor.dtype);
      made.rank = int32_t(tensor.sizes.size());
      for (size_t d = 0; d < tensor.sizes.size(); ++d) {
        made.sizes[d] = tensor.sizes[d].of(rank);
        made.strides[d] = tensor.strides[d];
      }
      made.memory_space = TP_DEVICE;
      made.device = device;
      (tensors == &command.inputs ? call.inputs : call.outputs).push_back(made);
    }
  std::transform(command.attributes.begin(), command.attributes.end(),
                 std::back_inserter(call.attributes), attributeOf);
  return {};
}

Status DeviceCall::run(CUstream stream) {
  call.stream = stream;
  return callLinkedOp(function, call);
}
