//===- NumberRowTest.cpp - rows of numbers against upstream's folds -------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements/NumberRow.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace tp::target;

namespace {
constexpr int64_t length = 75;

class NumberRowTest : public testing::Test {
protected:
  NumberRowTest() : builder(&context) {
    context.loadDialect<arith::ArithDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
  }

  static unsigned widthOf(Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }
  /// As tp keeps it: i1 is 0 or 1, others have their sign.
  static Number numberOf(const APInt &value) {
    Number number;
    number.integer =
        value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue();
    return number;
  }
  APInt randomNumber(Type type) {
    unsigned width = widthOf(type);
    std::uniform_int_distribution<int64_t> near(-9, 9);
    switch (random() % 4) {
    case 0: // Around what is least and most.
      return APInt(width, 1).shl(width - 1) +
             APInt(width, near(random), true, true);
    case 1:
      return APInt(width, int64_t(random()), true, true);
    default:
      return APInt(width, near(random), true, true);
    }
  }

  /// Some numbers that are all the same, that rise or fall, in pieces, or have
  /// no order.
  std::vector<Number> randomNumbers(Type type) {
    unsigned width = widthOf(type);
    std::uniform_int_distribution<int64_t> steps(-3, 3);
    std::vector<Number> numbers;
    size_t kind = random() % 4;
    size_t piece = kind == 0 ? length : kind == 3 ? 1 : 1 + random() % 40;
    while (numbers.size() < length) {
      APInt first = randomNumber(type);
      APInt step(width, kind == 1 ? 0 : steps(random), true, true);
      for (size_t i = 0; i < piece && numbers.size() < length; ++i) {
        numbers.push_back(numberOf(first));
        first += step;
      }
    }
    return numbers;
  }

  /// The numbers as a row; where it can, one that was made from its steps.
  static NumberRow rowOf(const std::vector<Number> &numbers, Type type) {
    int64_t first = numbers[0].integer, step = numbers[1].integer - first;
    for (size_t i = 0; i < numbers.size(); ++i)
      if (widthOf(type) == 1 || std::abs(first) > (int64_t(1) << 62) ||
          std::abs(step) > 3 || numbers[i].integer != first + step * int64_t(i))
        return NumberRow(numbers);
    return NumberRow(first, step, numbers.size());
  }

  Value valueOf(Type type) {
    return arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                     builder.getIntegerAttr(type, 0));
  }

  /// Compares what rows of random numbers make, and what single numbers do,
  /// with what upstream folds constants to.
  void check(Operation *op) {
    std::vector<std::vector<Number>> numbers;
    std::vector<NumberRow> rows;
    for (Type type : op->getOperandTypes()) {
      numbers.push_back(randomNumbers(type));
      rows.push_back(rowOf(numbers.back(), type));
    }
    SmallVector<const NumberRow *> operands;
    for (const NumberRow &row : rows)
      operands.push_back(&row);
    std::optional<NumberRow> made = NumberRow::compute(op, operands);
    ASSERT_TRUE(made.has_value());
    ASSERT_EQ(made->size(), length);
    std::vector<Number> all;
    made->appendTo(all);
    ASSERT_EQ(all.size(), size_t(length));
    std::vector<Number> ranges;
    made->forEachRange([&](int64_t begin, int64_t end, Number number) {
      EXPECT_LT(begin, end);
      ranges.insert(ranges.end(), end - begin, number);
    });
    ASSERT_EQ(ranges.size(), size_t(length));
    for (int64_t i = 0; i < length; ++i) {
      SmallVector<Attribute> constants;
      SmallVector<const Number *> single;
      for (auto [type, each] :
           llvm::zip_equal(op->getOperandTypes(), numbers)) {
        constants.push_back(builder.getIntegerAttr(
            type, APInt(widthOf(type), each[i].integer, true, true)));
        single.push_back(&each[i]);
      }
      SmallVector<OpFoldResult> folded;
      ASSERT_TRUE(succeeded(op->fold(constants, folded)));
      int64_t expected;
      if (auto constant = dyn_cast<Attribute>(folded.front())) {
        expected = numberOf(cast<IntegerAttr>(constant).getValue()).integer;
      } else {
        // An operand itself.
        auto operand = llvm::find(op->getOperands(), cast<Value>(folded[0]));
        expected = numbers[operand - op->getOperands().begin()][i].integer;
      }
      EXPECT_EQ(made->at(i).integer, expected) << "number " << i;
      EXPECT_EQ(all[i].integer, expected) << "number " << i;
      EXPECT_EQ(ranges[i].integer, expected) << "number " << i;
      Number alone{};
      EXPECT_TRUE(computeNumbers(op, single, alone));
      EXPECT_EQ(alone.integer, expected) << "number " << i;
    }
  }

  template <typename Op> void checkBinary(Type type) {
    SCOPED_TRACE(Op::getOperationName().str());
    Operation *op = Op::create(builder, builder.getUnknownLoc(), valueOf(type),
                               valueOf(type));
    for (int time = 0; time < 40; ++time)
      check(op);
  }
  template <typename Op> void checkCast(Type from, Type to) {
    SCOPED_TRACE(Op::getOperationName().str());
    Operation *op =
        Op::create(builder, builder.getUnknownLoc(), to, valueOf(from));
    for (int time = 0; time < 40; ++time)
      check(op);
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  std::mt19937_64 random{7};
};

TEST_F(NumberRowTest, SumsAndProductsAreUpstreams) {
  for (Type type : {Type(builder.getI8Type()), Type(builder.getI32Type()),
                    Type(builder.getI64Type()), Type(builder.getIndexType())}) {
    checkBinary<arith::AddIOp>(type);
    checkBinary<arith::SubIOp>(type);
    checkBinary<arith::MulIOp>(type);
    checkBinary<arith::MaxSIOp>(type);
    checkBinary<arith::MinSIOp>(type);
    checkBinary<arith::AndIOp>(type);
    checkBinary<arith::OrIOp>(type);
    checkBinary<arith::XOrIOp>(type);
  }
}

TEST_F(NumberRowTest, ComparisonsAreUpstreams) {
  for (Type type : {Type(builder.getI1Type()), Type(builder.getI8Type()),
                    Type(builder.getI64Type()), Type(builder.getIndexType())})
    for (uint64_t number = 0; number <= arith::getMaxEnumValForCmpIPredicate();
         ++number) {
      auto predicate = static_cast<arith::CmpIPredicate>(number);
      SCOPED_TRACE(arith::stringifyCmpIPredicate(predicate).str());
      Operation *op =
          arith::CmpIOp::create(builder, builder.getUnknownLoc(), predicate,
                                valueOf(type), valueOf(type));
      for (int time = 0; time < 60; ++time)
        check(op);
    }
}

TEST_F(NumberRowTest, ChoicesAreUpstreams) {
  for (Type type : {Type(builder.getI1Type()), Type(builder.getI32Type())}) {
    Operation *op = arith::SelectOp::create(builder, builder.getUnknownLoc(),
                                            valueOf(builder.getI1Type()),
                                            valueOf(type), valueOf(type));
    for (int time = 0; time < 60; ++time)
      check(op);
  }
}

/// Rows of several runs with steps: what is said of a clamped index.
TEST_F(NumberRowTest, RunsWithStepsAreTheirNumbers) {
  Type type = builder.getI64Type();
  auto binary = [&](auto op) -> Operation * {
    return decltype(op)::create(builder, builder.getUnknownLoc(), valueOf(type),
                                valueOf(type));
  };
  Operation *most = binary(arith::MaxSIOp()), *least = binary(arith::MinSIOp()),
            *minus = binary(arith::SubIOp()), *times = binary(arith::MulIOp());
  std::uniform_int_distribution<int64_t> near(-90, 90), steps(-3, 3);
  auto progression = [&] {
    return NumberRow(near(random), steps(random), length);
  };
  size_t several = 0;
  for (int time = 0; time < 400; ++time) {
    auto apply = [&](Operation *op, const NumberRow &a, const NumberRow &b) {
      std::optional<NumberRow> made = NumberRow::compute(op, {&a, &b});
      EXPECT_TRUE(made.has_value());
      for (int64_t i = 0; i < length; ++i) {
        Number x = a.at(i), y = b.at(i), alone{};
        EXPECT_TRUE(computeNumbers(op, {&x, &y}, alone));
        EXPECT_EQ(made->at(i).integer, alone.integer) << "number " << i;
      }
      return *made;
    };
    NumberRow clamped = apply(most, progression(), progression());
    NumberRow other = apply(least, progression(), progression());
    NumberRow difference = apply(minus, clamped, other);
    several += !difference.onlyRun();
    apply(times, difference, apply(most, clamped, difference));
    for (uint64_t number = 0; number <= arith::getMaxEnumValForCmpIPredicate();
         ++number)
      apply(arith::CmpIOp::create(builder, builder.getUnknownLoc(),
                                  static_cast<arith::CmpIPredicate>(number),
                                  valueOf(type), valueOf(type)),
            difference, clamped);
  }
  EXPECT_GT(several, 200u);
}

TEST_F(NumberRowTest, CastsAreUpstreams) {
  Type i1 = builder.getI1Type(), i8 = builder.getI8Type(),
       i32 = builder.getI32Type(), i64 = builder.getI64Type(),
       index = builder.getIndexType();
  for (Type narrow : {i1, i8, i32}) {
    checkCast<arith::ExtSIOp>(narrow, i64);
    checkCast<arith::ExtUIOp>(narrow, i64);
    checkCast<arith::TruncIOp>(i64, narrow);
    checkCast<arith::IndexCastOp>(narrow, index);
    checkCast<arith::IndexCastOp>(index, narrow);
    checkCast<arith::IndexCastUIOp>(narrow, index);
    checkCast<arith::IndexCastUIOp>(index, narrow);
  }
}
} // namespace
