//===- NeededColumnsTest.cpp - what ranks leave out of products -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/NeededColumns.h"
#include <gtest/gtest.h>

using namespace tp::runtime;

namespace {

/// A weight that ranks share, and a product with it of all of its columns.
struct Product {
  Port port;
  GemmCommand gemm;

  /// `shape` and `layout` as PyTorch has them: columns are rows of the weight.
  Product(std::vector<int64_t> shape, Sharded cut, int64_t ranks) {
    port.shape = shape;
    port.layout = {{{0, ranks, 1}, cut}};
    for (size_t d = 0; d < shape.size(); ++d)
      port.permutation.push_back(d);
    std::vector<int64_t> local = port.localShape();
    gemm.m = 1;
    gemm.k = local.back();
    gemm.n = *elementCount(local) / gemm.k;
    gemm.b = {{Space::Argument, 0}, gemm.k, true, {}};
  }
  std::vector<int64_t> ofRanks(int64_t ranks) const {
    std::vector<int64_t> columns;
    for (int64_t rank = 0; rank < ranks; ++rank)
      columns.push_back(neededColumns(gemm, {port}, {rank}));
    return columns;
  }
};

using Columns = std::vector<int64_t>;

TEST(NeededColumnsTest, PaddingAtTheEndIsLeftOut) {
  // Nine heads of four elements in groups of three.
  EXPECT_EQ(Product({36, 5}, {0, 12}, 2).ofRanks(2), Columns({24, 12}));
  EXPECT_EQ(Product({36, 5}, {0, 12}, 4).ofRanks(4), Columns({12, 12, 12, 12}));
  // As a dimension of heads.
  EXPECT_EQ(Product({9, 4, 5}, {0, 3}, 2).ofRanks(2), Columns({24, 12}));
  // Nothing is padding, or what is added up is.
  EXPECT_EQ(Product({36, 5}, {0}, 2).ofRanks(2), Columns({18, 18}));
  EXPECT_EQ(Product({36, 5}, {1}, 2).ofRanks(2), Columns({36, 36}));
  EXPECT_EQ(Product({36, 2}, {1}, 3).ofRanks(3), Columns({36, 36, 36}));
}

TEST(NeededColumnsTest, PaddingInTheMiddleIsNot) {
  // Two pieces, of which ranks have 6 and 6, and 2 and 1.
  EXPECT_EQ(Product({15, 5}, {0, 1, {12, 3}}, 2).ofRanks(2), Columns({8, 7}));
  // 4 and 2, and 2 and 1: the second one's first piece has padding behind it.
  EXPECT_EQ(Product({9, 5}, {0, 2, {6, 3}}, 2).ofRanks(2), Columns({6, 5}));
}

TEST(NeededColumnsTest, StoredRowByRow) {
  Product product({36, 5}, {0, 12}, 2);
  product.port.permutation = {1, 0};
  product.gemm.b.transpose = false;
  product.gemm.b.ld = product.gemm.n;
  EXPECT_EQ(product.ofRanks(2), Columns({24, 12}));
}

TEST(NeededColumnsTest, OfAnArgumentAsAWholeAlone) {
  Product arena({36, 5}, {0, 12}, 2);
  arena.gemm.b.buffer.space = Space::Arena;
  EXPECT_EQ(arena.ofRanks(2), Columns({24, 24}));
  // Several arguments that lie one behind the other.
  Product joined({36, 5}, {0, 12}, 2);
  joined.gemm.n *= 2;
  EXPECT_EQ(joined.ofRanks(2), Columns({48, 48}));
  Product part({36, 5}, {0, 12}, 2);
  part.gemm.b.buffer.offset = 64;
  EXPECT_EQ(part.ofRanks(2), Columns({24, 24}));
  Product batch({36, 5}, {0, 12}, 2);
  batch.gemm.batch = {2};
  EXPECT_EQ(batch.ofRanks(2), Columns({24, 24}));
}

} // namespace
