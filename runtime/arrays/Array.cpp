//===- Array.cpp - an array from or for a file ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Array.h"
#include "tp/Runtime/Slices.h"

using namespace tp::runtime;

Array tp::runtime::makeArray(DataType dtype, std::vector<int64_t> shape,
                             char *&bytes) {
  Array array;
  array.dtype = dtype;
  array.strides = rowMajorStrides(shape);
  array.shape = std::move(shape);
  auto storage = std::make_shared<std::vector<char>>(array.bytes());
  bytes = storage->data();
  array.data = bytes;
  array.owner = std::move(storage);
  return array;
}

ArraySource tp::runtime::sourceOf(const Array &array) {
  return {array.dtype, array.shape, [array](Array &made) {
            made = array;
            return Status();
          }};
}

Array tp::runtime::rowMajor(const Array &array) {
  if (array.strides == rowMajorStrides(array.shape))
    return array;
  char *bytes = nullptr;
  Array copy = makeArray(array.dtype, array.shape, bytes);
  copyStrided(array.shape, byteSize(array.dtype), array.data, array.strides,
              bytes, copy.strides);
  return copy;
}

std::string tp::runtime::describeType(DataType dtype,
                                      const std::vector<int64_t> &shape) {
  std::string text = std::string(spelling(dtype)) + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}
