//===- NumberRow.cpp - numbers along a loop -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumberRow.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include <cstring>

using namespace mlir;
using namespace tp::target;

/// Sums and products of 64-bit numbers, which fit.
using Wide = __int128;

static bool areSame(Number a, Number b) {
  return std::memcmp(&a, &b, sizeof(Number)) == 0;
}

static Number numberOf(int64_t integer) {
  Number number;
  number.integer = integer;
  return number;
}

NumberRow::NumberRow(int64_t first, int64_t step, int64_t size)
    : runs{{size, numberOf(first), step}} {}

NumberRow::NumberRow(std::vector<Number> numbers) : each(std::move(numbers)) {
  for (auto [i, number] : llvm::enumerate(each)) {
    bool isMany =
        runs.size() == mostRuns && !areSame(runs.back().first, number);
    if (isMany) {
      runs.clear();
      return;
    }
    append({int64_t(i) + 1, number, 0});
  }
  each.clear();
}

/// Adds numbers from the end of the last run on; false if it is a run too many.
bool NumberRow::append(Run run) {
  int64_t begin = runs.empty() ? 0 : runs.back().end;
  if (run.end <= begin && !runs.empty())
    return true;
  if (!runs.empty() && runs.back().step == run.step) {
    Run &last = runs.back();
    int64_t lastBegin = runs.size() > 1 ? runs[runs.size() - 2].end : 0;
    bool goesOn =
        run.step == 0
            ? areSame(last.first, run.first)
            : Wide(last.first.integer) + Wide(run.step) * (begin - lastBegin) ==
                  run.first.integer;
    if (goesOn) {
      last.end = run.end;
      return true;
    }
  }
  runs.push_back(run);
  return runs.size() <= mostRuns;
}

Number NumberRow::at(int64_t i) const {
  if (!areRuns())
    return each[i];
  const Run *run = llvm::partition_point(
      ArrayRef(runs).drop_back(), [&](const Run &run) { return run.end <= i; });
  if (run->step == 0)
    return run->first;
  int64_t begin = run == runs.begin() ? 0 : std::prev(run)->end;
  return numberOf(run->first.integer + run->step * (i - begin));
}

void NumberRow::forEachRange(
    function_ref<void(int64_t, int64_t, Number)> visit) const {
  int64_t begin = 0;
  for (const Run &run : runs) {
    if (run.step == 0 && begin < run.end)
      visit(begin, run.end, run.first);
    else
      for (int64_t i = begin; i < run.end; ++i)
        visit(i, i + 1, numberOf(run.first.integer + run.step * (i - begin)));
    begin = run.end;
  }
  for (int64_t end, size = each.size(), i = 0; i < size; i = end) {
    for (end = i + 1; end < size && areSame(each[i], each[end]);)
      ++end;
    visit(i, end, each[i]);
  }
}

void NumberRow::appendTo(std::vector<Number> &numbers) const {
  numbers.insert(numbers.end(), each.begin(), each.end());
  int64_t begin = 0;
  for (const Run &run : runs) {
    for (int64_t i = begin; i < run.end; ++i)
      numbers.push_back(
          run.step == 0 ? run.first
                        : numberOf(run.first.integer + run.step * (i - begin)));
    begin = run.end;
  }
}

//===----------------------------------------------------------------------===//
// Ops on runs
//===----------------------------------------------------------------------===//

namespace {
/// `size` integers from `first` on, none of which wraps around.
struct Progression {
  Wide first = 0, step = 0;
  int64_t size = 1;

  Wide last() const { return first + step * (size - 1); }
  /// Whether products with 64-bit numbers are left to others.
  bool isLarge() const {
    constexpr Wide largest = Wide(1) << 40;
    return step != 0 && (std::min(first, last()) < -largest ||
                         std::max(first, last()) > largest);
  }
  bool isNegative() const { return first < 0 || last() < 0; }
  /// Whether all are numbers of `type`, two's complement.
  bool fits(Type type) const {
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    Wide limit = Wide(1) << (width - 1);
    return width > 1 && std::min(first, last()) >= -limit &&
           std::max(first, last()) < limit;
  }
};
} // namespace

/// A progression is less than 0 up to one index, and 0 at one at most: how many
/// from the start have the sign of the first, and how many that or are 0.
static std::pair<int64_t, int64_t> signsOf(const Progression &difference) {
  Wide rising = difference.step < 0 ? -difference.first : difference.first;
  Wide step = difference.step < 0 ? -difference.step : difference.step;
  auto clamped = [&](Wide count) {
    return int64_t(std::clamp<Wide>(count, 0, difference.size));
  };
  if (step == 0)
    return {clamped(rising < 0 ? difference.size : 0),
            clamped(rising <= 0 ? difference.size : 0)};
  // rising + step * i < 0, and <= 0.
  Wide below = rising < 0 ? (-rising + step - 1) / step : 0;
  Wide upTo = rising <= 0 ? -rising / step + 1 : 0;
  return {clamped(below), clamped(upTo)};
}

/// The result of an op on progressions, in pieces of the lengths that come
/// first; nothing where it is none.
static SmallVector<std::pair<int64_t, Progression>>
computeProgressions(Operation *op, ArrayRef<Progression> operands) {
  using Pieces = SmallVector<std::pair<int64_t, Progression>>;
  for (const Progression &operand : operands)
    if (operand.isLarge())
      return {};
  const Progression &a = operands[0];
  const Progression &b = operands.size() > 1 ? operands[1] : a;
  Type type = op->getResult(0).getType();
  auto whole = [&](Wide first, Wide step) -> Pieces {
    Progression made{first, step, a.size};
    return made.fits(type) ? Pieces{{a.size, made}} : Pieces();
  };
  auto unlessNegative = [&](const Progression &made) {
    return made.isNegative() ? Pieces() : whole(made.first, made.step);
  };
  Progression difference{a.first - b.first, a.step - b.step, a.size};
  // What is chosen where a < b, a = b and a > b.
  auto bySign = [&](auto choose) {
    auto [below, upTo] = signsOf(difference);
    bool falls = difference.step < 0;
    Pieces pieces;
    int64_t begin = 0;
    for (auto [sign, end] :
         {std::pair(falls ? 1 : -1, below), std::pair(0, upTo),
          std::pair(falls ? -1 : 1, a.size)}) {
      Progression chosen = choose(sign);
      pieces.push_back(
          {end - begin,
           {chosen.first + chosen.step * begin, chosen.step, end - begin}});
      begin = end;
    }
    return pieces;
  };
  return llvm::TypeSwitch<Operation *, Pieces>(op)
      .Case([&](arith::AddIOp) {
        return whole(a.first + b.first, a.step + b.step);
      })
      .Case([&](arith::SubIOp) {
        return whole(difference.first, difference.step);
      })
      .Case([&](arith::MulIOp) {
        if (b.step == 0)
          return whole(a.first * b.first, a.step * b.first);
        return a.step == 0 ? whole(a.first * b.first, a.first * b.step)
                           : Pieces();
      })
      .Case<arith::IndexCastOp, arith::TruncIOp, arith::ExtSIOp>(
          [&](Operation *) { return whole(a.first, a.step); })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
          [&](Operation *) { return unlessNegative(a); })
      .Case([&](arith::MaxSIOp) {
        return bySign([&](int sign) { return sign < 0 ? b : a; });
      })
      .Case([&](arith::MinSIOp) {
        return bySign([&](int sign) { return sign < 0 ? a : b; });
      })
      .Case([&](arith::CmpIOp cmp) {
        arith::CmpIPredicate predicate = cmp.getPredicate();
        if (isUnsignedOrder(predicate) && (a.isNegative() || b.isNegative()))
          return Pieces();
        return bySign([&](int sign) {
          bool holds =
              arith::applyCmpPredicate(predicate, APInt(8, sign < 0 ? 0 : 1),
                                       APInt(8, sign > 0 ? 0 : 1));
          return Progression{holds, 0, a.size};
        });
      })
      .Default(Pieces());
}

/// Of operands that are runs; false where the result is not a few of them, and
/// where `op` does not take a run at once.
bool NumberRow::computeRuns(Operation *op, ArrayRef<const NumberRow *> operands,
                            NumberRow &result) {
  SmallVector<unsigned> places(operands.size(), 0);
  int64_t size = operands.front()->size();
  for (int64_t begin = 0, end; begin < size; begin = end) {
    end = size;
    SmallVector<Progression> progressions;
    SmallVector<Number> firsts;
    for (auto [operand, place] : llvm::zip_equal(operands, places)) {
      while (operand->runs[place].end <= begin)
        ++place;
      const Run &run = operand->runs[place];
      end = std::min(end, run.end);
      firsts.push_back(operand->at(begin));
      progressions.push_back({firsts.back().integer, run.step, 0});
    }
    bool areConstant = true;
    for (Progression &progression : progressions) {
      progression.size = end - begin;
      areConstant &= progression.step == 0;
    }
    if (isa<arith::SelectOp>(op)) {
      unsigned chosen = firsts[0].integer ? 1 : 2;
      if (!result.append(
              {end, firsts[chosen], int64_t(progressions[chosen].step)}))
        return false;
      continue;
    }
    if (areConstant) {
      SmallVector<const Number *> numbers;
      for (const Number &first : firsts)
        numbers.push_back(&first);
      Number made{};
      if (!computeNumbers(op, numbers, made) || !result.append({end, made, 0}))
        return false;
      continue;
    }
    auto pieces = computeProgressions(op, progressions);
    if (pieces.empty())
      return false;
    int64_t at = begin;
    for (auto [length, piece] : pieces) {
      at += length;
      if (length > 0 && !result.append({at, numberOf(int64_t(piece.first)),
                                        int64_t(piece.step)}))
        return false;
    }
  }
  return true;
}

std::optional<NumberRow>
NumberRow::compute(Operation *op, ArrayRef<const NumberRow *> operands) {
  int64_t size = operands.front()->size();
  if (size > 0 && llvm::all_of(operands, [](const NumberRow *row) {
        return row->areRuns();
      })) {
    NumberRow result;
    if (computeRuns(op, operands, result))
      return result;
  }
  std::vector<std::vector<Number>> numbers(operands.size());
  SmallVector<const Number *> pointers;
  for (auto [operand, expanded] : llvm::zip_equal(operands, numbers)) {
    if (operand->areRuns())
      operand->appendTo(expanded);
    pointers.push_back(operand->areRuns() ? expanded.data()
                                          : operand->each.data());
  }
  std::vector<Number> made(size);
  if (!computeNumbers(op, pointers, made))
    return std::nullopt;
  return NumberRow(std::move(made));
}
