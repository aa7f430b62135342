//===- ReportDifference.cpp - what two compilations do otherwise ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Pipelines/ReportDifference.h"
#include "tp/Pipelines/Explanation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tp;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
/// The totals of both reports under one name.
struct Row {
  std::string name;
  TrafficTotal before, after;
};

bool isSame(const TrafficTotal &a, const TrafficTotal &b) {
  return a.count == b.count && a.ringBytes == b.ringBytes;
}

/// In the order of first appearance, those of `before` first.
std::vector<Row> rowsBy(StringRef key, const json::Object &before,
                        const json::Object &after) {
  std::vector<Row> rows;
  for (const auto &[name, total] : trafficBy(key, before))
    rows.push_back({name, total, {}});
  for (const auto &[name, total] : trafficBy(key, after)) {
    auto it = llvm::find_if(
        rows, [&, &name = name](const Row &row) { return row.name == name; });
    if (it == rows.end())
      it = rows.insert(it, {name, {}, {}});
    it->after = total;
  }
  llvm::erase_if(rows,
                 [](const Row &row) { return isSame(row.before, row.after); });
  return rows;
}

std::string signedText(int64_t number) {
  return llvm::formatv("{0}{1}", number > 0 ? "+" : "", number);
}

void writeRow(const Row &row, llvm::raw_ostream &os) {
  os << llvm::formatv(
            "{0,5} -> {1,-5} {2,12} -> {3,-12} {4,13}  {5}\n", row.before.count,
            row.after.count, row.before.ringBytes, row.after.ringBytes,
            signedText(row.after.ringBytes - row.before.ringBytes), row.name)
            .str();
}

void writeTable(StringRef title, llvm::ArrayRef<Row> rows,
                llvm::raw_ostream &os) {
  if (rows.empty())
    return;
  os << title << "\n";
  for (const Row &row : rows)
    writeRow(row, os);
  os << "\n";
}

double numberIn(const json::Object &report, StringRef section, StringRef key) {
  const json::Object *found = report.getObject(section);
  return found ? found->getNumber(key).value_or(0) : 0;
}
} // namespace

bool tp::writeDifference(const json::Object &before, const json::Object &after,
                         llvm::raw_ostream &os) {
  std::vector<Row> modules = rowsBy("module", before, after),
                   kinds = rowsBy("kind", before, after);
  auto isEqual = [&](StringRef section) {
    const json::Object *left = before.getObject(section),
                       *right = after.getObject(section);
    return left && right && *left == *right;
  };
  if (modules.empty() && kinds.empty() && isEqual("cost") &&
      isEqual("memory")) {
    TrafficTotal total = trafficOf(after);
    os << "nothing differs: " << total.count << " collectives, "
       << total.ringBytes << " ring bytes per rank\n";
    return false;
  }
  os << "      count      ring bytes per rank       difference\n";
  writeTable("by module", modules, os);
  writeTable("by kind", kinds, os);
  os << "in all\n";
  writeRow({"collectives", trafficOf(before), trafficOf(after)}, os);
  os << "\nmicroseconds by the model\n";
  auto line = [&](StringRef section, StringRef key, StringRef name) {
    double from = numberIn(before, section, key),
           to = numberIn(after, section, key);
    if (section == "cost")
      os << llvm::formatv("  {0,12:F1} -> {1,-12:F1} {2}{3:F1}  {4}\n", from,
                          to, to > from ? "+" : "", to - from, name)
                .str();
    else
      os << llvm::formatv("  {0,12} -> {1,-12} {2}  {3}\n", int64_t(from),
                          int64_t(to), signedText(int64_t(to - from)), name)
                .str();
  };
  line("cost", "comm_us", "communication");
  line("cost", "compute_us", "matrix products");
  os << "\nbytes of memory per rank\n";
  line("memory", "weights", "weights");
  line("memory", "arena", "arena");
  line("memory", "peak_live", "peak live");
  return true;
}
