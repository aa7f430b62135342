//===- FakeCudnn.h - a libcudnn that computes on the host -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against cuDNN's backend interface: descriptors with attributes, graphs of
// operations, plans. It checks what the documentation asks for, takes graphs
// of the one form that the library's fused attention is known by, and runs them
// operation by operation, in f32.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_FAKECUDNN_H
#define TP_TEST_FAKES_FAKECUDNN_H

#include "FakeDevice.h"
#include "tp/Runtime/Cuda/CudnnApi.h"
#include <cstring>
#include <map>

namespace tp::runtime::cuda {
struct cudnnContext {
  CUstream stream = nullptr;
};
} // namespace tp::runtime::cuda

namespace tp::fake {

/// What a plan of the fake works in.
inline constexpr int64_t cudnnWorkspaceBytes = 384;

struct Descriptor {
  struct Attribute {
    int type;
    int64_t count;
    std::vector<char> bytes;
  };

  int kind;
  bool finalized = false;
  std::map<int, Attribute> attributes;

  bool has(int attribute) const { return attributes.count(attribute); }
  template <typename T> std::vector<T> all(int attribute) const {
    const Attribute &found = attributes.at(attribute);
    std::vector<T> values(found.bytes.size() / sizeof(T));
    std::memcpy(values.data(), found.bytes.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T> T one(int attribute) const {
    return all<T>(attribute).at(0);
  }
  const Descriptor &other(int attribute) const {
    return *one<Descriptor *>(attribute);
  }

  // Of tensors.
  int64_t number() const { return one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID); }
  int type() const { return one<int>(CUDNN_ATTR_TENSOR_DATA_TYPE); }
  std::vector<int64_t> sizes() const {
    return all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  }
  std::vector<int64_t> strides() const {
    return all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  }
  bool flag(int attribute) const {
    return has(attribute) && one<char>(attribute) != 0;
  }
  bool isVirtual() const { return flag(CUDNN_ATTR_TENSOR_IS_VIRTUAL); }
  bool isByValue() const { return flag(CUDNN_ATTR_TENSOR_IS_BY_VALUE); }
};

/// Tensors an operation reads, then the one that it writes.
std::vector<const Descriptor *> tensorsOf(const Descriptor &operation);
/// Empty, or what is wrong with a tensor or an operation.
std::string mistakeOfTensor(const Descriptor &tensor);
std::string mistakeOfOperation(const Descriptor &operation);
/// Of a graph: numbers, and that tensors are written before they are read.
std::string mistakeOfGraph(const Descriptor &graph);
/// Why the fused attention does not run such a graph: a status, 0 if it does.
cudnnStatus_t statusOfAttention(const Descriptor &graph, std::string &reason);
/// Of the memory that a tensor lies in.
int64_t bytesOf(const Descriptor &tensor);
/// Runs the graph with the tensors of these numbers at these addresses.
void compute(const Descriptor &graph,
             const std::map<int64_t, void *> &addresses);

} // namespace tp::fake

#endif // TP_TEST_FAKES_FAKECUDNN_H
