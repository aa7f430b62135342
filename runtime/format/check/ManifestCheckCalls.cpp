//===- ManifestCheckCalls.cpp - what a call of a user's function may be ---===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>

using namespace tp::runtime;

std::optional<int64_t> tp::runtime::tensorBytes(const CallTensor &tensor) {
  if (std::any_of(tensor.sizes.begin(), tensor.sizes.end(),
                  [](const CallSize &size) { return size.most == 0; }))
    return 0;
  int64_t elements = 1;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    auto step = product({tensor.sizes[d].most - 1, tensor.strides[d]});
    if (!step || (elements += *step) > maxBytes)
      return std::nullopt;
  }
  return product({elements, byteSize(tensor.dtype)});
}

static std::string checkTensor(const CallTensor &tensor) {
  if (tensor.sizes.size() > maxCallDimensions)
    return "has " + std::to_string(tensor.sizes.size()) +
           " dimensions, expected at most " + std::to_string(maxCallDimensions);
  if (tensor.strides.size() != tensor.sizes.size())
    return "has " + std::to_string(tensor.strides.size()) + " strides for " +
           std::to_string(tensor.sizes.size()) + " dimensions";
  for (const CallSize &size : tensor.sizes)
    if (size.shortened &&
        int64_t(size.shortened->sizes.size()) != sizeOf(size.shortened->axes))
      return "has a size for " + std::to_string(size.shortened->sizes.size()) +
             " positions, expected " +
             std::to_string(sizeOf(size.shortened->axes));
  if (tensor.buffer.offset % byteSize(tensor.dtype))
    return "is not aligned to " + std::to_string(byteSize(tensor.dtype)) +
           "-byte elements";
  return "";
}

std::string tp::runtime::checkCall(const CallCommand &command) {
  if (command.op.empty())
    return "a call needs the name of an op";
  if (command.outputs.empty())
    return "a call needs an output";
  for (const auto *tensors : {&command.inputs, &command.outputs})
    for (size_t i = 0; i < tensors->size(); ++i)
      if (std::string wrong = checkTensor((*tensors)[i]); !wrong.empty())
        return (tensors == &command.inputs ? "input " : "output ") +
               std::to_string(i) + " " + wrong;
  return "";
}
