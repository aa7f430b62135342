//===- AttentionGraph.h - an attention as operations of cuDNN ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_ATTENTION_ATTENTIONGRAPH_H
#define TP_RUNTIME_CUDA_ATTENTION_ATTENTIONGRAPH_H

#include "AttentionPlan.h"
#include <initializer_list>
#include <utility>

namespace tp::runtime::cuda {

/// Numbers of the tensors that lie in memory.
enum AttentionTensor : int64_t {
  TensorQ = 1,
  TensorK,
  TensorV,
  TensorO,
  TensorBias,
  FirstOtherTensor
};

/// The keys that a query sees, without bounds that hide none.
struct AttentionMask {
  explicit AttentionMask(const AttentionCommand &attention);
  std::optional<int64_t> lower, upper;
  /// The last query sees up to the last key, and there are more keys than
  /// queries.
  bool endsWithLastKey = false;
};

/// Makes the operations of an attention. cuDNN knows the fused kernels by the
/// form of this graph: two products, between them a scale, a bias, a mask that
/// compares indices, and a softmax in its parts, down to the logarithm of the
/// sum, which nobody reads.
class AttentionGraph {
public:
  AttentionGraph(AttentionPlan &plan, const AttentionCommand &attention)
      : plan(plan), all(plan.descriptors), attention(attention) {}
  void build();

private:
  using Descriptor = cudnnBackendDescriptor_t;
  using Sizes = std::vector<int64_t>;
  struct Tensor {
    Descriptor descriptor;
    Sizes sizes;
  };
  enum class Kind { Memory, Virtual, Scalar };

  Tensor tensor(int64_t number, int type, const Sizes &sizes,
                const Sizes &strides, Kind kind);
  Tensor inMemory(int64_t number, const AttentionOperand &operand,
                  int64_t heads, int64_t rows, int64_t columns,
                  bool transposed);
  Tensor intermediate(const Sizes &sizes, int type);
  Tensor scalar(float value);
  Tensor scalar(int32_t value);
  Tensor addScalar(int type);

  using Part = std::pair<int, Descriptor>;
  void addOperation(int kind, const Part &how,
                    std::initializer_list<Part> parts);
  void matmul(const Tensor &a, const Tensor &b, const Tensor &c);
  Tensor reduce(int operation, const Tensor &x);
  /// y = mode(x, b), of type `type`, computed in `precision`.
  Tensor pointwise(int mode, const Tensor &x, const Tensor *b = nullptr,
                   int type = CUDNN_DATA_FLOAT,
                   int precision = CUDNN_DATA_FLOAT,
                   const Tensor *selector = nullptr, int64_t axis = -1);
  Tensor index(const Tensor &scores, int64_t axis);
  Tensor masked(const Tensor &scores, const Tensor &left, int comparison,
                const Tensor &right);
  Tensor withBias(const Tensor &scores);
  Tensor withMask(Tensor scores);

  AttentionPlan &plan;
  CudnnDescriptors &all;
  const AttentionCommand &attention;
  int64_t next = FirstOtherTensor;
};

/// The strides of a bias as cuDNN takes it, and the sizes, 1 where it is
/// broadcast.
void biasForm(const AttentionCommand &attention, std::vector<int64_t> &sizes,
              std::vector<int64_t> &strides);

int cudnnType(DataType type);

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_ATTENTION_ATTENTIONGRAPH_H
