//===- NumberOps.cpp - scalar ops on numbers ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StaticValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

static Number wrapped(int64_t value, Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Number number;
  number.integer = width == 1    ? value & 1
                   : width >= 64 ? value
                                 : llvm::SignExtend64(value, width);
  return number;
}

/// A sum, difference, product or quotient of f32 (or less) computed in f64 and
/// rounded to its type is the same as one rounded once.
static Number rounded(double value, Type type) {
  Number number;
  if (type.isF64()) {
    number.real = value;
  } else if (type.isF32()) {
    number.real = float(value);
  } else {
    APFloat narrow(value);
    bool losesInfo;
    narrow.convert(cast<FloatType>(type).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &losesInfo);
    number.real = narrow.convertToDouble();
  }
  return number;
}

static Number roundedInteger(APInt value, bool isSigned, Type type) {
  APFloat real(cast<FloatType>(type).getFloatSemantics());
  real.convertFromAPInt(value, isSigned, APFloat::rmNearestTiesToEven);
  Number number;
  number.real = real.convertToDouble();
  return number;
}

static uint64_t unsignedOf(Number number, Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return width >= 64 ? number.integer
                     : uint64_t(number.integer) &
                           llvm::maskTrailingOnes<uint64_t>(width);
}

static bool compare(arith::CmpIPredicate predicate, Number a, Number b,
                    Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto bits = [&](Number number) {
    return APInt(width, number.integer, /*isSigned=*/true,
                 /*implicitTrunc=*/true);
  };
  return arith::applyCmpPredicate(predicate, bits(a), bits(b));
}

static double largest(double a, double b, bool letsNaNThrough) {
  if (std::isnan(a) || std::isnan(b))
    return letsNaNThrough ? a + b : std::isnan(a) ? b : a;
  // Of equal numbers, zeros, the one above is positive.
  if (a == b)
    return std::signbit(a) ? b : a;
  return std::max(a, b);
}

bool tp::target::computeNumbers(Operation *op, ArrayRef<NumberRow> operands,
                                NumberRow &result) {
  size_t size = 1;
  for (const NumberRow &operand : operands)
    size = std::max(size, operand.numbers.size());
  result.numbers.resize(size);
  Type type = op->getResult(0).getType();
  Type from = op->getOperand(0).getType();
  if (!type.isIntOrIndexOrFloat() || !from.isIntOrIndexOrFloat())
    return false;
  auto each = [&](auto make) {
    for (size_t i = 0; i < size; ++i)
      result.numbers[i] = make(i);
    return true;
  };
  auto integers = [&](auto make) {
    return each([&](size_t i) {
      return wrapped(make(operands[0].at(i).integer, operands[1].at(i).integer),
                     type);
    });
  };
  auto reals = [&](auto make) {
    return each([&](size_t i) {
      return rounded(make(operands[0].at(i).real, operands[1].at(i).real),
                     type);
    });
  };
  using U = uint64_t;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::AddIOp) {
        return integers([](U a, U b) { return int64_t(a + b); });
      })
      .Case([&](arith::SubIOp) {
        return integers([](U a, U b) { return int64_t(a - b); });
      })
      .Case([&](arith::MulIOp) {
        return integers([](U a, U b) { return int64_t(a * b); });
      })
      .Case([&](arith::AndIOp) {
        return integers([](int64_t a, int64_t b) { return a & b; });
      })
      .Case([&](arith::OrIOp) {
        return integers([](int64_t a, int64_t b) { return a | b; });
      })
      .Case([&](arith::XOrIOp) {
        return integers([](int64_t a, int64_t b) { return a ^ b; });
      })
      .Case([&](arith::MaxSIOp) {
        return !type.isInteger(1) &&
               integers([](int64_t a, int64_t b) { return std::max(a, b); });
      })
      .Case([&](arith::MinSIOp) {
        return !type.isInteger(1) &&
               integers([](int64_t a, int64_t b) { return std::min(a, b); });
      })
      .Case<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp>(
          [&](Operation *) {
            // By zero, and the one quotient that does not fit: undefined.
            for (Number divisor : operands[1].numbers)
              if (divisor.integer == 0 || divisor.integer == -1)
                return false;
            return integers([&](int64_t a, int64_t b) {
              return isa<arith::DivSIOp>(op)   ? a / b
                     : isa<arith::RemSIOp>(op) ? a % b
                                               : llvm::divideFloorSigned(a, b);
            });
          })
      .Case([&](arith::CmpIOp cmp) {
        return each([&](size_t i) {
          return wrapped(compare(cmp.getPredicate(), operands[0].at(i),
                                 operands[1].at(i), from),
                         type);
        });
      })
      .Case([&](arith::SelectOp) {
        return each([&](size_t i) {
          return operands[operands[0].at(i).integer ? 1 : 2].at(i);
        });
      })
      .Case<arith::IndexCastOp, arith::TruncIOp, arith::ExtSIOp>(
          [&](Operation *) {
            bool negates = from.isInteger(1) && !isa<arith::TruncIOp>(op);
            return each([&](size_t i) {
              int64_t value = operands[0].at(i).integer;
              return wrapped(negates ? -value : value, type);
            });
          })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](Operation *) {
        return each([&](size_t i) {
          return wrapped(int64_t(unsignedOf(operands[0].at(i), from)), type);
        });
      })
      .Case([&](arith::SIToFPOp) {
        return each([&](size_t i) {
          int64_t value = operands[0].at(i).integer;
          value = from.isInteger(1) ? -value : value;
          return roundedInteger(APInt(64, value, /*isSigned=*/true), true,
                                type);
        });
      })
      .Case([&](arith::UIToFPOp) {
        return each([&](size_t i) {
          return roundedInteger(APInt(64, unsignedOf(operands[0].at(i), from)),
                                false, type);
        });
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *) {
        return each(
            [&](size_t i) { return rounded(operands[0].at(i).real, type); });
      })
      .Case([&](arith::NegFOp) {
        return each(
            [&](size_t i) { return rounded(-operands[0].at(i).real, type); });
      })
      .Case([&](arith::AddFOp) {
        return reals([](double a, double b) { return a + b; });
      })
      .Case([&](arith::SubFOp) {
        return reals([](double a, double b) { return a - b; });
      })
      .Case([&](arith::MulFOp) {
        return reals([](double a, double b) { return a * b; });
      })
      .Case([&](arith::DivFOp) {
        return reals([](double a, double b) { return a / b; });
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](Operation *) {
        return reals([&](double a, double b) {
          return largest(a, b, isa<arith::MaximumFOp>(op));
        });
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](Operation *) {
        return reals([&](double a, double b) {
          return -largest(-a, -b, isa<arith::MinimumFOp>(op));
        });
      })
      .Case([&](arith::CmpFOp cmp) {
        return each([&](size_t i) {
          Number number;
          number.integer = arith::applyCmpPredicate(
              cmp.getPredicate(), APFloat(operands[0].at(i).real),
              APFloat(operands[1].at(i).real));
          return number;
        });
      })
      .Default(false);
}
