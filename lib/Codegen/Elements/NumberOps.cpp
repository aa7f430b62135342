//===- NumberOps.cpp - scalar ops on numbers ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumberRow.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

static unsigned widthOf(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// The number of an integer type of `width` bits with the low bits of `value`.
static Number wrapped(int64_t value, unsigned width) {
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

static uint64_t unsignedOf(Number number, unsigned width) {
  return width >= 64 ? number.integer
                     : uint64_t(number.integer) &
                           llvm::maskTrailingOnes<uint64_t>(width);
}

bool tp::target::isUnsignedOrder(arith::CmpIPredicate predicate) {
  return llvm::is_contained(
      {arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
       arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge},
      predicate);
}

/// Calls `with` with what compares two numbers, so that no number asks which
/// predicate it is.
template <typename With>
static bool withPredicate(arith::CmpIPredicate predicate, With with) {
  using S = int64_t;
  using U = uint64_t;
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return with([](S a, S b) { return a == b; });
  case arith::CmpIPredicate::ne:
    return with([](S a, S b) { return a != b; });
  case arith::CmpIPredicate::slt:
    return with([](S a, S b) { return a < b; });
  case arith::CmpIPredicate::sle:
    return with([](S a, S b) { return a <= b; });
  case arith::CmpIPredicate::sgt:
    return with([](S a, S b) { return a > b; });
  case arith::CmpIPredicate::sge:
    return with([](S a, S b) { return a >= b; });
  case arith::CmpIPredicate::ult:
    return with([](U a, U b) { return a < b; });
  case arith::CmpIPredicate::ule:
    return with([](U a, U b) { return a <= b; });
  case arith::CmpIPredicate::ugt:
    return with([](U a, U b) { return a > b; });
  case arith::CmpIPredicate::uge:
    return with([](U a, U b) { return a >= b; });
  }
  llvm_unreachable("unhandled predicate");
}

static double largest(double a, double b, bool letsNaNThrough) {
  if (std::isnan(a) || std::isnan(b))
    return letsNaNThrough ? a + b : std::isnan(a) ? b : a;
  // Of equal numbers, zeros, the one above is positive.
  if (a == b)
    return std::signbit(a) ? b : a;
  return std::max(a, b);
}

bool tp::target::computeNumbers(Operation *op,
                                ArrayRef<const Number *> operands,
                                MutableArrayRef<Number> result) {
  Type type = op->getResult(0).getType();
  Type from = op->getOperand(0).getType();
  if (!type.isIntOrIndexOrFloat() || !from.isIntOrIndexOrFloat())
    return false;
  unsigned width = widthOf(type), fromWidth = widthOf(from);
  const Number *a = operands[0];
  const Number *b = operands.size() > 1 ? operands[1] : a;
  auto each = [&](auto make) {
    for (auto [i, number] : llvm::enumerate(result))
      number = make(i);
    return true;
  };
  auto integers = [&](auto make) {
    return each([&](size_t i) {
      return wrapped(make(a[i].integer, b[i].integer), width);
    });
  };
  auto reals = [&](auto make) {
    return each(
        [&](size_t i) { return rounded(make(a[i].real, b[i].real), type); });
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
            for (size_t i = 0; i < result.size(); ++i)
              if (b[i].integer == 0 || b[i].integer == -1)
                return false;
            if (isa<arith::DivSIOp>(op))
              return integers([](int64_t a, int64_t b) { return a / b; });
            if (isa<arith::RemSIOp>(op))
              return integers([](int64_t a, int64_t b) { return a % b; });
            return integers([](int64_t a, int64_t b) {
              return llvm::divideFloorSigned(a, b);
            });
          })
      .Case([&](arith::CmpIOp cmp) {
        // The one bit of a signed i1 is its sign, and an unsigned number has
        // no other bits than those of its type.
        return withPredicate(cmp.getPredicate(), [&](auto compares) {
          bool areUnsigned = isUnsignedOrder(cmp.getPredicate());
          return each([&](size_t i) {
            auto number = [&](Number given) {
              return areUnsigned      ? int64_t(unsignedOf(given, fromWidth))
                     : fromWidth == 1 ? -given.integer
                                      : given.integer;
            };
            return wrapped(compares(number(a[i]), number(b[i])), width);
          });
        });
      })
      .Case([&](arith::SelectOp) {
        return each(
            [&](size_t i) { return operands[a[i].integer ? 1 : 2][i]; });
      })
      .Case<arith::IndexCastOp, arith::TruncIOp, arith::ExtSIOp>(
          [&](Operation *) {
            bool negates = fromWidth == 1 && !isa<arith::TruncIOp>(op);
            return each([&](size_t i) {
              int64_t value = a[i].integer;
              return wrapped(negates ? -value : value, width);
            });
          })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](Operation *) {
        return each([&](size_t i) {
          return wrapped(int64_t(unsignedOf(a[i], fromWidth)), width);
        });
      })
      .Case([&](arith::SIToFPOp) {
        return each([&](size_t i) {
          int64_t value = fromWidth == 1 ? -a[i].integer : a[i].integer;
          return roundedInteger(APInt(64, value, /*isSigned=*/true), true,
                                type);
        });
      })
      .Case([&](arith::UIToFPOp) {
        return each([&](size_t i) {
          return roundedInteger(APInt(64, unsignedOf(a[i], fromWidth)), false,
                                type);
        });
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *) {
        return each([&](size_t i) { return rounded(a[i].real, type); });
      })
      .Case([&](arith::NegFOp) {
        return each([&](size_t i) { return rounded(-a[i].real, type); });
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
              cmp.getPredicate(), APFloat(a[i].real), APFloat(b[i].real));
          return number;
        });
      })
      .Default(false);
}
