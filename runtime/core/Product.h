//===- Product.h - one matrix product ---------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_PRODUCT_H
#define TP_RUNTIME_CORE_PRODUCT_H

#include <algorithm>
#include <cstdint>

namespace tp::runtime {

/// How an operand lies in memory: row-major, or its transpose is.
struct MatrixForm {
  bool transpose;
  /// Elements from one row of what is stored to the next.
  int64_t ld;
};

/// C = alpha * op(A) op(B) + beta * C, with A of m x k and B of k x n. Elements
/// of A are of type T, those of B of type T2, sums and C of type Sum. With beta
/// 0 C is not read.
template <typename T, typename Sum = T, typename T2 = T> struct Product {
  int64_t m, n, k;
  Sum alpha;
  const T *a;
  MatrixForm aForm;
  const T2 *b;
  MatrixForm bForm;
  Sum beta;
  Sum *c;
  int64_t ldc;
};

/// C = beta * C, where beta 0 writes zeros whatever C holds.
template <typename T, typename Sum, typename T2>
void scaleRows(const Product<T, Sum, T2> &p) {
  for (int64_t i = 0; i < p.m; ++i) {
    Sum *row = p.c + i * p.ldc;
    if (p.beta == Sum(0))
      std::fill(row, row + p.n, Sum(0));
    else if (p.beta != Sum(1))
      for (int64_t j = 0; j < p.n; ++j)
        row[j] *= p.beta;
  }
}

/// The most rows that are few.
constexpr int64_t mostFewRows = 128;

/// By the library for their type that this build has.
void multiply(const Product<float> &product);
void multiply(const Product<double> &product);

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_PRODUCT_H
