//===- NumberRow.h - numbers along a loop -----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a mask mostly says: up to some key yes, from there on no. So numbers
// along a loop are runs, as long as they are few, and most ops take a run at
// once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_NUMBERROW_H
#define TP_LIB_CODEGEN_ELEMENTS_NUMBERROW_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <vector>

namespace tp::target {

/// One number: a float of any type, rounded to it, or an integer in two's
/// complement (i1: 0 or 1).
union Number {
  double real;
  int64_t integer;
};

/// Numbers of one type along a loop.
class NumberRow {
public:
  /// Numbers up to `end`, each `step` more than the one before. Only integers
  /// have a step, and none of them wraps around.
  struct Run {
    int64_t end = 0;
    Number first{};
    int64_t step = 0;
  };

  NumberRow() = default;
  /// `size` numbers that are all the same.
  NumberRow(Number number, int64_t size) : runs{{size, number, 0}} {}
  /// The integers `first`, `first + step` and so on.
  NumberRow(int64_t first, int64_t step, int64_t size);
  explicit NumberRow(std::vector<Number> each);

  int64_t size() const {
    return runs.empty() ? int64_t(each.size()) : runs.back().end;
  }
  Number at(int64_t i) const;
  /// The run that all numbers are, if they are one.
  std::optional<Run> onlyRun() const {
    return runs.size() == 1 ? std::optional(runs.front()) : std::nullopt;
  }
  /// Calls `visit(begin, end, number)` for ranges of equal numbers, in order.
  void
  forEachRange(llvm::function_ref<void(int64_t, int64_t, Number)> visit) const;
  void appendTo(std::vector<Number> &numbers) const;

  /// What scalar `op` makes of rows of one size; nothing if it is not one of
  /// the ops that are known.
  static std::optional<NumberRow>
  compute(mlir::Operation *op, llvm::ArrayRef<const NumberRow *> operands);

private:
  /// More are slower than the numbers themselves.
  static constexpr size_t mostRuns = 32;

  bool areRuns() const { return !runs.empty(); }
  bool append(Run run);
  static bool computeRuns(mlir::Operation *op,
                          llvm::ArrayRef<const NumberRow *> operands,
                          NumberRow &result);

  /// Of two or more numbers each in `each`, or all in `runs`.
  llvm::SmallVector<Run, 4> runs;
  std::vector<Number> each;
};

/// Whether numbers are compared without their signs.
bool isUnsignedOrder(mlir::arith::CmpIPredicate predicate);

/// What scalar `op` makes of each of `size` tuples of numbers, of which operand
/// i has those at `operands[i]`; false if it is not one of the ops known.
bool computeNumbers(mlir::Operation *op,
                    llvm::ArrayRef<const Number *> operands,
                    llvm::MutableArrayRef<Number> result);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_NUMBERROW_H
