//===- Table.h - columns of text --------------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_REPORT_TABLE_H
#define TP_TOOLS_TP_RUN_REPORT_TABLE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tp::run {

/// Rows of cells printed in columns. Columns whose heading starts with '>' are
/// aligned to the right.
class Table {
public:
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  bool empty() const { return rows.empty(); }
  /// Indented by two, one line per row, nothing if there are no rows.
  std::string text() const;

private:
  std::vector<std::string> headings;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;
};

/// A table in which equal rows are one, whose last cell is their number. Rows
/// are in the order of the first of each.
class CountedTable {
public:
  explicit CountedTable(std::vector<std::string> headings)
      : headings(std::move(headings)) {}
  void add(std::vector<std::string> cells);
  bool empty() const { return rows.empty(); }
  std::string text() const;

private:
  std::vector<std::string> headings;
  std::map<std::vector<std::string>, int64_t> counts;
  std::vector<std::vector<std::string>> rows;
};

/// The table and, below it, a step's bytes and operations; nothing without
/// rows.
std::string withTotal(const CountedTable &table, int64_t bytes, int64_t flops);

/// 1234567 as "1,234,567".
std::string grouped(int64_t number);
/// "1.234 ms", "12.34 s".
std::string duration(double seconds);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_REPORT_TABLE_H
