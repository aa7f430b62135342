//===- GemmBatches.cpp - the batch dimensions of a GEMM -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmBatches.h"
#include <algorithm>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

GemmBatches::GemmBatches(const GemmCommand &gemm) {
  struct Dimension {
    int64_t size;
    std::array<int64_t, 4> strides;
  };
  const GemmOperand &residual = gemm.residual ? *gemm.residual : gemm.c;
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < gemm.batch.size(); ++d) {
    if (gemm.batch[d] == 1)
      continue;
    Dimension inner = {gemm.batch[d],
                       {gemm.a.batchStrides[d], gemm.b.batchStrides[d],
                        gemm.c.batchStrides[d], residual.batchStrides[d]}};
    bool joins = !dimensions.empty();
    for (size_t i = 0; i < inner.strides.size() && joins; ++i)
      joins = dimensions.back().strides[i] == inner.size * inner.strides[i];
    if (joins) {
      dimensions.back().size *= inner.size;
      dimensions.back().strides = inner.strides;
    } else {
      dimensions.push_back(inner);
    }
  }
  if (dimensions.empty())
    return;
  auto largest = std::max_element(
      dimensions.begin(), dimensions.end(),
      [](const Dimension &a, const Dimension &b) { return a.size < b.size; });
  count = largest->size;
  strides = largest->strides;
  dimensions.erase(largest);
  for (const Dimension &dimension : dimensions) {
    std::vector<std::array<int64_t, 4>> all;
    for (const auto &offset : offsets)
      for (int64_t i = 0; i < dimension.size; ++i) {
        all.push_back(offset);
        for (size_t o = 0; o < offset.size(); ++o)
          all.back()[o] += i * dimension.strides[o];
      }
    offsets = std::move(all);
  }
}

int64_t GemmBatches::alignment(CUdeviceptr address, int64_t elementBytes,
                               size_t operand) const {
  uint64_t bits =
      256 | uint64_t(address) | uint64_t(strides[operand] * elementBytes);
  for (const auto &offset : offsets)
    bits |= uint64_t(offset[operand] * elementBytes);
  return int64_t(bits & -bits);
}
