//===- VectorLoopsTest.cpp - the loops of every set of instructions -------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/VectorLoops.h"
#include "SmallNumbers.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace tp::runtime;
using namespace tp::test;

namespace {

const VectorLoops *const allLoops[] = {
    vectorLoopsOfAny(),
#if defined(__x86_64__)
    __builtin_cpu_supports("avx2") ? vectorLoopsOfAvx2() : nullptr,
    __builtin_cpu_supports("avx512bw") ? vectorLoopsOfAvx512() : nullptr,
#endif
};

// All bits: NaN stays NaN, everything else is exact.
TEST(VectorLoopsTest, EveryNarrowNumberIsWidened) {
  std::vector<uint16_t> bits(65536 + 5);
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = i;
  for (const VectorLoops *loops : allLoops)
    for (bool half : {false, true}) {
      if (!loops)
        continue;
      std::vector<float> wide(bits.size());
      (half ? loops->f16 : loops->bf16)
          .widen(bits.data(), bits.size(), wide.data());
      for (size_t i = 0; i < bits.size(); ++i) {
        float wanted = half ? halfToFloat(bits[i]) : bfloatToFloat(bits[i]);
        ASSERT_TRUE(std::isnan(wanted) ? std::isnan(wide[i])
                                       : std::bit_cast<uint32_t>(wanted) ==
                                             std::bit_cast<uint32_t>(wide[i]))
            << bits[i] << ": " << wide[i] << " for " << wanted;
      }
    }
}

// Of every upper half: the number itself, its neighbours, and halves of the way
// to the next.
TEST(VectorLoopsTest, Roundings) {
  std::vector<float> numbers;
  for (uint32_t upper = 0; upper < 65536; ++upper)
    for (uint32_t lower : {0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x7fff,
                           0x8000, 0x8001, 0xffff})
      numbers.push_back(std::bit_cast<float>(upper << 16 | lower));
  numbers.resize(numbers.size() - 3);
  for (const VectorLoops *loops : allLoops)
    for (bool half : {false, true}) {
      auto round = loops ? (half ? loops->f16 : loops->bf16).round : nullptr;
      if (!round)
        continue;
      std::vector<uint16_t> bits(numbers.size() + 1, 7);
      round(numbers.data(), numbers.size(), bits.data());
      EXPECT_EQ(bits.back(), 7);
      for (size_t i = 0; i < numbers.size(); ++i) {
        uint16_t wanted =
            half ? floatToHalf(numbers[i]) : floatToBfloat(numbers[i]);
        float wide = half ? halfToFloat(bits[i]) : bfloatToFloat(bits[i]);
        ASSERT_TRUE(std::isnan(numbers[i]) ? std::isnan(wide)
                                           : bits[i] == wanted)
            << numbers[i] << ": " << bits[i] << " for " << wanted;
      }
    }
}

// The sets of instructions give equal sums of small integers, of very few rows
// and of more.
TEST(VectorLoopsTest, SumsOfProducts) {
  int64_t n = 53, k = 101, lda = 103, ldb = 130;
  auto b = numbers<BFloat>(ldb * ldb, 2);
  std::vector<float> wide(b.begin(), b.end());
  auto *bits = reinterpret_cast<const uint16_t *>(b.data());
  for (int64_t m : {1, 2, 3, 4, 7}) {
    auto a = numbers<float>(m * lda, 1), packed = numbers<float>(m * k, 1);
    std::vector<float> rows(m * n, 1.0f), columns = rows;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l) {
          rows[i * n + j] += a[i * lda + l] * b[j * ldb + l];
          columns[i * n + j] += packed[i * k + l] * b[l * ldb + j];
        }
    for (const VectorLoops *loops : allLoops) {
      if (!loops)
        continue;
      std::vector<float> sums;
      for (bool inStreams : {false, true}) {
        sums.assign(m * n, 1.0f);
        loops->bf16.addRowsTimesRows(a.data(), lda, m, k, bits, ldb, n,
                                     sums.data(), inStreams);
        EXPECT_EQ(sums, rows);
        sums.assign(m * n, 1.0f);
        loops->addRowsTimesRows(a.data(), lda, m, k, wide.data(), ldb, n,
                                sums.data(), inStreams);
        EXPECT_EQ(sums, rows);
      }
      if (m <= veryFewRows) {
        sums.assign(m * n, 1.0f);
        loops->addVeryFewTimesColumns(packed.data(), k, m, k, wide.data(), ldb,
                                      n, sums.data());
        EXPECT_EQ(sums, columns);
      }
      sums.assign(m * n, 1.0f);
      loops->bf16.addRowsTimesColumns(packed.data(), m, k, bits, ldb, n,
                                      sums.data());
      EXPECT_EQ(sums, columns);
    }
  }
}

/// alpha A B + beta C, as the loops for tiles have to compute it.
struct TileCase {
  int64_t m, n, k, lda, ldb, ldc;
  float alpha, beta;
  std::vector<float> a, c, wanted;
  std::vector<BFloat> b;

  TileCase(int64_t m, int64_t n, int64_t k, float beta)
      : m(m), n(n), k(k), lda(k + 3), ldb(n + 5), ldc(n + 2), alpha(2),
        beta(beta), a(numbers<float>(m * lda, 1)),
        c(numbers<float>(m * ldc, 3)), b(numbers<BFloat>(k * ldb, 2)) {
    wanted = c;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += a[i * lda + l] * b[l * ldb + j];
        float &to = wanted[i * ldc + j];
        to = alpha * sum + (beta == 0 ? 0 : beta * to);
      }
    // It is not read.
    if (beta == 0)
      std::fill(c.begin(), c.end(), NAN);
  }

  void expectWanted(const std::vector<float> &got) const {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < ldc; ++j) {
        float cell = got[i * ldc + j], old = c[i * ldc + j];
        if (j < n)
          ASSERT_EQ(cell, wanted[i * ldc + j]) << i << ", " << j << " of " << m;
        else
          ASSERT_TRUE(cell == old || (std::isnan(cell) && std::isnan(old)));
      }
  }
};

// Every number of rows that a tile has, with panels and without.
TEST(VectorLoopsTest, Tiles) {
  for (const VectorLoops *loops : allLoops)
    for (int64_t m = 1; m < 27; ++m)
      for (auto [n, k] : {std::pair(5, 3), {16, 9}, {75, 4}, {64, 1}}) {
        if (!loops)
          continue;
        TileCase test(m, n, k, m % 2 ? 0.5f : 0.0f);
        const TileLoops &tiles = loops->bf16.tiles;
        auto *b = reinterpret_cast<const uint16_t *>(test.b.data());
        std::vector<float> c = test.c;
        tiles.timesColumns(test.a.data(), test.lda, m, k, b, test.ldb, n,
                           test.alpha, test.beta, c.data(), test.ldc);
        test.expectWanted(c);
        int64_t width = tiles.panelColumns, count = (n + width - 1) / width;
        std::vector<float> panels(count * width * k + 1, 7.0f);
        tiles.widenPanels(b, test.ldb, k, n, panels.data());
        EXPECT_EQ(panels.back(), 7.0f);
        c = test.c;
        for (int64_t j = 0; j < n; j += width)
          tiles.timesPanel(test.a.data(), test.lda, m, k, panels.data() + j * k,
                           std::min<int64_t>(n - j, width), test.alpha,
                           test.beta, c.data() + j, test.ldc);
        test.expectWanted(c);
      }
}

TEST(VectorLoopsTest, Exponentials) {
  for (const VectorLoops *loops : allLoops) {
    if (!loops)
      continue;
    for (int64_t count : {0, 1, 15, 16, 17, 1000}) {
      std::vector<float> row(count + 1);
      for (int64_t i = 0; i <= count; ++i)
        row[i] = 3.0f - 0.11f * i;
      std::vector<float> before = row;
      float sum = loops->softmax.exponentials(row.data(), count, 3.0f);
      double wanted = 0;
      for (int64_t i = 0; i < count; ++i) {
        double value = std::exp(double(before[i]) - 3.0);
        wanted += value;
        // What is no normal number is 0.
        ASSERT_NEAR(row[i], value, 2.4e-7 * value + 1.3e-38) << i;
      }
      EXPECT_NEAR(sum, wanted, 1e-6 * wanted);
      EXPECT_EQ(row[count], before[count]);
      EXPECT_EQ(loops->softmax.maximum(before.data(), count),
                count ? 3.0f : -INFINITY);
    }
    std::vector<float> row = {NAN, -INFINITY, -1e30f, 2.0f, -0.0f};
    EXPECT_EQ(loops->softmax.maximum(row.data(), 5), 2.0f);
    EXPECT_TRUE(std::isnan(loops->softmax.exponentials(row.data(), 5, 2.0f)));
    EXPECT_TRUE(std::isnan(row[0]));
    EXPECT_EQ(row[1], 0.0f);
    EXPECT_EQ(row[2], 0.0f);
    EXPECT_EQ(row[3], 1.0f);
  }
}

} // namespace
