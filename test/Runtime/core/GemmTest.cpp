//===- GemmTest.cpp - matrix products against plain sums ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Gemm.h"
#include "SmallNumbers.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace tp::runtime;
using namespace tp::test;

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
  /// Every so many rows one is computed, from the first; 0: all, without a
  /// list of them. The rows of batch dimension 0 share one list.
  int64_t everyRow = 0;
  /// B is a matrix of a table, at another place for every index of the last
  /// batch dimension.
  bool looksUp = false;
  /// As everyRow, of the k columns of A and rows of B that are multiplied; NaN
  /// lies in the others.
  int64_t everyTerm = 0;
};

/// A list of booleans with gaps: `isChosen(i, inner)` for i < size and inner
/// the index of the last batch dimension.
template <typename IsChosen>
std::unique_ptr<bool[]> listOf(const Form &form, int64_t size, GemmMask &mask,
                               IsChosen isChosen) {
  int64_t lists = form.batch.empty() ? 1 : form.batch.back();
  // A place in the list is not the one behind the last one's.
  std::unique_ptr<bool[]> list(new bool[2 * size * lists + 1]());
  mask.strides.assign(form.batch.size() + 1, 0);
  mask.strides.back() = 2;
  if (!form.batch.empty())
    mask.strides[form.batch.size() - 1] = 2 * size;
  for (int64_t inner = 0; inner < lists; ++inner)
    for (int64_t i = 0; i < size; ++i)
      list[2 * (inner * size + i)] = isChosen(i, inner);
  return list;
}

/// Sums and the result are of type Sum.
template <typename T, typename Sum, typename T2 = T>
void check(const Form &form, DataType type, DataType typeOfB) {
  GemmCommand g;
  g.dtype = type;
  g.bDtype = typeOfB;
  g.cDtype = type == DataType::F64 ? DataType::F64 : DataType::F32;
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
  auto b = numbers<T2>(
      form.looksUp ? 5 * (operand(g.b, g.k, g.n, form.transposeB, true) + 7)
                   : operand(g.b, g.k, g.n, form.transposeB, form.shareB),
      2);
  // A place outside of the table is the nearest one in it.
  const std::array<int64_t, 4> places = {2, -3, 9, 0};
  auto placeOf = [&](int64_t batch) {
    int64_t inner = form.batch.empty() ? 0 : batch % form.batch.back();
    return form.looksUp ? std::clamp<int64_t>(places[inner], 0, 4) : 0;
  };
  if (form.looksUp) {
    g.lookup = {{}, std::vector<int64_t>(form.batch.size(), 0), 0, 5};
    g.lookup->step = int64_t(b.size()) / 5;
    if (!form.batch.empty())
      g.lookup->strides.back() = 1;
    std::fill(g.b.batchStrides.begin(), g.b.batchStrides.end(), 0);
  }
  int64_t sizeC = operand(g.c, g.m, g.n, false, false);
  // With beta 0 C is not read: NaN there must not show.
  auto c =
      form.beta == 0 ? std::vector<Sum>(sizeC, NAN) : numbers<Sum>(sizeC, 3);
  std::vector<Sum> wanted = c;
  auto innerOf = [&](int64_t batch) {
    return form.batch.empty() ? 0 : batch % form.batch.back();
  };
  auto isRow = [&](int64_t row, int64_t inner) {
    return form.everyRow == 0 || (row + inner) % form.everyRow == 0;
  };
  auto isTerm = [&](int64_t l, int64_t inner) {
    return form.everyTerm == 0 || (l + inner) % form.everyTerm == 0;
  };
  auto isChosen = [&](int64_t row, int64_t batch) {
    return isRow(row, innerOf(batch));
  };
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t rest = batch, offA = 0, offB = 0, offC = 0;
    for (size_t d = form.batch.size(); d-- > 0;) {
      int64_t index = rest % form.batch[d];
      rest /= form.batch[d];
      offA += index * g.a.batchStrides[d];
      offB += index * g.b.batchStrides[d];
      offC += index * g.c.batchStrides[d];
    }
    if (form.looksUp)
      offB += placeOf(batch) * g.lookup->step;
    auto left = [&](int64_t i, int64_t l) -> T & {
      return a[offA + (g.a.transpose ? l * g.a.ld + i : i * g.a.ld + l)];
    };
    auto right = [&](int64_t l, int64_t j) -> T2 & {
      return b[offB + (g.b.transpose ? j * g.b.ld + l : l * g.b.ld + j)];
    };
    for (int64_t l = 0; l < g.k; ++l) {
      if (l < form.own && isTerm(l, innerOf(batch)))
        continue;
      for (int64_t i = 0; i < g.m; ++i)
        left(i, l) = T(NAN);
      for (int64_t j = 0; j < g.n; ++j)
        right(l, j) = T2(NAN);
    }
    // What is left out is not read.
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t l = 0; l < g.k && !isChosen(i, batch); ++l)
        left(i, l) = T(NAN);
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.n; ++j) {
        Sum sum = 0;
        for (int64_t l = 0; l < form.own; ++l)
          if (isTerm(l, innerOf(batch)))
            sum += Sum(left(i, l)) * Sum(right(l, j));
        Sum &cell = wanted[offC + i * g.c.ld + j];
        // The others stay, where there is something to multiply.
        if (!isChosen(i, batch)) {
          if (form.own == 0)
            cell = 0;
          continue;
        }
        cell = Sum(form.alpha) * sum +
               (form.beta == 0 ? 0 : Sum(form.beta) * cell);
      }
  }
  // Rank 1 is asked for; the others have all rows.
  if (form.own < g.k)
    g.shortened = {{{0, 3, 1}}, {g.k, form.own, g.k}};
  std::unique_ptr<bool[]> rows, terms;
  if (form.everyRow)
    rows = listOf(form, g.m, g.rows.emplace(), isRow);
  if (form.everyTerm)
    terms = listOf(form, g.k, g.terms.emplace(), isTerm);
  useOneThreadPerRank();
  // What lies behind the scratch must stay.
  std::vector<float> scratch(gemmScratch(g) / sizeof(float) + 8, 7.0f);
  gemm(g, {g.n, g.kOf({1})},
       {a.data(), b.data(), c.data(), rows.get(), terms.get(), places.data()},
       scratch.data());
  EXPECT_EQ(std::vector<float>(scratch.end() - 8, scratch.end()),
            std::vector<float>(8, 7.0f));
  for (int64_t i = 0; i < sizeC; ++i)
    ASSERT_TRUE(c[i] == wanted[i] ||
                (std::isnan(c[i]) && std::isnan(wanted[i])))
        << i << ": " << c[i] << " for " << wanted[i] << ", m " << g.m << " n "
        << g.n << " k " << g.k << " " << form.transposeA << form.transposeB
        << " beta " << form.beta;
}

/// f32 and a narrow type, on either side.
void checkMixed(const Form &form) {
  check<float, float, Half>(form, DataType::F32, DataType::F16);
  check<float, float, BFloat>(form, DataType::F32, DataType::BF16);
  check<Half, float, float>(form, DataType::F16, DataType::F32);
  check<BFloat, float, float>(form, DataType::BF16, DataType::F32);
}

TEST(GemmTest, AllForms) {
  const std::array<int64_t, 3> sizes[] = {
      {1, 1, 1},    {1, 7, 5},   {6, 1, 5},    {3, 4, 5},  {17, 33, 9},
      {2, 3, 0},    {1, 3, 0},   {0, 3, 2},    {3, 0, 2},  {48, 64, 31},
      {1, 100, 64}, {3, 21, 70}, {4, 200, 37}, {2, 64, 33}};
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
            check<float, float>(form, DataType::F32, DataType::F32);
            check<double, double>(form, DataType::F64, DataType::F64);
            check<Half, float>(form, DataType::F16, DataType::F16);
            check<BFloat, float>(form, DataType::BF16, DataType::BF16);
            checkMixed(form);
          }
}

// Few rows of either matrix, and more elements of a row than are widened at
// once.
TEST(GemmTest, LongRows) {
  const std::array<int64_t, 3> sizes[] = {
      {9, 48, 2048}, {48, 9, 3000}, {32, 24, 2100}, {2, 300, 33000}};
  for (auto [m, n, k] : sizes)
    for (int transposes = 0; transposes < 4; ++transposes) {
      Form form{
          m,  n,     k, (transposes & 1) != 0, (transposes & 2) != 0, 1.0, 0.0,
          {}, false, k};
      check<float, float>(form, DataType::F32, DataType::F32);
      check<Half, float>(form, DataType::F16, DataType::F16);
      check<BFloat, float>(form, DataType::BF16, DataType::BF16);
      checkMixed(form);
    }
}

// Some rows: none, all, one after another, with gaps, more than are packed at
// once, and of products that have few.
TEST(GemmTest, SomeRows) {
  const std::array<int64_t, 3> sizes[] = {{1, 7, 5}, {6, 1, 5}, {17, 33, 9},
                                          {2, 3, 0}, {0, 3, 2}, {1100, 20, 30}};
  for (auto [m, n, k] : sizes)
    for (int transposes = 0; transposes < 4; ++transposes)
      for (int64_t every : {int64_t(1), int64_t(2), int64_t(3), m + 7})
        for (const std::vector<int64_t> &batch :
             {std::vector<int64_t>{}, {2, 3}}) {
          Form form{
              m,    n,   k,     (transposes & 1) != 0, (transposes & 2) != 0,
              2.0,  0.0, batch, batch.size() > 1,      k,
              every};
          check<float, float>(form, DataType::F32, DataType::F32);
          check<double, double>(form, DataType::F64, DataType::F64);
          check<Half, float>(form, DataType::F16, DataType::F16);
          check<BFloat, float>(form, DataType::BF16, DataType::BF16);
          checkMixed(form);
          form.own = k / 2;
          check<float, float>(form, DataType::F32, DataType::F32);
        }
}

// Some terms: all, with gaps, one, and more than are packed at once; of a rank
// that has some of them, and of one that has none.
TEST(GemmTest, SomeTerms) {
  const std::array<int64_t, 3> sizes[] = {{1, 7, 5},  {6, 1, 5}, {17, 33, 9},
                                          {40, 3, 1}, {0, 3, 2}, {5, 7, 1100}};
  for (auto [m, n, k] : sizes)
    for (int transposes = 0; transposes < 4; ++transposes)
      for (int64_t every : {int64_t(1), int64_t(2), int64_t(3), k + 7})
        for (double beta : {0.0, 1.0})
          for (const std::vector<int64_t> &batch :
               {std::vector<int64_t>{}, {2, 3}}) {
            Form form{
                m,   n,    k,     (transposes & 1) != 0, (transposes & 2) != 0,
                2.0, beta, batch, batch.size() > 1,      k};
            form.everyTerm = every;
            check<float, float>(form, DataType::F32, DataType::F32);
            check<double, double>(form, DataType::F64, DataType::F64);
            check<Half, float>(form, DataType::F16, DataType::F16);
            check<BFloat, float>(form, DataType::BF16, DataType::BF16);
            checkMixed(form);
            for (int64_t own : {k / 2, int64_t(0)}) {
              form.own = own;
              check<float, float>(form, DataType::F32, DataType::F32);
            }
          }
}

// Matrices of a table, of all rows and of some.
TEST(GemmTest, Lookups) {
  const std::array<int64_t, 3> sizes[] = {
      {1, 7, 5}, {6, 1, 5}, {17, 33, 9}, {1, 100, 64}};
  for (auto [m, n, k] : sizes)
    for (int transposes = 0; transposes < 4; ++transposes)
      for (int64_t every : {0, 2})
        for (const std::vector<int64_t> &batch :
             {std::vector<int64_t>{}, {4}, {2, 3}}) {
          Form form{m,
                    n,
                    k,
                    (transposes & 1) != 0,
                    (transposes & 2) != 0,
                    2.0,
                    0.0,
                    batch,
                    false,
                    k,
                    every,
                    /*looksUp=*/true};
          check<float, float>(form, DataType::F32, DataType::F32);
          check<double, double>(form, DataType::F64, DataType::F64);
          check<BFloat, float>(form, DataType::BF16, DataType::BF16);
          checkMixed(form);
        }
}

// Sizes beyond every block, and beyond every vector.
TEST(GemmTest, Blocks) {
  const std::array<int64_t, 3> sizes[] = {
      {1, 1100, 2100}, {3, 1030, 37}, {1030, 5, 45}, {16, 17, 2049},
      {17, 40, 1030},  {270, 33, 70}, {20, 530, 30}, {258, 514, 9},
      {5, 40, 530},    {13, 31, 20},  {390, 70, 20}, {30, 100, 520},
      {128, 70, 391},  {130, 9, 400}, {3, 2800, 70}, {4, 5, 2100}};
  for (auto [m, n, k] : sizes)
    for (int transposes = 0; transposes < 4; ++transposes)
      for (double beta : {0.0, 0.5}) {
        Form form{m,
                  n,
                  k,
                  (transposes & 1) != 0,
                  (transposes & 2) != 0,
                  2.0,
                  beta,
                  {},
                  false,
                  k};
        check<float, float>(form, DataType::F32, DataType::F32);
        check<Half, float>(form, DataType::F16, DataType::F16);
        check<BFloat, float>(form, DataType::BF16, DataType::BF16);
        checkMixed(form);
      }
}

} // namespace
