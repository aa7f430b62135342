//===- FakeCudnnGraph.cpp - graphs of operations of the fake cuDNN --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCudnn.h"
#include "tp/Runtime/DataType.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace tp::fake;
using namespace tp::runtime;

namespace {

constexpr int matmulKind = CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
constexpr int reductionKind = CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR;
constexpr int pointwiseKind = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;

using Sizes = std::vector<int64_t>;
using Operations = std::vector<Descriptor *>;

Operations operationsOf(const Descriptor &graph) {
  return graph.all<Descriptor *>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
}

int modeOf(const Descriptor &operation) {
  return operation.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
      .one<int>(CUDNN_ATTR_POINTWISE_MODE);
}

/// Operands of a mode: x alone, x and b, or both and a selector; 0 if the fake
/// does not know it.
int operandsOf(int mode) {
  switch (mode) {
  case CUDNN_POINTWISE_EXP:
  case CUDNN_POINTWISE_LOG:
  case CUDNN_POINTWISE_GEN_INDEX:
    return 1;
  case CUDNN_POINTWISE_ADD:
  case CUDNN_POINTWISE_MUL:
  case CUDNN_POINTWISE_DIV:
  case CUDNN_POINTWISE_SUB:
  case CUDNN_POINTWISE_CMP_GT:
  case CUDNN_POINTWISE_CMP_GE:
    return 2;
  case CUDNN_POINTWISE_BINARY_SELECT:
    return 3;
  default:
    return 0;
  }
}

DataType memoryType(int type) {
  return type == CUDNN_DATA_HALF       ? DataType::F16
         : type == CUDNN_DATA_BFLOAT16 ? DataType::BF16
         : type == CUDNN_DATA_INT32    ? DataType::I32
                                       : DataType::F32;
}

bool broadcasts(const Sizes &from, const Sizes &to) {
  for (size_t d = 0; d < to.size(); ++d)
    if (from[d] != to[d] && from[d] != 1)
      return false;
  return from.size() == to.size();
}

std::string mistakeOfPointwise(const Descriptor &operation) {
  int mode = modeOf(operation), operands = operandsOf(mode);
  if (!operands)
    return "no pointwise mode " + std::to_string(mode);
  if (operation.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) != (operands > 1) ||
      operation.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != (operands > 2))
    return "a pointwise operation has other operands than its mode";
  bool axis = operation.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                  .has(CUDNN_ATTR_POINTWISE_AXIS);
  if (axis != (mode == CUDNN_POINTWISE_GEN_INDEX))
    return "an index has an axis, and nothing else has";
  std::vector<const Descriptor *> tensors = tensorsOf(operation);
  Sizes sizes = tensors.back()->sizes();
  for (const Descriptor *tensor : tensors)
    if (!broadcasts(tensor->sizes(), sizes))
      return "sizes of a pointwise operation do not fit";
  bool compares =
      mode == CUDNN_POINTWISE_CMP_GT || mode == CUDNN_POINTWISE_CMP_GE;
  if (compares != (tensors.back()->type() == CUDNN_DATA_BOOLEAN))
    return "a comparison gives booleans, and nothing else does";
  if (operands > 2 && tensors[2]->type() != CUDNN_DATA_BOOLEAN)
    return "a selector is no boolean";
  return "";
}

std::string mistakeOfMatmul(const Descriptor &operation) {
  std::vector<const Descriptor *> tensors = tensorsOf(operation);
  Sizes a = tensors[0]->sizes(), b = tensors[1]->sizes(),
        c = tensors[2]->sizes();
  size_t rank = c.size();
  if (a.size() != rank || b.size() != rank || a[rank - 2] != c[rank - 2] ||
      b[rank - 1] != c[rank - 1] || a[rank - 1] != b[rank - 2])
    return "sizes of a matmul do not fit";
  for (size_t d = 0; d + 2 < rank; ++d)
    // Groups of heads share one of b.
    if (a[d] != c[d] || c[d] % b[d])
      return "batches of a matmul do not fit";
  return "";
}

std::string mistakeOfReduction(const Descriptor &operation) {
  std::vector<const Descriptor *> tensors = tensorsOf(operation);
  if (!broadcasts(tensors[1]->sizes(), tensors[0]->sizes()))
    return "sizes of a reduction do not fit";
  return "";
}

/// A tensor's elements in row-major order.
using Values = std::vector<float>;

/// Calls `visit` with every index of `sizes`, in row-major order.
template <typename Visit> void forEachIndex(const Sizes &sizes, Visit visit) {
  Sizes index(sizes.size(), 0);
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    visit(index, i);
    for (size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];)
      index[d] = 0;
  }
}

int64_t placeOf(const Sizes &index, const Sizes &strides) {
  int64_t place = 0;
  for (size_t d = 0; d < index.size(); ++d)
    place += index[d] * strides[d];
  return place;
}

/// Where an index of a larger tensor falls in a smaller one: at 0 where that is
/// broadcast, at the group's where groups share.
class Shared {
public:
  Shared(const Sizes &from, const Sizes &to) : strides(rowMajorStrides(to)) {
    for (size_t d = 0; d < to.size(); ++d)
      shared.push_back(from[d] / to[d]);
  }
  int64_t place(const Sizes &index) const {
    int64_t sum = 0;
    for (size_t d = 0; d < strides.size(); ++d)
      sum += index[d] / shared[d] * strides[d];
    return sum;
  }

private:
  Sizes strides, shared;
};

class Interpreter {
public:
  explicit Interpreter(const std::map<int64_t, void *> &addresses)
      : addresses(addresses) {}

  void run(const Descriptor &operation) {
    std::vector<const Descriptor *> tensors = tensorsOf(operation);
    const Descriptor &result = *tensors.back();
    Values made;
    if (operation.kind == matmulKind)
      made = matmul(*tensors[0], *tensors[1], result);
    else if (operation.kind == reductionKind)
      made = reduce(operation, *tensors[0], result);
    else
      made = pointwise(operation, tensors);
    store(result, std::move(made));
  }

private:
  /// A virtual tensor's values, or a memory's.
  const Values &load(const Descriptor &tensor) {
    auto [place, isNew] = known.try_emplace(tensor.number());
    if (!isNew)
      return place->second;
    const void *address = addresses.at(tensor.number());
    Sizes strides = tensor.strides();
    DataType type = memoryType(tensor.type());
    forEachIndex(tensor.sizes(), [&](const Sizes &index, int64_t) {
      place->second.push_back(
          float(elementAsDouble(type, address, placeOf(index, strides))));
    });
    return place->second;
  }

  void store(const Descriptor &tensor, Values values) {
    DataType type = memoryType(tensor.type());
    for (float &value : values)
      if (type == DataType::F16)
        value = halfToFloat(floatToHalf(value));
      else if (type == DataType::BF16)
        value = bfloatToFloat(floatToBfloat(value));
    if (!tensor.isVirtual()) {
      auto *address = static_cast<uint16_t *>(addresses.at(tensor.number()));
      Sizes strides = tensor.strides();
      forEachIndex(tensor.sizes(), [&](const Sizes &index, int64_t i) {
        address[placeOf(index, strides)] = type == DataType::F16
                                               ? floatToHalf(values[i])
                                               : floatToBfloat(values[i]);
      });
    }
    known[tensor.number()] = std::move(values);
  }

  Values matmul(const Descriptor &a, const Descriptor &b, const Descriptor &c) {
    const Values &x = load(a), &y = load(b);
    Sizes sizes = c.sizes(), aSizes = a.sizes(), bSizes = b.sizes();
    int64_t k = aSizes[3], n = sizes[3];
    Sizes from = sizes;
    from[2] = bSizes[2];
    Shared rows(aSizes, aSizes), columns(from, bSizes);
    Values made;
    forEachIndex(sizes, [&](const Sizes &index, int64_t) {
      int64_t first = rows.place({index[0], index[1], index[2], 0});
      int64_t second = columns.place({index[0], index[1], 0, index[3]});
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(x[first + l]) * double(y[second + l * n]);
      made.push_back(float(sum));
    });
    return made;
  }

  Values reduce(const Descriptor &operation, const Descriptor &x,
                const Descriptor &y) {
    bool adds =
        operation.other(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
            .one<int>(CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_ADD;
    const Values &from = load(x);
    Sizes sizes = x.sizes(), less = y.sizes();
    int64_t count = 1;
    for (int64_t size : less)
      count *= size;
    std::vector<double> made(count, adds ? 0 : -INFINITY);
    Shared rows(sizes, less);
    forEachIndex(sizes, [&](const Sizes &index, int64_t i) {
      double &into = made[rows.place(index)];
      into = adds ? into + double(from[i]) : std::max(into, double(from[i]));
    });
    return {made.begin(), made.end()};
  }

  Values pointwise(const Descriptor &operation,
                   const std::vector<const Descriptor *> &tensors) {
    int mode = modeOf(operation);
    Sizes sizes = tensors.back()->sizes();
    int64_t axis = 0;
    if (mode == CUDNN_POINTWISE_GEN_INDEX)
      axis = operation.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                 .one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
    std::vector<std::pair<const Values *, Shared>> operands;
    for (size_t t = 0; t + 1 < tensors.size(); ++t)
      operands.emplace_back(&load(*tensors[t]),
                            Shared(sizes, tensors[t]->sizes()));
    Values made;
    forEachIndex(sizes, [&](const Sizes &index, int64_t) {
      float v[3] = {0, 0, 0};
      for (size_t t = 0; t < operands.size(); ++t)
        v[t] = (*operands[t].first)[operands[t].second.place(index)];
      made.push_back(mode == CUDNN_POINTWISE_GEN_INDEX ? float(index[axis])
                                                       : value(mode, v));
    });
    return made;
  }

  static float value(int mode, const float *v) {
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return v[0] + v[1];
    case CUDNN_POINTWISE_MUL:
      return v[0] * v[1];
    case CUDNN_POINTWISE_DIV:
      return v[0] / v[1];
    case CUDNN_POINTWISE_SUB:
      return v[0] - v[1];
    case CUDNN_POINTWISE_EXP:
      return std::exp(v[0]);
    case CUDNN_POINTWISE_LOG:
      return std::log(v[0]);
    case CUDNN_POINTWISE_CMP_GT:
      return v[0] > v[1];
    case CUDNN_POINTWISE_CMP_GE:
      return v[0] >= v[1];
    default:
      return v[2] != 0 ? v[0] : v[1];
    }
  }

  const std::map<int64_t, void *> &addresses;
  std::map<int64_t, Values> known;
};

} // namespace

std::vector<const Descriptor *>
tp::fake::tensorsOf(const Descriptor &operation) {
  std::vector<const Descriptor *> tensors;
  for (int attribute :
       {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
        CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
        CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_YDESC})
    if (operation.has(attribute))
      tensors.push_back(&operation.other(attribute));
  return tensors;
}

std::string tp::fake::mistakeOfTensor(const Descriptor &tensor) {
  Sizes sizes = tensor.sizes(), strides = tensor.strides();
  if (sizes.size() != strides.size())
    return "a tensor has other strides than sizes";
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < 1 || strides[d] < 1)
      return "a tensor has a size or stride below 1";
  if (tensor.isVirtual() && tensor.isByValue())
    return "a tensor is virtual and a value";
  auto alignment = tensor.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (alignment < 1 || (alignment & (alignment - 1)))
    return "an alignment is no power of two";
  return "";
}

std::string tp::fake::mistakeOfOperation(const Descriptor &operation) {
  for (const Descriptor *tensor : tensorsOf(operation))
    if (tensor->kind != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
      return "an operand is no tensor";
  if (operation.kind == matmulKind)
    return mistakeOfMatmul(operation);
  if (operation.kind == reductionKind)
    return mistakeOfReduction(operation);
  return mistakeOfPointwise(operation);
}

std::string tp::fake::mistakeOfGraph(const Descriptor &graph) {
  std::map<int64_t, const Descriptor *> numbers;
  std::set<int64_t> written;
  for (const Descriptor *operation : operationsOf(graph)) {
    std::vector<const Descriptor *> tensors = tensorsOf(*operation);
    if (tensors.empty())
      return "a graph has something that is no operation";
    for (const Descriptor *tensor : tensors) {
      auto [place, isNew] = numbers.try_emplace(tensor->number(), tensor);
      if (!isNew && place->second != tensor)
        return "two tensors have the number " +
               std::to_string(tensor->number());
      if (tensor != tensors.back() && tensor->isVirtual() &&
          !written.count(tensor->number()))
        return "a virtual tensor is read before it is written";
    }
    if (!written.insert(tensors.back()->number()).second ||
        tensors.back()->isByValue())
      return "a tensor is written twice, or is a value";
  }
  return "";
}

tp::runtime::cuda::cudnnStatus_t
tp::fake::statusOfAttention(const Descriptor &graph, std::string &reason) {
  Operations all = operationsOf(graph);
  auto pattern = [&](const std::string &what) {
    reason = what;
    return CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
  };
  if (all.size() < 9 || all.front()->kind != matmulKind ||
      all.back()->kind != matmulKind)
    return pattern("expected two matmuls around a softmax");
  int64_t reductions = 0, logarithms = 0;
  for (size_t i = 1; i + 1 < all.size(); ++i) {
    reductions += all[i]->kind == reductionKind;
    logarithms +=
        all[i]->kind == pointwiseKind && modeOf(*all[i]) == CUDNN_POINTWISE_LOG;
    if (all[i]->kind == matmulKind)
      return pattern("only 2 matmuls are allowed");
    if (!tensorsOf(*all[i]).back()->isVirtual())
      return pattern("a result between the matmuls is in memory");
  }
  if (reductions != 2 || logarithms != 1)
    return pattern("the softmax does not have all its parts");
  auto first = tensorsOf(*all.front()), last = tensorsOf(*all.back());
  const Descriptor &q = *first[0], &k = *first[1], &v = *last[1], &o = *last[2];
  for (const Descriptor *tensor : {&q, &k, &v, &o, last[0]})
    if (tensor->sizes().size() != 4 || tensor->type() != q.type() ||
        (q.type() != CUDNN_DATA_HALF && q.type() != CUDNN_DATA_BFLOAT16)) {
      reason = "expected four dimensions of f16 or bf16";
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  constexpr int64_t factor = 8, largest = 256, accessBytes = 16;
  for (int64_t size : {q.sizes()[3], v.sizes()[3]})
    if (size % factor || size > largest) {
      reason = "Embedding dim per head is not a multiple of 8 up to 256";
      return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
    }
  for (const Descriptor *tensor : {&q, &k, &v, &o}) {
    Sizes strides = tensor->strides();
    size_t inner = tensor == &k ? 2 : 3;
    for (size_t d = 0; d < 4; ++d)
      if (d == inner
              ? strides[d] != 1
              : tensor->sizes()[d] > 1 && strides[d] * 2 % accessBytes != 0) {
        reason = "rows are not contiguous and aligned";
        return CUDNN_STATUS_NOT_SUPPORTED;
      }
  }
  return CUDNN_STATUS_SUCCESS;
}

int64_t tp::fake::bytesOf(const Descriptor &tensor) {
  Sizes sizes = tensor.sizes(), strides = tensor.strides();
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d)
    last += (sizes[d] - 1) * strides[d];
  return (last + 1) * byteSize(memoryType(tensor.type()));
}

void tp::fake::compute(const Descriptor &graph,
                       const std::map<int64_t, void *> &addresses) {
  Interpreter interpreter(addresses);
  for (const Descriptor *operation : operationsOf(graph))
    interpreter.run(*operation);
}
