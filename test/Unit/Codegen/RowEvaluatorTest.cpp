//===- RowEvaluatorTest.cpp - rows of tables ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements/StaticValues.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tp::target;

namespace {
class RowEvaluatorTest : public testing::Test {
protected:
  RowEvaluatorTest() : builder(&context) {
    context.loadDialect<arith::ArithDialect, linalg::LinalgDialect,
                        tensor::TensorDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
    auto type = RankedTensorType::get({8}, builder.getI32Type());
    table = arith::ConstantOp::create(
        builder, builder.getUnknownLoc(),
        DenseElementsAttr::get(
            type, ArrayRef<int32_t>{10, 11, 12, 13, 14, 15, 16, 17}));
  }

  /// The elements of the table at `index` of a loop over 8 indices; empty if
  /// they are not known.
  std::vector<int64_t>
  lookUp(llvm::function_ref<AffineExpr(AffineExpr)> index) {
    ElementGraph graph(&context);
    AffineExpr loop = graph.loop(graph.addLoop(8));
    StaticTensors tensors;
    RowEvaluator rows(graph, tensors, 0);
    const NumberRow *row = rows.row(graph.element(table, {index(loop)}));
    std::vector<int64_t> numbers;
    for (int64_t i = 0; row && i < 8; ++i)
      numbers.push_back(row->at(i).integer);
    return numbers;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  Value table;
};

using Numbers = std::vector<int64_t>;

TEST_F(RowEvaluatorTest, IndicesMayRiseFallAndBeDivided) {
  EXPECT_EQ(lookUp([](AffineExpr i) { return i; }),
            Numbers({10, 11, 12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(lookUp([](AffineExpr i) { return 7 - i; }),
            Numbers({17, 16, 15, 14, 13, 12, 11, 10}));
  EXPECT_EQ(lookUp([](AffineExpr i) { return i.floorDiv(2); }),
            Numbers({10, 10, 11, 11, 12, 12, 13, 13}));
  EXPECT_EQ(lookUp([](AffineExpr i) { return i % 3 + 1; }),
            Numbers({11, 12, 13, 11, 12, 13, 11, 12}));
  EXPECT_EQ(lookUp([](AffineExpr i) { return i.ceilDiv(4); }),
            Numbers({10, 11, 11, 11, 11, 12, 12, 12}));
}

TEST_F(RowEvaluatorTest, PlacesOutsideAreUnknown) {
  EXPECT_TRUE(lookUp([](AffineExpr i) { return i + 1; }).empty());
  EXPECT_TRUE(lookUp([](AffineExpr i) { return i - 1; }).empty());
  EXPECT_TRUE(lookUp([](AffineExpr i) { return i.floorDiv(2) + 5; }).empty());
}
} // namespace
