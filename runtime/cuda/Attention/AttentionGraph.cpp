//===- AttentionGraph.cpp - an attention as operations of cuDNN -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The form of the graph follows what NVIDIA's cudnn-frontend (1.x, MIT) sends
// to the backend for its composite attention, as far as the library insists on
// it; scripts/check-cudnn.sh asks the library itself.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"
#include <limits>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

int cuda::cudnnType(DataType type) {
  switch (type) {
  case DataType::F16:
    return CUDNN_DATA_HALF;
  case DataType::BF16:
    return CUDNN_DATA_BFLOAT16;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

AttentionMask::AttentionMask(const AttentionCommand &attention) {
  int64_t queries = attention.queries, keys = attention.keys;
  if (attention.upper && *attention.upper < keys - 1)
    upper = attention.upper;
  if (attention.lower && *attention.lower > 1 - queries)
    lower = attention.lower;
  endsWithLastKey = upper && *upper > 0 && *upper == keys - queries;
}

void cuda::biasForm(const AttentionCommand &attention,
                    std::vector<int64_t> &sizes,
                    std::vector<int64_t> &strides) {
  sizes = {attention.batch, attention.heads, attention.queries, attention.keys};
  strides.assign(attention.bias->strides.begin(),
                 attention.bias->strides.end());
  strides[3] = 1;
  for (size_t d = 3; d-- > 0;) {
    if (strides[d] == 0)
      sizes[d] = 1;
    if (sizes[d] == 1)
      strides[d] = sizes[d + 1] * strides[d + 1];
  }
}

AttentionGraph::Tensor AttentionGraph::tensor(int64_t number, int type,
                                              const Sizes &sizes,
                                              const Sizes &strides, Kind kind) {
  // The widest access of the library's kernels.
  constexpr int64_t alignment = 16;
  Descriptor made = all.create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  all.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  all.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes);
  all.set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
  all.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number);
  all.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
          &alignment);
  bool yes = true;
  if (kind == Kind::Virtual)
    all.set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
  if (kind == Kind::Scalar)
    all.set(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
  all.finalize(made);
  return {made, sizes};
}

AttentionGraph::Tensor AttentionGraph::inMemory(int64_t number,
                                                const AttentionOperand &operand,
                                                int64_t heads, int64_t rows,
                                                int64_t columns,
                                                bool transposed) {
  Sizes sizes = {attention.batch, heads, rows, columns};
  Sizes strides = {operand.strides[0], operand.strides[1], operand.strides[2],
                   1};
  // Of one row, head or batch the manifest's stride says nothing.
  for (size_t d = 3; d-- > 0;)
    if (sizes[d] == 1)
      strides[d] = sizes[d + 1] * strides[d + 1];
  if (transposed) {
    std::swap(sizes[2], sizes[3]);
    std::swap(strides[2], strides[3]);
  }
  return tensor(number, cudnnType(attention.dtype), sizes, strides,
                Kind::Memory);
}

AttentionGraph::Tensor AttentionGraph::intermediate(const Sizes &sizes,
                                                    int type) {
  return tensor(next++, type, sizes, rowMajorStrides(sizes), Kind::Virtual);
}

AttentionGraph::Tensor AttentionGraph::addScalar(int type) {
  return tensor(next++, type, {1, 1, 1, 1}, {1, 1, 1, 1}, Kind::Scalar);
}

AttentionGraph::Tensor AttentionGraph::scalar(float value) {
  plan.scalars.emplace_back(next, std::make_unique<AttentionPlan::Scalar>());
  plan.scalars.back().second->f32 = value;
  return addScalar(CUDNN_DATA_FLOAT);
}

AttentionGraph::Tensor AttentionGraph::scalar(int32_t value) {
  plan.scalars.emplace_back(next, std::make_unique<AttentionPlan::Scalar>());
  plan.scalars.back().second->i32 = value;
  return addScalar(CUDNN_DATA_INT32);
}

/// Finalizes `how`, what the operation does, too. Parts that are null are left
/// out.
void AttentionGraph::addOperation(int kind, const Part &how,
                                  std::initializer_list<Part> parts) {
  all.finalize(how.second);
  Descriptor operation = all.create(kind);
  all.set(operation, how.first, how.second);
  for (const auto &[attribute, descriptor] : parts)
    if (descriptor)
      all.set(operation, attribute, descriptor);
  all.finalize(operation);
  plan.operations.push_back(operation);
}

void AttentionGraph::matmul(const Tensor &a, const Tensor &b, const Tensor &c) {
  Descriptor how = all.create(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  all.set(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
          CUDNN_DATA_FLOAT);
  addOperation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
               {CUDNN_ATTR_OPERATION_MATMUL_DESC, how},
               {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor},
                {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor},
                {CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.descriptor}});
}

AttentionGraph::Tensor AttentionGraph::reduce(int operation, const Tensor &x) {
  Sizes sizes = x.sizes;
  sizes[3] = 1;
  Tensor y = intermediate(sizes, CUDNN_DATA_FLOAT);
  Descriptor how = all.create(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  all.set(how, CUDNN_ATTR_REDUCTION_OPERATOR,
          CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, operation);
  all.set(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
          CUDNN_DATA_FLOAT);
  addOperation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
               {CUDNN_ATTR_OPERATION_REDUCTION_DESC, how},
               {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor},
                {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.descriptor}});
  return y;
}

AttentionGraph::Tensor
AttentionGraph::pointwise(int mode, const Tensor &x, const Tensor *b, int type,
                          int precision, const Tensor *selector, int64_t axis) {
  Tensor y = intermediate(x.sizes, type);
  Descriptor how = all.create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  all.set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  all.set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
  if (axis >= 0)
    all.set(how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
  addOperation(
      CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
      {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how},
      {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor},
       {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b ? b->descriptor : nullptr},
       {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.descriptor},
       {CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
        selector ? selector->descriptor : nullptr}});
  return y;
}

AttentionGraph::Tensor AttentionGraph::index(const Tensor &scores,
                                             int64_t axis) {
  return pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, CUDNN_DATA_INT32,
                   CUDNN_DATA_FLOAT, nullptr, axis);
}

/// Scores where `left` compares with `right`, elsewhere -inf.
AttentionGraph::Tensor AttentionGraph::masked(const Tensor &scores,
                                              const Tensor &left,
                                              int comparison,
                                              const Tensor &right) {
  Tensor seen = pointwise(comparison, left, &right, CUDNN_DATA_BOOLEAN,
                          CUDNN_DATA_BOOLEAN);
  Tensor hidden = scalar(-std::numeric_limits<float>::infinity());
  return pointwise(CUDNN_POINTWISE_BINARY_SELECT, scores, &hidden,
                   CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, &seen);
}

AttentionGraph::Tensor AttentionGraph::withBias(const Tensor &scores) {
  Sizes sizes, strides;
  biasForm(attention, sizes, strides);
  Tensor bias = tensor(TensorBias, cudnnType(attention.bias->dtype), sizes,
                       strides, Kind::Memory);
  return pointwise(CUDNN_POINTWISE_ADD, scores, &bias);
}

AttentionGraph::Tensor AttentionGraph::withMask(Tensor scores) {
  AttentionMask mask(attention);
  auto integer = [&](int mode, const Tensor &x, int64_t value) {
    Tensor b = scalar(int32_t(value));
    return pointwise(mode, x, &b, CUDNN_DATA_INT32, CUDNN_DATA_INT32);
  };
  if (mask.upper) {
    // i + upper >= j.
    Tensor row = index(scores, 2), column = index(scores, 3);
    if (mask.endsWithLastKey) {
      row = integer(CUDNN_POINTWISE_ADD, row, attention.keys);
      row = integer(CUDNN_POINTWISE_SUB, row, attention.queries);
    } else if (*mask.upper != 0) {
      row = integer(CUDNN_POINTWISE_ADD, row, *mask.upper);
    }
    scores = masked(scores, row, CUDNN_POINTWISE_CMP_GE, column);
  }
  if (mask.lower) {
    // j + (1 - lower) > i.
    Tensor row = index(scores, 2), column = index(scores, 3);
    Tensor distance = scalar(float(1 - *mask.lower));
    column = pointwise(CUDNN_POINTWISE_ADD, column, &distance);
    scores = masked(scores, column, CUDNN_POINTWISE_CMP_GT, row);
  }
  return scores;
}

void AttentionGraph::build() {
  int64_t heads = attention.heads, kvHeads = attention.kvHeads;
  int64_t queries = attention.queries, keys = attention.keys;
  Tensor q = inMemory(TensorQ, attention.q, heads, queries, attention.headSize,
                      /*transposed=*/false);
  Tensor k = inMemory(TensorK, attention.k, kvHeads, keys, attention.headSize,
                      /*transposed=*/true);
  Tensor v = inMemory(TensorV, attention.v, kvHeads, keys, attention.valueSize,
                      /*transposed=*/false);
  Tensor o = inMemory(TensorO, attention.o, heads, queries, attention.valueSize,
                      /*transposed=*/false);
  Tensor scores =
      intermediate({attention.batch, heads, queries, keys}, CUDNN_DATA_FLOAT);
  matmul(q, k, scores);
  Tensor factor = scalar(float(attention.scale));
  scores = pointwise(CUDNN_POINTWISE_MUL, scores, &factor);
  if (attention.bias)
    scores = withBias(scores);
  scores = withMask(scores);
  Tensor most = reduce(CUDNN_REDUCE_TENSOR_MAX, scores);
  Tensor below = pointwise(CUDNN_POINTWISE_SUB, scores, &most);
  Tensor powers = pointwise(CUDNN_POINTWISE_EXP, below);
  Tensor sum = reduce(CUDNN_REDUCE_TENSOR_ADD, powers);
  Tensor logarithm = pointwise(CUDNN_POINTWISE_LOG, sum);
  pointwise(CUDNN_POINTWISE_ADD, most, &logarithm);
  Tensor probabilities =
      pointwise(CUDNN_POINTWISE_DIV, powers, &sum, cudnnType(attention.dtype));
  matmul(probabilities, v, o);
}
