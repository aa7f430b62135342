//===- Array.h - an array from or for a file --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_ARRAY_H
#define TP_RUNTIME_ARRAY_H

#include "tp/Runtime/DataType.h"
#include "tp/Runtime/MappedFile.h"
#include "tp/Runtime/Status.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tp::runtime {

/// Elements in memory with a type and a shape. Either owns row-major bytes or
/// views those of a mapped file, then with strides of its own.
struct Array {
  DataType dtype = DataType::F32;
  std::vector<int64_t> shape;
  /// In elements.
  std::vector<int64_t> strides;
  /// Not necessarily aligned to the element.
  const char *data = nullptr;
  /// What keeps `data` alive.
  std::shared_ptr<const void> owner;

  int64_t elements() const { return elementCount(shape).value_or(0); }
  int64_t bytes() const { return elements() * byteSize(dtype); }
};

/// An array that is made, or mapped, when it is used, and is there as long as
/// the Array is.
struct ArraySource {
  DataType dtype = DataType::F32;
  std::vector<int64_t> shape;
  std::function<Status(Array &)> elements;

  int64_t bytes() const {
    return elementCount(shape).value_or(0) * byteSize(dtype);
  }
};
/// Of an array that is there.
ArraySource sourceOf(const Array &array);

/// A zero-filled row-major array and the bytes behind it.
Array makeArray(DataType dtype, std::vector<int64_t> shape, char *&bytes);
/// The array itself if it is row-major, else a copy that is.
Array rowMajor(const Array &array);

/// "f32[2, 3]"
std::string describeType(DataType dtype, const std::vector<int64_t> &shape);
inline std::string describeType(const Array &array) {
  return describeType(array.dtype, array.shape);
}
inline std::string describeType(const ArraySource &array) {
  return describeType(array.dtype, array.shape);
}

/// Reads a .npy file, versions 1 to 3, little endian, C or Fortran order.
/// Types that numpy lacks are stored as raw bytes (|V2, |V1): `rawType` says
/// what they are; without it such a file is an error.
Status readNpy(const std::string &path, std::optional<DataType> rawType,
               Array &array);
/// Writes version 1.0, C order, through a temporary
/// file; bf16 as |V2.
Status writeNpy(const std::string &path, const Array &array);
/// The bytes writeNpy writes.
std::string npyBytes(const Array &array);

} // namespace tp::runtime

#endif // TP_RUNTIME_ARRAY_H
