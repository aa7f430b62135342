//===- Table.cpp - columns of text ----------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"
#include <algorithm>
#include <cstdio>

using namespace tp::run;

Table::Table(std::vector<std::string> given) : headings(std::move(given)) {
  for (std::string &heading : headings) {
    right.push_back(heading.starts_with(">"));
    if (right.back())
      heading.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(headings.size());
  rows.push_back(std::move(cells));
}

std::string Table::text() const {
  if (rows.empty())
    return {};
  std::vector<size_t> widths;
  for (size_t c = 0; c < headings.size(); ++c) {
    size_t width = headings[c].size();
    for (const auto &row : rows)
      width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string result;
  auto line = [&](const std::vector<std::string> &cells) {
    std::string text = " ";
    for (size_t c = 0; c < cells.size(); ++c) {
      std::string space(widths[c] - cells[c].size(), ' ');
      text +=
          (c ? "  " : " ") + (right[c] ? space + cells[c] : cells[c] + space);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    result += text + "\n";
  };
  line(headings);
  for (const auto &row : rows)
    line(row);
  return result;
}

void CountedTable::add(std::vector<std::string> cells) {
  if (++counts[cells] == 1)
    rows.push_back(std::move(cells));
}

std::string CountedTable::text() const {
  Table table(headings);
  for (std::vector<std::string> row : rows) {
    std::string count = grouped(counts.at(row));
    row.push_back(count);
    table.add(row);
  }
  return table.text();
}

std::string tp::run::withTotal(const CountedTable &table, int64_t bytes,
                               int64_t flops) {
  if (table.empty())
    return "";
  return table.text() + "  total " + grouped(bytes) + " bytes and " +
         grouped(flops) + " flops per step and rank\n";
}

std::string tp::run::grouped(int64_t number) {
  std::string digits = std::to_string(number);
  size_t first = digits.starts_with("-") ? 1 : 0;
  for (size_t end = digits.size(); end > first + 3; end -= 3)
    digits.insert(end - 3, ",");
  return digits;
}

std::string tp::run::duration(double seconds) {
  char text[32];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof(text), "%.1f us", seconds * 1e6);
  else if (seconds < 1)
    std::snprintf(text, sizeof(text), "%.3f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof(text), "%.3f s", seconds);
  return text;
}
