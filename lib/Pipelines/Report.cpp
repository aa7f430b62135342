//===- Report.cpp - what a compilation did --------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Pipelines/Report.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/Sharding/RingCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

/// The ranks of every group of a manifest, by the group's id.
static std::vector<std::vector<std::vector<int64_t>>>
groupsOf(const json::Object &manifest) {
  std::vector<std::vector<std::vector<int64_t>>> groups;
  const json::Array *list = manifest.getArray("groups");
  for (const json::Value &value : list ? *list : json::Array()) {
    groups.emplace_back();
    const json::Object *group = value.getAsObject();
    const json::Array *ranks = group ? group->getArray("ranks") : nullptr;
    for (const json::Value &members : ranks ? *ranks : json::Array()) {
      groups.back().emplace_back();
      const json::Array *each = members.getAsArray();
      for (const json::Value &rank : each ? *each : json::Array())
        groups.back().back().push_back(rank.getAsInteger().value_or(0));
    }
  }
  return groups;
}

/// Picoseconds of a collective of a manifest, once.
static int64_t timeOf(const json::Object &collective,
                      ArrayRef<std::vector<int64_t>> groups,
                      const Hardware &hardware) {
  std::vector<std::string> axes;
  if (const json::Array *names = collective.getArray("axes"))
    for (const json::Value &name : *names)
      // `tp:1:2` is a part of `tp`.
      axes.push_back(name.getAsString().value_or("").split(':').first.str());
  Link link = hardware.linkOf(axes, groups);
  Machine machine = hardware.machine;
  machine.linkBandwidth = link.bandwidth;
  machine.collectiveLatency = link.latency;
  return collectiveTime(
      collective.getInteger("ring_bytes_per_rank").value_or(0), machine);
}

static NumberClass numbersOf(StringRef dtype) {
  unsigned bits = 32;
  bool isFloat = dtype.consume_front("bf") || dtype.consume_front("f");
  dtype.take_while(llvm::isDigit).getAsInteger(10, bits);
  return numberClass(isFloat, bits);
}

/// Microseconds of a step's matrix products.
static double computeMicroseconds(const json::Object &manifest,
                                  const Hardware &hardware) {
  int64_t time = 0;
  if (const json::Array *program = manifest.getArray("program"))
    for (const json::Value &value : *program)
      if (const json::Object *command = value.getAsObject())
        if (std::optional<int64_t> flops = command->getInteger("flops"))
          time = saturatingAdd(
              time,
              computeTime(
                  static_cast<double>(*flops), 0, hardware.machine,
                  numbersOf(command->getString("dtype").value_or("f32"))));
  return double(time) / 1e6;
}

json::Object tp::makeReport(Attribute bindings, const json::Object &manifest,
                            const Hardware &hardware) {
  json::Object report, mesh, memory;
  if (const json::Object *grid = manifest.getObject("mesh"))
    if (const json::Array *axes = grid->getArray("axes"))
      for (const json::Value &axis : *axes)
        if (const json::Object *entry = axis.getAsObject())
          mesh[entry->getString("name").value_or("").str()] =
              entry->getInteger("size").value_or(0);
  report["mesh"] = std::move(mesh);
  report["bindings"] = bindings ? toJSON(bindings) : json::Array();

  // The groups' rank lists are the manifest's business; a report names a group
  // by its axes and size.
  json::Array collectives;
  int64_t communication = 0;
  auto groups = groupsOf(manifest);
  if (const json::Array *list = manifest.getArray("collectives"))
    for (const json::Value &value : *list) {
      json::Object entry;
      const json::Object &collective = *value.getAsObject();
      for (StringRef key :
           {"kind", "axes", "dtype", "payload_bytes", "ring_bytes_per_rank",
            "wire_bytes", "count", "module", "reason", "cause"})
        if (const json::Value *field = collective.get(key))
          entry[key] = *field;
      if (const json::Value *location = collective.get("location"))
        entry["loc"] = *location;
      int64_t id = collective.getInteger("group").value_or(-1);
      ArrayRef<std::vector<int64_t>> ranks;
      if (id >= 0 && id < static_cast<int64_t>(groups.size()))
        ranks = groups[id];
      if (!ranks.empty())
        entry["group"] = static_cast<int64_t>(ranks.front().size());
      int64_t time = timeOf(collective, ranks, hardware);
      entry["time_us"] = double(time) / 1e6;
      communication = saturatingAdd(
          communication, collective.getInteger("count").value_or(1) * time);
      collectives.push_back(std::move(entry));
    }
  report["collectives"] = std::move(collectives);
  if (const json::Object *source = manifest.getObject("memory")) {
    memory["weights"] = source->getInteger("weights_bytes").value_or(0);
    memory["arena"] = source->getInteger("arena_bytes").value_or(0);
    memory["peak_live"] = source->getInteger("peak_live_bytes").value_or(0);
  }
  if (hardware.memoryBytes)
    memory["of_hardware"] = *hardware.memoryBytes;
  report["memory"] = std::move(memory);
  report["cost"] =
      json::Object{{"hardware", hardware.name},
                   {"comm_us", double(communication) / 1e6},
                   {"compute_us", computeMicroseconds(manifest, hardware)}};
  return report;
}

namespace {
/// Collectives of one kind. Those of 64 bytes or less are scalars, listed
/// apart (docs/report.md).
struct Total {
  int64_t count = 0, payload = 0, ring = 0;
};

/// In order of first appearance.
std::vector<std::pair<std::string, Total>> totals(const json::Object &report) {
  std::vector<std::pair<std::string, Total>> result;
  for (const json::Value &value : *report.getArray("collectives")) {
    const json::Object &entry = *value.getAsObject();
    int64_t payload = entry.getInteger("payload_bytes").value_or(0);
    std::string kind = entry.getString("kind").value_or("").str();
    if (payload <= 64)
      kind += " (scalar)";
    auto it = llvm::find_if(
        result, [&](const auto &total) { return total.first == kind; });
    if (it == result.end())
      it = result.insert(it, {kind, Total()});
    int64_t trips = entry.getInteger("count").value_or(1);
    it->second.count += trips;
    it->second.payload += trips * payload;
    it->second.ring +=
        trips * entry.getInteger("ring_bytes_per_rank").value_or(0);
  }
  return result;
}

/// `[0, 1]` of an array of numbers or texts, without quotes.
std::string flat(const json::Value *value) {
  if (!value)
    return "";
  std::string text;
  if (std::optional<StringRef> plain = value->getAsString())
    return plain->str();
  if (value->kind() == json::Value::Number && !value->getAsInteger())
    return llvm::formatv("{0:F1}", *value->getAsNumber()).str();
  llvm::raw_string_ostream(text) << *value;
  llvm::erase(text, '"');
  return text;
}

/// Calls `row` with the texts of every table line of the report, headings
/// first; `section` starts a table.
template <typename Section, typename Row>
void forEachRow(const json::Object &report, Section section, Row row) {
  section("mesh");
  row({"axis", "size"});
  for (const auto &[axis, size] : *report.getObject("mesh"))
    row({axis.str(), flat(&size)});
  section("bindings");
  row({"entry", "module", "style", "value", "dims", "layout"});
  for (const json::Value &value : *report.getArray("bindings")) {
    const json::Object &binding = *value.getAsObject();
    std::string entry = flat(binding.get("entry"));
    const json::Array *values = binding.getArray("values");
    if (!values || values->empty()) {
      row({entry, flat(binding.get("module")), flat(binding.get("style")), "",
           "", ""});
      continue;
    }
    for (const json::Value &bound : *values) {
      const json::Object &object = *bound.getAsObject();
      row({entry, flat(binding.get("module")), flat(binding.get("style")),
           flat(object.get("loc")), flat(object.get("dims")),
           flat(object.get("layout"))});
    }
  }
  section("collectives");
  row({"kind", "axes", "group", "dtype", "payload bytes", "ring bytes",
       "module", "at"});
  for (const json::Value &value : *report.getArray("collectives")) {
    const json::Object &entry = *value.getAsObject();
    row({flat(entry.get("kind")), flat(entry.get("axes")),
         flat(entry.get("group")), flat(entry.get("dtype")),
         flat(entry.get("payload_bytes")),
         flat(entry.get("ring_bytes_per_rank")), flat(entry.get("module")),
         flat(entry.get("loc"))});
  }
  section("collectives by kind");
  row({"kind", "count", "payload bytes", "ring bytes per rank"});
  for (const auto &[kind, total] : totals(report))
    row({kind, std::to_string(total.count), std::to_string(total.payload),
         std::to_string(total.ring)});
  section("memory per rank, in bytes");
  row({"weights", "arena", "peak live"});
  const json::Object &memory = *report.getObject("memory");
  row({flat(memory.get("weights")), flat(memory.get("arena")),
       flat(memory.get("peak_live"))});
  section("cost of a step by the model, in microseconds");
  row({"communication", "matrix products", "hardware"});
  const json::Object &cost = *report.getObject("cost");
  row({flat(cost.get("comm_us")), flat(cost.get("compute_us")),
       flat(cost.get("hardware"))});
}

using Cells = std::vector<std::string>;
struct TextTable {
  std::string title;
  std::vector<Cells> rows;
};

std::vector<TextTable> tables(const json::Object &report) {
  std::vector<TextTable> result;
  forEachRow(
      report, [&](StringRef title) { result.push_back({title.str(), {}}); },
      [&](Cells cells) { result.back().rows.push_back(std::move(cells)); });
  return result;
}

std::string escaped(StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}
} // namespace

void tp::writeReportText(const json::Object &report, raw_ostream &os) {
  for (const TextTable &table : tables(report)) {
    std::vector<size_t> widths;
    for (const Cells &row : table.rows) {
      widths.resize(std::max(widths.size(), row.size()));
      for (auto [i, cell] : llvm::enumerate(row))
        widths[i] = std::max(widths[i], cell.size());
    }
    os << table.title << "\n";
    for (const Cells &row : table.rows) {
      std::string line = " ";
      for (auto [i, cell] : llvm::enumerate(row))
        line += " " + cell + std::string(widths[i] - cell.size() + 1, ' ');
      os << StringRef(line).rtrim() << "\n";
    }
    os << "\n";
  }
}

void tp::writeReportHTML(const json::Object &report, raw_ostream &os) {
  os << "<!doctype html>\n<meta charset=\"utf-8\">\n<title>tp report</title>\n"
        "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:"
        "collapse}td,th{padding:2px 10px;border-bottom:1px solid #ccc;"
        "text-align:left}</style>\n";
  for (const TextTable &table : tables(report)) {
    os << "<h2>" << escaped(table.title) << "</h2>\n<table>\n";
    for (auto [i, row] : llvm::enumerate(table.rows)) {
      os << "<tr>";
      for (const std::string &cell : row)
        os << (i == 0 ? "<th>" : "<td>") << escaped(cell);
      os << "\n";
    }
    os << "</table>\n";
  }
}
