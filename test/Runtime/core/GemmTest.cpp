//===- GemmTest.cpp - matrix products against plain sums ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Gemm.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace tp::runtime;

namespace {

struct Form {
  int64_t m, n, k;
  bool transposeA, transposeB;
  double alpha, beta;
  std::vector<int64_t> batch;
  /// A stride of 0 in one batch dimension of B shares it.
  bool shareB;
  /// How many of the k rows and columns the rank has; NaN lies in the others.
  int64_t own;
};

/// Small integers: every sum is exact, in any order.
template <typename T> std::vector<T> numbers(int64_t count, int64_t salt) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = T((i * 37 + salt * 11) % 13 - 6);
  return values;
}

template <typename T> void check(const Form &form, DataType type) {
  GemmCommand g;
  g.dtype = type;
  g.m = form.m, g.n = form.n, g.k = form.k;
  g.alpha = form.alpha, g.beta = form.beta;
  g.batch = form.batch;
  int64_t batches = 1;
  auto operand = [&](GemmOperand &o, int64_t rows, int64_t columns,
                     bool transpose, bool share) {
    o.transpose = transpose;
    if (transpose)
      std::swap(rows, columns);
    o.ld = columns + 3;
    int64_t stride = rows * o.ld + 5;
    o.batchStrides.resize(form.batch.size());
    for (size_t d = form.batch.size(); d-- > 0;) {
      o.batchStrides[d] = share && d == 0 ? 0 : stride;
      stride *= form.batch[d];
    }
    return stride;
  };
  for (int64_t size : form.batch)
    batches *= size;
  auto a = numbers<T>(operand(g.a, g.m, g.k, form.transposeA, false), 1);
  auto b = numbers<T>(operand(g.b, g.k, g.n, form.transposeB, form.shareB), 2);
  int64_t sizeC = operand(g.c, g.m, g.n, false, false);
  // With beta 0 C is not read: NaN there must not show.
  auto c =
      form.beta == 0 ? std::vector<T>(sizeC, T(NAN)) : numbers<T>(sizeC, 3);
  std::vector<T> wanted = c;
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t rest = batch, offA = 0, offB = 0, offC = 0;
    for (size_t d = form.batch.size(); d-- > 0;) {
      int64_t index = rest % form.batch[d];
      rest /= form.batch[d];
      offA += index * g.a.batchStrides[d];
      offB += index * g.b.batchStrides[d];
      offC += index * g.c.batchStrides[d];
    }
    auto left = [&](int64_t i, int64_t l) -> T & {
      return a[offA + (g.a.transpose ? l * g.a.ld + i : i * g.a.ld + l)];
    };
    auto right = [&](int64_t l, int64_t j) -> T & {
      return b[offB + (g.b.transpose ? j * g.b.ld + l : l * g.b.ld + j)];
    };
    for (int64_t l = form.own; l < g.k; ++l) {
      for (int64_t i = 0; i < g.m; ++i)
        left(i, l) = NAN;
      for (int64_t j = 0; j < g.n; ++j)
        right(l, j) = NAN;
    }
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.n; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < form.own; ++l)
          sum += left(i, l) * right(l, j);
        T &cell = wanted[offC + i * g.c.ld + j];
        cell = T(form.alpha) * sum + (form.beta == 0 ? 0 : T(form.beta) * cell);
      }
  }
  // Rank 1 is asked for; the others have all rows.
  if (form.own < g.k)
    g.shortened = {{{0, 3, 1}}, {g.k, form.own, g.k}};
  useOneThreadPerRank();
  gemm(g, {1}, a.data(), b.data(), c.data());
  for (int64_t i = 0; i < sizeC; ++i)
    ASSERT_TRUE(c[i] == wanted[i] ||
                (std::isnan(c[i]) && std::isnan(wanted[i])))
        << i << ": " << c[i] << " for " << wanted[i] << ", m " << g.m << " n "
        << g.n << " k " << g.k << " " << form.transposeA << form.transposeB
        << " beta " << form.beta;
}

TEST(GemmTest, AllForms) {
  const std::array<int64_t, 3> sizes[] = {
      {1, 1, 1}, {1, 7, 5}, {6, 1, 5}, {3, 4, 5},    {17, 33, 9}, {2, 3, 0},
      {1, 3, 0}, {0, 3, 2}, {3, 0, 2}, {48, 64, 31}, {1, 100, 64}};
  for (auto [m, n, k] : sizes)
    for (int transposes = 0; transposes < 4; ++transposes)
      for (auto [alpha, beta] :
           {std::pair(1.0, 0.0), {2.0, 1.0}, {-1.0, 0.5}, {0.0, 2.0}})
        for (const std::vector<int64_t> &batch :
             {std::vector<int64_t>{}, {2, 3}, {0}})
          for (int64_t own : {k, k / 2, int64_t(0)}) {
            Form form{m,
                      n,
                      k,
                      (transposes & 1) != 0,
                      (transposes & 2) != 0,
                      alpha,
                      beta,
                      batch,
                      batch.size() > 1,
                      own};
            check<float>(form, DataType::F32);
            check<double>(form, DataType::F64);
          }
}

} // namespace
