//===- CpuAttentionTest.cpp - attention on the CPU, by its definition -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/attention/CpuAttention.h"
#include "TypedTensor.h"
#include "core/Gemm.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tp::runtime;

namespace {

/// With gaps.
using Tensor = tp::test::TypedTensor;

class AttentionTest : public testing::Test {
protected:
  std::mt19937 random{7};

  Tensor numbers(DataType type, int64_t count, double scale = 1) {
    Tensor tensor(type, count);
    std::normal_distribution<double> normal(0, scale);
    for (int64_t i = 0; i < count; ++i)
      tensor.set(i, normal(random));
    return tensor;
  }

  /// Rows of `columns` elements behind each other, with gaps.
  static AttentionOperand strided(int64_t heads, int64_t rows, int64_t columns,
                                  bool rowsOutside) {
    int64_t row = columns + 3;
    if (rowsOutside) // [batch, row, head, column], as projections leave it
      return {{}, {rows * heads * row + 5, row, heads * row}};
    return {{}, {heads * rows * row + 5, rows * row, row}};
  }

  void check(AttentionCommand c, bool rowsOutside, DataType biasType,
             std::array<int64_t, 4> biasStrides, double hidden = 0,
             bool windows = false) {
    c.q = strided(c.heads, c.queries, c.headSize, rowsOutside);
    c.k = strided(c.kvHeads, c.keys, c.headSize, rowsOutside);
    c.v = strided(c.kvHeads, c.keys, c.valueSize, rowsOutside);
    c.o = strided(c.heads, c.queries, c.valueSize, rowsOutside);
    // Each row is the one before, moved by one element.
    if (windows)
      for (AttentionOperand *operand : {&c.q, &c.k, &c.v})
        operand->strides[2] = 1;
    Tensor q = numbers(c.dtype, c.batch * c.q.strides[0]);
    Tensor k = numbers(c.dtype, c.batch * c.k.strides[0]);
    Tensor v = numbers(c.dtype, c.batch * c.v.strides[0]);
    Tensor o = numbers(c.dtype, c.batch * c.o.strides[0]);
    Tensor bias(biasType, 0);
    if (c.bias) {
      c.bias->dtype = biasType;
      c.bias->strides = biasStrides;
      int64_t sizes[] = {c.batch, c.heads, c.queries, c.keys}, last = 1;
      for (int d = 0; d < 4; ++d)
        last += (sizes[d] - 1) * biasStrides[d];
      bias = numbers(biasType, last, 2);
      std::uniform_real_distribution<double> uniform;
      for (int64_t i = 0; i < last; ++i)
        if (uniform(random) < hidden)
          bias.set(i, -INFINITY);
    }
    Tensor before = o;
    std::vector<char> scratch(attentionScratch(c) + 128, 77);
    char *aligned = scratch.data() + 64 - uintptr_t(scratch.data()) % 64;
    attention(c,
              {q.bytes.data(), k.bytes.data(), v.bytes.data(),
               c.bias ? bias.bytes.data() : nullptr, o.bytes.data()},
              aligned);
    for (char *end = aligned + attentionScratch(c);
         end < scratch.data() + scratch.size(); ++end)
      ASSERT_EQ(*end, 77) << "behind the scratch";
    double tolerance = c.dtype == DataType::F64   ? 1e-12
                       : c.dtype == DataType::F32 ? 2e-5
                       : c.dtype == DataType::F16 ? 2e-3
                                                  : 2e-2;
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t i = 0; i < c.queries; ++i) {
          int64_t kv = h / (c.heads / c.kvHeads);
          std::vector<double> scores(c.keys, -INFINITY);
          double largest = -INFINITY, total = 0;
          for (int64_t j = 0; j < c.keys; ++j) {
            if ((c.lower && j - i < *c.lower) || (c.upper && j - i > *c.upper))
              continue;
            double sum = 0;
            for (int64_t l = 0; l < c.headSize; ++l)
              sum += q.at(b * c.q.strides[0] + h * c.q.strides[1] +
                          i * c.q.strides[2] + l) *
                     k.at(b * c.k.strides[0] + kv * c.k.strides[1] +
                          j * c.k.strides[2] + l);
            sum *= c.scale;
            if (c.bias)
              sum += bias.at(b * biasStrides[0] + h * biasStrides[1] +
                             i * biasStrides[2] + j * biasStrides[3]);
            scores[j] = sum;
            largest = std::max(largest, sum);
          }
          for (double &score : scores)
            total += score =
                largest == -INFINITY ? 0 : std::exp(score - largest);
          for (int64_t l = 0; l < c.valueSize; ++l) {
            double wanted = 0;
            for (int64_t j = 0; j < c.keys; ++j)
              wanted += scores[j] / total *
                        v.at(b * c.v.strides[0] + kv * c.v.strides[1] +
                             j * c.v.strides[2] + l);
            if (total == 0)
              wanted = c.emptyRows == EmptyRows::Zero ? 0 : NAN;
            int64_t index = b * c.o.strides[0] + h * c.o.strides[1] +
                            i * c.o.strides[2] + l;
            double got = o.at(index);
            before.set(index, got);
            if (std::isnan(wanted))
              ASSERT_TRUE(std::isnan(got)) << got;
            else
              ASSERT_NEAR(got, wanted, tolerance)
                  << "batch " << b << " head " << h << " query " << i;
          }
        }
    // Nothing but the result was written.
    EXPECT_EQ(o.bytes, before.bytes);
  }
};

AttentionCommand sized(DataType type, int64_t batch, int64_t heads,
                       int64_t kvHeads, int64_t queries, int64_t keys,
                       int64_t headSize, int64_t valueSize) {
  AttentionCommand c;
  c.dtype = type;
  c.batch = batch;
  c.heads = heads;
  c.kvHeads = kvHeads;
  c.queries = queries;
  c.keys = keys;
  c.headSize = headSize;
  c.valueSize = valueSize;
  c.scale = 1 / std::sqrt(double(headSize));
  return c;
}

constexpr DataType types[] = {DataType::F64, DataType::F32, DataType::F16,
                              DataType::BF16};

TEST_F(AttentionTest, TypesAndLayouts) {
  useOneThreadPerRank();
  for (DataType type : types)
    for (bool rowsOutside : {false, true}) {
      check(sized(type, 2, 4, 2, 5, 7, 8, 6), rowsOutside, type, {});
      check(sized(type, 1, 3, 1, 1, 9, 4, 4), rowsOutside, type, {});
      check(sized(type, 2, 2, 2, 3, 1, 1, 1), rowsOutside, type, {});
    }
}

TEST_F(AttentionTest, RowsThatOverlap) {
  for (DataType type : types) {
    check(sized(type, 2, 4, 2, 5, 7, 8, 6), false, type, {}, 0, true);
    check(sized(type, 1, 4, 2, 1, 7, 8, 6), false, type, {}, 0, true);
  }
}

TEST_F(AttentionTest, BoundsAcrossBlocks) {
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>{300, 300},
                               {130, 1100},
                               {1, 1030},
                               {260, 40}})
    for (std::optional<int64_t> lower :
         {std::optional<int64_t>(), {-3}, {-200}, {5}})
      for (std::optional<int64_t> upper :
           {std::optional<int64_t>(), {0}, {keys - queries}, {70}, {-2}}) {
        AttentionCommand c = sized(DataType::F32, 1, 2, 1, queries, keys, 5, 3);
        c.lower = lower;
        c.upper = upper;
        for (EmptyRows rows : {EmptyRows::Zero, EmptyRows::NaN}) {
          c.emptyRows = rows;
          check(c, false, DataType::F32, {});
        }
      }
}

TEST_F(AttentionTest, Biases) {
  for (DataType type : types)
    for (std::array<int64_t, 4> strides : {std::array<int64_t, 4>{0, 0, 600, 1},
                                           {700000, 180000, 600, 1},
                                           {0, 600, 0, 1},
                                           {3, 1, 0, 0},
                                           {0, 0, 2, 1300}})
      for (double hidden : {0.0, 0.9, 1.0}) {
        AttentionCommand c = sized(type, 2, 4, 2, 6, 530, 4, 4);
        c.bias.emplace();
        c.emptyRows = EmptyRows::Zero;
        c.upper = 525;
        check(c, true, DataType::F32, strides, hidden);
        check(c, false, type, strides, hidden);
        c.queries = 1;
        c.upper.reset();
        check(c, true, DataType::F32, strides, hidden);
      }
}

// Scores beyond what exp could take, and rows whose maximum comes last.
TEST_F(AttentionTest, LargeScores) {
  for (double scale : {100.0, -100.0, 1e-30}) {
    AttentionCommand c = sized(DataType::F32, 1, 1, 1, 4, 1500, 8, 4);
    c.scale = scale;
    check(c, false, DataType::F32, {});
  }
}

// A key that is masked counts for nothing, whatever its score is.
TEST_F(AttentionTest, MaskedScoresCountForNothing) {
  for (float mask : {-INFINITY, -3.4e38f})
    for (float value : {NAN, INFINITY, -INFINITY}) {
      AttentionCommand c = sized(DataType::F32, 1, 1, 1, 1, 3, 1, 1);
      c.q = c.k = c.v = c.o = {{}, {0, 0, 1}};
      c.bias.emplace();
      c.bias->dtype = DataType::F32;
      c.bias->strides = {0, 0, 0, 1};
      float q = 1, k[] = {1, value, 1}, v[] = {2, 7, 4}, o = 0;
      float bias[] = {0, mask, 0};
      std::vector<char> scratch(attentionScratch(c));
      attention(c, {&q, k, v, bias, &o}, scratch.data());
      EXPECT_EQ(o, 3.0f);
    }
}

// Spans of keys do what a mask does that is -inf outside of them, also where a
// block of queries sees keys that do not follow those of the one before.
TEST_F(AttentionTest, SpansAreMasks) {
  constexpr int64_t heads = 2, queries = 300, keys = 700, columns = 8;
  AttentionCommand c =
      sized(DataType::F32, 1, heads, 1, queries, keys, columns, columns);
  c.q = c.o = {{}, {0, queries * columns, columns}};
  c.k = c.v = {{}, {0, 0, columns}};
  c.emptyRows = EmptyRows::Zero;
  c.bias.emplace();
  Tensor q = numbers(DataType::F32, heads * queries * columns);
  Tensor k = numbers(DataType::F32, keys * columns);
  Tensor v = numbers(DataType::F32, keys * columns);
  std::vector<int64_t> spans;
  std::vector<float> mask(queries * keys, -INFINITY);
  for (int64_t i = 0; i < queries; ++i) {
    // Chunks of 50 queries: causal, with a window, or without a key.
    int64_t at = i % 50 + i / 50 * 110, first = i / 50 % 2 ? at - 30 : 0;
    int64_t end = i / 50 == 3 ? 0 : at + 1;
    first = std::max<int64_t>(first, 0);
    spans.insert(spans.end(), {first, end});
    for (int64_t j = first; j < end; ++j)
      mask[i * keys + j] = 0;
  }
  auto run = [&](DataType dtype, std::array<int64_t, 4> strides,
                 const void *bias) {
    c.bias->dtype = dtype;
    c.bias->strides = strides;
    std::vector<float> o(heads * queries * columns, NAN);
    std::vector<char> scratch(attentionScratch(c) + 64);
    char *aligned = scratch.data() + 64 - uintptr_t(scratch.data()) % 64;
    attention(c,
              {q.bytes.data(), k.bytes.data(), v.bytes.data(), bias, o.data()},
              aligned);
    return o;
  };
  std::vector<float> masked = run(DataType::F32, {0, 0, keys, 1}, mask.data());
  std::vector<float> spanned = run(DataType::I64, {0, 0, 2, 1}, spans.data());
  for (size_t i = 0; i < masked.size(); ++i)
    ASSERT_NEAR(spanned[i], masked[i], 1e-5) << i;
}

// A chunk that no query sees changes nothing, and one of keys that some queries
// do not see leaves those as they are, in another memory or in its place.
TEST_F(AttentionTest, ChunksAddUp) {
  constexpr int64_t heads = 4, queries = 150, keys = 600, columns = 8;
  constexpr int64_t values = 5, state = values + 2;
  for (DataType type : types) {
    AttentionCommand c =
        sized(type, 1, heads, 2, queries, keys, columns, values);
    c.q = {{}, {0, queries * columns, columns}};
    c.k = {{}, {0, keys * columns, columns}};
    c.v = {{}, {0, keys * values, values}};
    c.o = {{}, {0, queries * values, values}};
    c.upper = 100;
    Tensor q = numbers(type, heads * queries * columns);
    Tensor k = numbers(type, 2 * keys * columns);
    Tensor v = numbers(type, 2 * keys * values);
    Tensor whole(type, heads * queries * values);
    std::vector<char> scratch(attentionScratch(c) + 64);
    char *aligned = scratch.data() + 64 - uintptr_t(scratch.data()) % 64;
    attention(c,
              {q.bytes.data(), k.bytes.data(), v.bytes.data(), nullptr,
               whole.bytes.data()},
              aligned);
    c.isPartial = true;
    c.o = {{}, {0, queries * state, state}};
    c.upper = std::nullopt;
    c.bias = {{}, DataType::I64, {0, 0, 2, 1}};
    Tensor one(c.sumType(), heads * queries * state), other = one;
    const void *before = nullptr;
    // From the last chunk to the first: queries see none of the one before it.
    for (int64_t first : {400, 0, 150}) {
      c.keys = first == 400 ? 200 : first == 0 ? 150 : 250;
      std::vector<int64_t> spans;
      for (int64_t i = 0; i < queries; ++i)
        spans.insert(spans.end(),
                     {0, std::clamp<int64_t>(i + 101 - first, 0, c.keys)});
      Tensor &to = first == 150 ? one : first == 0 ? other : one;
      attention(c,
                {q.bytes.data(),
                 k.bytes.data() + first * columns * byteSize(type),
                 v.bytes.data() + first * values * byteSize(type), spans.data(),
                 to.bytes.data(), before},
                aligned);
      before = to.bytes.data();
      // Once more, in place, of keys that nobody sees.
      spans.assign(spans.size(), 0);
      attention(c,
                {q.bytes.data(), k.bytes.data(), v.bytes.data(), spans.data(),
                 to.bytes.data(), before},
                aligned);
    }
    double tolerance = type == DataType::F64   ? 1e-12
                       : type == DataType::F32 ? 2e-5
                       : type == DataType::F16 ? 2e-3
                                               : 2e-2;
    for (int64_t row = 0; row < heads * queries; ++row)
      for (int64_t l = 0; l < values; ++l)
        ASSERT_NEAR(one.at(row * state + l) / one.at(row * state + values + 1),
                    whole.at(row * values + l), tolerance)
            << row;
  }
}

TEST_F(AttentionTest, NaNReachesItsRow) {
  AttentionCommand c = sized(DataType::F32, 1, 1, 1, 2, 600, 2, 1);
  c.q = c.k = {{}, {0, 0, 2}};
  c.v = c.o = {{}, {0, 0, 1}};
  std::vector<float> q = {1, 1, NAN, 1}, k(1200, 1.0f), v(600, 2.0f), o(2);
  std::vector<char> scratch(attentionScratch(c));
  attention(c, {q.data(), k.data(), v.data(), nullptr, o.data()},
            scratch.data());
  EXPECT_EQ(o[0], 2.0f);
  EXPECT_TRUE(std::isnan(o[1]));
}

} // namespace
