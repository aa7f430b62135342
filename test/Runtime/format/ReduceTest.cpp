//===- ReduceTest.cpp - reductions of the edges of every type -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element type by every reduction, over all pairs of edge values: zeros
// of both signs, denormal numbers, infinities, NaN, the extremes. What is
// expected is stated on the codes of the format or on exact sums in f64, never
// by the accumulators that the runtime has.
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Reduce.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tp::runtime;

namespace {

/// Codes of the edge values of a type, in their order where the type has one:
/// from the least to the greatest, -0.0 below 0.0; NaN apart.
struct Edges {
  DataType type;
  std::vector<uint64_t> ordered;
  std::optional<uint64_t> nan;
  uint64_t one;
  /// What a sum starts from that changes nothing.
  uint64_t zero;
};

/// -inf, least, -1, -denormal, -0 and the same positive, from the positive
/// codes; `sign` is the bit of the sign.
Edges floats(DataType type, uint64_t sign, std::vector<uint64_t> positive,
             uint64_t one, uint64_t nan, bool negativeZero = true) {
  Edges edges{type, {}, nan, one, negativeZero ? sign : 0};
  for (size_t i = positive.size(); i-- > 0;)
    edges.ordered.push_back(positive[i] | sign);
  if (negativeZero)
    edges.ordered.push_back(sign);
  edges.ordered.push_back(0);
  edges.ordered.insert(edges.ordered.end(), positive.begin(), positive.end());
  return edges;
}

Edges integers(DataType type, int bits) {
  uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  uint64_t least = uint64_t(1) << (bits - 1);
  return {type,
          {least, least + 1, mask, 0, 1, least - 2, least - 1},
          std::nullopt,
          1,
          0};
}

std::vector<Edges> allEdges() {
  return {
      floats(DataType::F64, uint64_t(1) << 63,
             {1, 0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000,
              0x7fefffffffffffff, 0x7ff0000000000000},
             0x3ff0000000000000, 0x7ff8000000000000),
      floats(DataType::F32, 0x80000000,
             {1, 0x007fffff, 0x00800000, 0x3f800000, 0x7f7fffff, 0x7f800000},
             0x3f800000, 0x7fc00000),
      floats(DataType::F16, 0x8000, {1, 0x03ff, 0x0400, 0x3c00, 0x7bff, 0x7c00},
             0x3c00, 0x7e00),
      floats(DataType::BF16, 0x8000,
             {1, 0x007f, 0x0080, 0x3f80, 0x7f7f, 0x7f80}, 0x3f80, 0x7fc0),
      floats(DataType::F8E4M3FN, 0x80, {1, 0x07, 0x08, 0x38, 0x7e}, 0x38, 0x7f),
      floats(DataType::F8E5M2, 0x80, {1, 0x03, 0x04, 0x3c, 0x7b, 0x7c}, 0x3c,
             0x7f),
      floats(DataType::F8E4M3FNUZ, 0x80, {1, 0x07, 0x08, 0x40, 0x7f}, 0x40,
             0x80, false),
      floats(DataType::F8E5M2FNUZ, 0x80, {1, 0x03, 0x04, 0x40, 0x7f}, 0x40,
             0x80, false),
      integers(DataType::I64, 64),
      integers(DataType::Index, 64),
      integers(DataType::I32, 32),
      integers(DataType::I16, 16),
      integers(DataType::I8, 8),
      {DataType::I1, {0, 1}, std::nullopt, 1, 0},
  };
}

bool isNanCode(const Edges &edges, uint64_t code) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &code, 8);
  return isFloat(edges.type) &&
         std::isnan(elementAsDouble(edges.type, bytes.data(), 0));
}

/// The codes of one element per member, reduced; as what the elements between
/// others are, so that no lane of a vector is left out.
uint64_t reduced(const Edges &edges, Reduction reduction,
                 const std::vector<uint64_t> &members) {
  constexpr int64_t count = 37;
  int64_t size = byteSize(edges.type);
  std::vector<std::string> data;
  std::vector<const char *> inputs;
  for (uint64_t code : members) {
    std::string &bytes = data.emplace_back(count * size, '\0');
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(bytes.data() + i * size, &code, size);
  }
  for (const std::string &bytes : data)
    inputs.push_back(bytes.data());
  std::string out(count * size, '\x5a');
  reduce(edges.type, reduction, inputs.data(), inputs.size(), 0, count,
         out.data());
  uint64_t first = 0;
  std::memcpy(&first, out.data(), size);
  for (int64_t i = 1; i < count; ++i) {
    uint64_t code = 0;
    std::memcpy(&code, out.data() + i * size, size);
    EXPECT_EQ(code, first) << "element " << i;
  }
  return first;
}

std::string text(const Edges &edges, Reduction reduction,
                 const std::vector<uint64_t> &members) {
  std::string text = std::string(spelling(edges.type)) + " " +
                     std::to_string(int(reduction)) + " of";
  for (uint64_t code : members) {
    char digits[20];
    snprintf(digits, sizeof(digits), " %llx", (unsigned long long)(code));
    text += digits;
  }
  return text;
}

void expectCode(const Edges &edges, Reduction reduction,
                const std::vector<uint64_t> &members, uint64_t expected) {
  uint64_t got = reduced(edges, reduction, members);
  if (isNanCode(edges, expected))
    EXPECT_TRUE(isNanCode(edges, got)) << text(edges, reduction, members);
  else
    EXPECT_EQ(got, expected) << text(edges, reduction, members);
}

TEST(Reduce, MaximumAndMinimumOfAllEdges) {
  for (const Edges &edges : allEdges()) {
    size_t n = edges.ordered.size();
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < n; ++k) {
        uint64_t a = edges.ordered[i], b = edges.ordered[k];
        uint64_t most = edges.ordered[std::max(i, k)];
        uint64_t least = edges.ordered[std::min(i, k)];
        expectCode(edges, Reduction::Max, {a, b}, most);
        expectCode(edges, Reduction::Min, {a, b}, least);
        expectCode(edges, Reduction::Max, {least, a, b}, most);
        expectCode(edges, Reduction::Min, {a, most, b}, least);
      }
  }
}

TEST(Reduce, NanIsKeptWhereverItIs) {
  for (const Edges &edges : allEdges()) {
    if (!edges.nan)
      continue;
    for (Reduction reduction :
         {Reduction::Sum, Reduction::Avg, Reduction::Product, Reduction::Max,
          Reduction::Min})
      for (uint64_t other : edges.ordered)
        for (const std::vector<uint64_t> &members :
             {std::vector<uint64_t>{*edges.nan, other, other},
              {other, *edges.nan, other},
              {other, other, *edges.nan}})
          expectCode(edges, reduction, members, *edges.nan);
  }
}

/// The identity beside any number, in any place, leaves its bits.
TEST(Reduce, IdentitiesChangeNothing) {
  for (const Edges &edges : allEdges())
    for (uint64_t value : edges.ordered)
      for (auto [reduction, identity] :
           {std::pair(Reduction::Sum, edges.zero),
            std::pair(Reduction::Product, edges.one),
            std::pair(Reduction::Max, edges.ordered.front()),
            std::pair(Reduction::Min, edges.ordered.back())}) {
        expectCode(edges, reduction, {value}, value);
        expectCode(edges, reduction, {value, identity, identity}, value);
        expectCode(edges, reduction, {identity, value, identity}, value);
        expectCode(edges, reduction, {identity, identity, value}, value);
      }
}

TEST(Reduce, ZerosAddUpAsIeeeSays) {
  for (const Edges &edges : allEdges()) {
    if (!isFloat(edges.type) || edges.zero == 0)
      continue;
    uint64_t minus = edges.zero;
    expectCode(edges, Reduction::Sum, {minus, minus}, minus);
    expectCode(edges, Reduction::Sum, {minus, 0}, 0);
    expectCode(edges, Reduction::Sum, {0, minus}, 0);
    expectCode(edges, Reduction::Avg, {minus, minus}, minus);
    expectCode(edges, Reduction::Product, {minus, edges.one}, minus);
    expectCode(edges, Reduction::Product, {minus, minus}, 0);
  }
}

/// Copies of a number have it as their average: neither the extremes overflow
/// nor are denormal numbers lost.
TEST(Reduce, AveragesOfCopiesAreTheNumber) {
  for (const Edges &edges : allEdges()) {
    if (!isFloat(edges.type) ||
        (edges.type == DataType::F64 && sizeof(long double) == sizeof(double)))
      continue;
    for (uint64_t value : edges.ordered)
      for (size_t members : {1, 2, 3, 5, 7})
        expectCode(edges, Reduction::Avg, std::vector<uint64_t>(members, value),
                   value);
  }
}

TEST(Reduce, IntegersWrap) {
  for (const Edges &edges : allEdges()) {
    if (isFloat(edges.type) || edges.type == DataType::I1)
      continue;
    int bits = 8 * byteSize(edges.type);
    uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    for (uint64_t a : edges.ordered)
      for (uint64_t b : edges.ordered) {
        expectCode(edges, Reduction::Sum, {a, b}, (a + b) & mask);
        expectCode(edges, Reduction::Product, {a, b}, (a * b) & mask);
      }
  }
}

} // namespace
