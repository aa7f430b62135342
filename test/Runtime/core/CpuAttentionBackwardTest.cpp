//===- CpuAttentionBackwardTest.cpp - gradients of attention --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By their definition, in f64.
//
//===----------------------------------------------------------------------===//

#include "core/attention/CpuAttentionBackward.h"
#include "TypedTensor.h"
#include "core/Gemm.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tp::runtime;

namespace {

/// A tensor with gaps between rows. Element i of row r of a head has a place of
/// its own.
struct Tensor : tp::test::TypedTensor {
  using TypedTensor::TypedTensor;
  AttentionOperand operand;

  double at(int64_t b, int64_t h, int64_t r, int64_t c) const {
    return TypedTensor::at(place(b, h, r) + c);
  }
  int64_t place(int64_t b, int64_t h, int64_t r) const {
    const auto &strides = operand.strides;
    return b * strides[0] + h * strides[1] + r * strides[2];
  }
};

/// Where the gradient of other chunks of keys is, which one of q adds to.
enum class Before { None, Elsewhere, InPlace };

/// What a query sees, and what is added to its scores.
enum class Mask { None, Causal, Spans, Bias, EmptyRows, Hidden };

class AttentionBackwardTest : public testing::Test {
protected:
  std::mt19937 random{11};

  Tensor numbers(DataType type, int64_t batch, int64_t heads, int64_t rows,
                 int64_t columns, int64_t gap = 3) {
    int64_t row = columns + gap;
    std::array<int64_t, 3> strides = {heads * rows * row + 5, rows * row, row};
    int64_t count = batch * strides[0];
    Tensor tensor(type, count);
    tensor.operand.strides = strides;
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < count; ++i)
      tensor.set(i, normal(random));
    return tensor;
  }

  void check(AttentionBackwardCommand c, Mask mask,
             Before before = Before::None) {
    auto make = [&](AttentionOperand &operand, DataType type, int64_t heads,
                    int64_t rows, int64_t columns) {
      Tensor made = numbers(type, c.batch, heads, rows, columns);
      operand = made.operand;
      return made;
    };
    Tensor q = make(c.q, c.dtype, c.heads, c.queries, c.headSize);
    Tensor k = make(c.k, c.dtype, c.kvHeads, c.keys, c.headSize);
    Tensor v = make(c.v, c.dtype, c.kvHeads, c.keys, c.valueSize);
    Tensor go = make(c.go, c.dtype, c.heads, c.queries, c.valueSize);
    Tensor lse = make(c.lse, c.sumType(), c.heads, c.queries, 2);
    Tensor delta = make(c.delta, c.sumType(), c.heads, c.queries, 1);
    DataType gradients = c.gradientType;
    Tensor gq = make(c.gq, gradients, c.heads, c.queries, c.headSize);
    Tensor gk = make(c.gk, gradients, c.heads, c.keys, c.headSize);
    Tensor gv = make(c.gv, gradients, c.heads, c.keys, c.valueSize);
    Tensor bias;
    if (mask == Mask::Causal)
      c.upper = c.keys - c.queries;
    if (mask == Mask::Bias) {
      bias = numbers(c.sumType(), 1, c.heads, c.queries, c.keys, 0);
      c.bias = {{}, c.sumType(), {0, c.queries * c.keys, c.keys, 1}};
      for (int64_t i = 0; i < c.heads * c.queries * c.keys; i += 3)
        bias.set(i, -INFINITY);
      // A query of which all keys are masked by the least number.
      for (int64_t i = 0; i < c.keys; ++i)
        bias.set(c.keys + i, std::numeric_limits<float>::lowest());
    }
    // Queries that are padding, of which all that is added to scores is NaN.
    auto isHidden = [&](int64_t i) {
      return mask == Mask::Hidden && i >= c.queries - 2;
    };
    if (mask == Mask::Hidden) {
      bias = numbers(c.sumType(), 1, c.heads, c.queries, c.keys, 0);
      c.bias = {{}, c.sumType(), {0, c.queries * c.keys, c.keys, 1}};
      for (int64_t i = 0; i < c.heads * c.queries * c.keys; ++i)
        if (isHidden(i / c.keys % c.queries))
          bias.set(i, NAN);
    }
    auto spanOf = [&](int64_t i) -> std::pair<int64_t, int64_t> {
      if (mask == Mask::EmptyRows && i % 5 == 2)
        return {4, 2};
      return {i * 7 % c.keys / 2, std::min(c.keys, i * 7 % c.keys + 1)};
    };
    if (mask == Mask::Spans || mask == Mask::EmptyRows) {
      bias = numbers(DataType::I64, 1, 1, c.queries, 2, 0);
      c.bias = {{}, DataType::I64, {0, 0, 2, 1}};
      for (int64_t i = 0; i < c.queries; ++i) {
        bias.set(2 * i, spanOf(i).first);
        bias.set(2 * i + 1, spanOf(i).second);
      }
    }
    std::vector<double> wantedQ(gq.bytes.size()), wantedK(gk.bytes.size()),
        wantedV(gv.bytes.size());
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t i = 0; i < c.queries; ++i) {
          int64_t kv = h / (c.heads / c.kvHeads);
          std::vector<double> p(c.keys, -INFINITY), d(c.keys);
          double largest = -INFINITY, total = 0, mean = 0;
          for (int64_t j = 0; j < c.keys; ++j) {
            bool seen = !isHidden(i) && (!c.upper || j - i <= *c.upper);
            if (c.bias && c.bias->dtype == DataType::I64)
              seen = j >= spanOf(i).first && j < spanOf(i).second;
            if (!seen)
              continue;
            double sum = 0;
            for (int64_t l = 0; l < c.headSize; ++l)
              sum += q.at(b, h, i, l) * k.at(b, kv, j, l);
            p[j] = sum * c.scale;
            if (mask == Mask::Bias || mask == Mask::Hidden)
              p[j] += elementAsDouble(bias.type, bias.bytes.data(),
                                      h * c.bias->strides[1] +
                                          i * c.bias->strides[2] + j);
            largest = std::max(largest, p[j]);
          }
          for (double score : p)
            total += largest == -INFINITY ? 0 : std::exp(score - largest);
          lse.set(lse.place(b, h, i), total == 0 ? 0 : largest);
          lse.set(lse.place(b, h, i) + 1,
                  total == 0 ? INFINITY : std::log(total));
          for (int64_t j = 0; j < c.keys; ++j) {
            p[j] = total == 0 ? 0 : std::exp(p[j] - largest) / total;
            for (int64_t l = 0; l < c.valueSize; ++l)
              d[j] += go.at(b, h, i, l) * v.at(b, kv, j, l);
            mean += p[j] * d[j];
          }
          delta.set(delta.place(b, h, i), mean);
          for (int64_t j = 0; j < c.keys; ++j) {
            double ds = p[j] * (d[j] - mean) * c.scale;
            for (int64_t l = 0; l < c.headSize; ++l) {
              wantedQ[gq.place(b, h, i) + l] += ds * k.at(b, kv, j, l);
              wantedK[gk.place(b, h, j) + l] += ds * q.at(b, h, i, l);
            }
            for (int64_t l = 0; l < c.valueSize; ++l)
              wantedV[gv.place(b, h, j) + l] += p[j] * go.at(b, h, i, l);
          }
        }
    if (before != Before::None)
      for (size_t i = 0; i < gq.bytes.size() / sizeof(float); ++i)
        wantedQ[i] += gq.TypedTensor::at(i);
    Tensor sum = gq;
    if (before == Before::Elsewhere)
      gq = numbers(gradients, c.batch, c.heads, c.queries, c.headSize);
    const void *onto = before == Before::None      ? nullptr
                       : before == Before::InPlace ? gq.bytes.data()
                                                   : sum.bytes.data();
    Tensor beforeQ = gq, beforeK = gk, beforeV = gv;
    std::vector<char> scratch(attentionBackwardScratch(c) + 128, 77);
    char *aligned = scratch.data() + 64 - uintptr_t(scratch.data()) % 64;
    attentionBackward(c,
                      {q.bytes.data(), k.bytes.data(), v.bytes.data(),
                       c.bias ? bias.bytes.data() : nullptr, go.bytes.data(),
                       lse.bytes.data(), delta.bytes.data(), gq.bytes.data(),
                       gk.bytes.data(), gv.bytes.data(), onto},
                      aligned);
    for (char *end = aligned + attentionBackwardScratch(c);
         end < scratch.data() + scratch.size(); ++end)
      ASSERT_EQ(*end, 77) << "behind the scratch";
    compare("gq", c, gq, beforeQ, wantedQ, c.queries, c.headSize);
    compare("gk", c, gk, beforeK, wantedK, c.keys, c.headSize);
    compare("gv", c, gv, beforeV, wantedV, c.keys, c.valueSize);
  }

  /// All elements, and that gaps stay as they were.
  void compare(const char *name, const AttentionBackwardCommand &c,
               const Tensor &got, Tensor before,
               const std::vector<double> &wanted, int64_t rows,
               int64_t columns) {
    double tolerance = c.dtype == DataType::F64   ? 1e-12
                       : c.dtype == DataType::F32 ? 3e-5
                       : c.dtype == DataType::F16 ? 4e-3
                                                  : 3e-2;
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t l = 0; l < columns; ++l) {
            double right = wanted[got.place(b, h, r) + l];
            ASSERT_NEAR(got.at(b, h, r, l), right,
                        tolerance * (1 + std::abs(right)))
                << name << " [" << b << ", " << h << ", " << r << ", " << l
                << "]";
            before.set(got.place(b, h, r) + l, got.at(b, h, r, l));
          }
    EXPECT_EQ(
        std::memcmp(before.bytes.data(), got.bytes.data(), before.bytes.size()),
        0)
        << name << ": written between rows";
  }

  static AttentionBackwardCommand sized(int64_t queries, int64_t keys) {
    AttentionBackwardCommand c;
    c.batch = 2;
    c.heads = 4;
    c.kvHeads = 2;
    c.queries = queries;
    c.keys = keys;
    c.headSize = 7;
    c.valueSize = 5;
    c.scale = 0.4;
    return c;
  }
};

TEST_F(AttentionBackwardTest, MasksAndTypes) {
  for (DataType type :
       {DataType::F32, DataType::F64, DataType::F16, DataType::BF16})
    for (Mask mask : {Mask::None, Mask::Causal, Mask::Spans, Mask::Bias,
                      Mask::EmptyRows, Mask::Hidden}) {
      SCOPED_TRACE(std::string(spelling(type)) + ", mask " +
                   std::to_string(int(mask)));
      AttentionBackwardCommand c = sized(19, 23);
      c.dtype = type;
      for (DataType gradients : {type, c.sumType()}) {
        c.gradientType = gradients;
        check(c, mask);
      }
    }
}

/// More rows and more keys than a block has, and the last block of each is not
/// whole.
TEST_F(AttentionBackwardTest, Blocks) {
  for (Mask mask : {Mask::None, Mask::Causal, Mask::Spans, Mask::Bias}) {
    SCOPED_TRACE("mask " + std::to_string(int(mask)));
    AttentionBackwardCommand c = sized(300, 1100);
    c.batch = 1;
    c.heads = 2;
    check(c, mask);
  }
}

/// The gradient of q is added to that of other keys.
TEST_F(AttentionBackwardTest, Chunks) {
  for (Before before : {Before::Elsewhere, Before::InPlace})
    for (DataType type : {DataType::F32, DataType::BF16}) {
      AttentionBackwardCommand c = sized(19, 23);
      c.dtype = type;
      c.gradientType = c.sumType();
      check(c, Mask::EmptyRows, before);
      check(sized(300, 1100), Mask::Causal, before);
    }
}

TEST_F(AttentionBackwardTest, FewRows) {
  for (int64_t queries : {1, 2})
    for (int64_t keys : {1, 3})
      check(sized(queries, keys), Mask::None);
}

} // namespace
