//===- SomeTerms.h - a product of some terms --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chosen columns of A and rows of B are packed and multiplied as two
// matrices. A block of them at a time bounds the memory; C is read and written
// once for a block.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_SOMETERMS_H
#define TP_RUNTIME_CORE_SOMETERMS_H

#include "SomeRows.h"

namespace tp::runtime {

/// The most terms that are multiplied at once.
constexpr int64_t mostPackedTerms = 512;

/// The bytes that multiplyTerms works in, for elements of A and B of these
/// sizes.
constexpr int64_t packedTermsBytes(int64_t m, int64_t n, int64_t k,
                                   int64_t sizeOfA, int64_t sizeOfB) {
  int64_t terms = std::min(k, mostPackedTerms);
  return (terms * m * sizeOfA + 63) / 64 * 64 + terms * n * sizeOfB;
}

/// C = alpha * op(A) op(B) + beta * C, where only the columns of op(A) and the
/// rows of op(B) that are chosen are read and multiplied. `scratch` has
/// packedTermsBytes and is aligned to 64.
template <typename T, typename Sum, typename T2, typename Multiply>
void multiplyTerms(Product<T, Sum, T2> p, Chosen terms, char *scratch,
                   Multiply multiply) {
  int64_t most = std::min(p.k, mostPackedTerms);
  auto *packedA = reinterpret_cast<T *>(scratch);
  auto *packedB = reinterpret_cast<T2 *>(
      scratch + (most * p.m * int64_t(sizeof(T)) + 63) / 64 * 64);
  // A column of A is a row of its transpose.
  MatrixForm columnsOfA = {!p.aForm.transpose, p.aForm.ld};
  Product<T, Sum, T2> block = p;
  bool isFirst = true;
  forEachBlock<mostPackedTerms>(
      terms, p.k, [&](const int64_t *places, int64_t count, bool together) {
        block.k = count;
        block.beta = isFirst ? p.beta : Sum(1);
        isFirst = false;
        if (together) {
          block.a = p.a + places[0] * (p.aForm.transpose ? p.aForm.ld : 1);
          block.aForm = p.aForm;
          block.b = p.b + places[0] * (p.bForm.transpose ? 1 : p.bForm.ld);
          block.bForm = p.bForm;
        } else {
          for (int64_t i = 0; i < count; ++i) {
            packRow(p.a, columnsOfA, places[i], p.m, packedA + i * p.m);
            packRow(p.b, p.bForm, places[i], p.n, packedB + i * p.n);
          }
          block.a = packedA;
          block.aForm = {true, std::max<int64_t>(p.m, 1)};
          block.b = packedB;
          block.bForm = {false, std::max<int64_t>(p.n, 1)};
        }
        multiply(block);
      });
  if (isFirst)
    scaleRows(p);
}

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_SOMETERMS_H
