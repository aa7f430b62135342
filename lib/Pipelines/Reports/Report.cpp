//===- Report.cpp - what a compilation did --------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Pipelines/Report.h"
#include "Memory/MemoryLimit.h"
#include "Reports/CommunicationTree.h"
#include "Weights/UnnamedWeights.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/Sharding/RingCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;
namespace json = llvm::json;
namespace rt = tp::runtime;

/// Picoseconds of a collective, once.
static int64_t timeOf(const rt::Collective &collective,
                      const rt::RankGroup &group, const rt::Mesh &mesh,
                      const Hardware &hardware) {
  std::vector<std::string> axes;
  for (const rt::AxisPart &part : group.axes)
    axes.push_back(mesh.axes[part.axis].name);
  Link link = hardware.linkOf(axes, mesh.groups(group.axes));
  Machine machine = hardware.machine;
  machine.linkBandwidth = link.bandwidth;
  machine.collectiveLatency = link.latency;
  return collectiveTime(collective.ringBytes, machine);
}

static NumberClass numbersOf(rt::DataType dtype) {
  return numberClass(rt::isFloat(dtype), 8 * rt::byteSize(dtype));
}

/// Microseconds of a step's matrix products and attentions, and of the
/// operations of its kernels where those are known.
static double computeMicroseconds(const rt::Entry &entry,
                                  const Hardware &hardware) {
  int64_t time = 0;
  auto add = [&](double flops, NumberClass numbers) {
    time =
        saturatingAdd(time, computeTime(flops, 0, hardware.machine, numbers));
  };
  for (const rt::Command &command : entry.program)
    std::visit(rt::Overloaded{[&](const rt::KernelCommand &kernel) {
                                add(static_cast<double>(kernel.launch.flops),
                                    NumberClass::F32);
                              },
                              [&](const rt::GemmCommand &gemm) {
                                add(gemm.flops(), numbersOf(gemm.factorType()));
                              },
                              [](const rt::CollectiveCommand &) {},
                              [](const rt::CallCommand &) {},
                              [&](const rt::AttentionWeights &attention) {
                                add(static_cast<double>(attention.flops),
                                    numbersOf(attention.dtype));
                              }},
               command.what);
  return double(time) / 1e6;
}

/// A collective with its group by axes and size; the mesh has the ranks.
static json::Object describe(const rt::Manifest &manifest,
                             const rt::Collective &collective,
                             Attribute cause) {
  const rt::RankGroup &group = manifest.groups[collective.group];
  json::Array axes;
  for (const rt::AxisPart &part : group.axes)
    axes.push_back(manifest.mesh.text(part));
  json::Object row{{"kind", rt::spelling(collective.kind)},
                   {"axes", std::move(axes)},
                   {"group", group.size()},
                   {"dtype", rt::spelling(collective.dtype)},
                   {"payload_bytes", collective.payloadBytes},
                   {"ring_bytes_per_rank", collective.ringBytes},
                   {"wire_bytes", collective.wireBytes},
                   {"count", collective.count},
                   {"module", collective.module},
                   {"loc", collective.location},
                   {"reason", collective.reason}};
  if (cause)
    row["cause"] = toJSON(cause);
  return row;
}

static json::Object describe(StringRef side, const rt::Port &port,
                             const rt::Mesh &mesh) {
  json::Object row{{"port", side},
                   {"name", port.name},
                   {"kind", port.kind},
                   {"dtype", rt::spelling(port.dtype)},
                   {"shape", json::Array(port.shape)},
                   {"layout", rt::layoutText(port.layout, mesh)}};
  if (port.dead)
    row["dead"] = true;
  if (port.update)
    row["update"] = port.update->inPlace          ? "in place"
                    : port.update->reason.empty() ? "unread"
                                                  : port.update->reason;
  return row;
}

rt::MemoryPlan tp::memoryOfRank(const rt::Manifest &manifest) {
  rt::MemoryPlan all = manifest.entries.front().memory;
  if (manifest.entries.size() == 1)
    return all;
  for (const rt::Entry &entry : manifest.entries) {
    all.arenaBytes = std::max(all.arenaBytes, entry.memory.arenaBytes);
    all.peakLiveBytes = std::max(all.peakLiveBytes, entry.memory.peakLiveBytes);
  }
  all.weightsBytes = 0;
  for (const rt::Port &port : manifest.arguments)
    if (port.isWeight())
      all.weightsBytes += port.localBytes();
  return all;
}

/// Entries of the model bind mostly the same.
static json::Array withoutRepeats(const json::Array &rows) {
  json::Array kept;
  llvm::StringSet<> seen;
  for (const json::Value &row : rows)
    if (seen.insert(llvm::formatv("{0}", row).str()).second)
      kept.push_back(row);
  return kept;
}

json::Object tp::makeReport(Attribute bindings,
                            const CompiledManifest &compiled,
                            const Hardware &hardware) {
  const rt::Manifest &manifest = compiled.manifest;
  bool areSeveral = manifest.entries.size() > 1;
  json::Object report, mesh;
  json::Array axes;
  for (const rt::MeshAxis &axis : manifest.mesh.axes) {
    mesh[axis.name] = axis.size;
    axes.push_back(axis.name);
  }
  report["mesh"] = std::move(mesh);
  report["mesh_axes"] = std::move(axes);
  report["bindings"] =
      bindings ? withoutRepeats(*toJSON(bindings).getAsArray()) : json::Array();

  json::Array layouts;
  int64_t hostEntries = llvm::count_if(
      manifest.entries, [](const rt::Entry &entry) { return !entry.part; });
  for (const rt::Entry &entry : manifest.entries) {
    // A part has its entry's arguments.
    if (entry.part)
      continue;
    auto add = [&](StringRef side, const rt::Port &port) {
      json::Object row = describe(side, port, manifest.mesh);
      if (hostEntries > 1)
        row["entry"] = entry.name;
      layouts.push_back(std::move(row));
    };
    for (const rt::Port &port : rt::EntryView(manifest, entry).arguments)
      add("argument", port);
    for (const rt::Port &port : entry.results)
      add("result", port);
  }
  report["layouts"] = std::move(layouts);

  json::Array unnamed;
  for (const rt::Port &port : unnamedWeights(bindings, manifest))
    unnamed.push_back(json::Object{{"name", port.name},
                                   {"shape", json::Array(port.shape)},
                                   {"bytes", port.localBytes()}});
  if (!unnamed.empty())
    report["unnamed"] = std::move(unnamed);

  json::Array collectives;
  int64_t communication = 0;
  double computation = 0;
  for (auto [entry, causes] :
       llvm::zip_equal(manifest.entries, compiled.causes)) {
    for (auto [collective, cause] :
         llvm::zip_equal(entry.collectives, causes)) {
      json::Object row = describe(manifest, collective, cause);
      int64_t time = timeOf(collective, manifest.groups[collective.group],
                            manifest.mesh, hardware);
      row["time_us"] = double(time) / 1e6;
      if (areSeveral)
        row["entry"] = entry.name;
      communication = saturatingAdd(communication, collective.count * time);
      collectives.push_back(std::move(row));
    }
    computation += computeMicroseconds(entry, hardware) *
                   (entry.part ? double(entry.part->times) : 1.0);
  }
  if (!collectives.empty())
    report["modules"] = communicationTrees(collectives);
  report["collectives"] = std::move(collectives);
  rt::MemoryPlan most = memoryOfRank(manifest);
  json::Object memory{{"weights", most.weightsBytes},
                      {"arena", most.arenaBytes},
                      {"peak_live", most.peakLiveBytes}};
  if (int64_t carried = carriedBytes(manifest))
    memory["carried"] = carried;
  if (hardware.memoryBytes)
    memory["of_hardware"] = *hardware.memoryBytes;
  report["memory"] = std::move(memory);
  report["cost"] = json::Object{{"hardware", hardware.name},
                                {"comm_us", double(communication) / 1e6},
                                {"compute_us", computation}};
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

bool anyHas(const json::Array &rows, StringRef key) {
  return llvm::any_of(rows, [&](const json::Value &value) {
    return value.getAsObject()->get(key);
  });
}

using Cells = std::vector<std::string>;

/// Calls `row` with the texts of every table line of the report, headings
/// first; `section` starts a table.
template <typename Section, typename Row>
void forEachRow(const json::Object &report, Section section, Row row) {
  section("mesh");
  row({"axis", "size"});
  for (const json::Value &axis : *report.getArray("mesh_axes"))
    row({flat(&axis),
         flat(report.getObject("mesh")->get(*axis.getAsString()))});
  section("bindings");
  row({"entry", "module", "style", "value", "dims", "layout", "port", "axis",
       "status"});
  for (const json::Value &value : *report.getArray("bindings")) {
    const json::Object &binding = *value.getAsObject();
    auto ofBinding = [&](StringRef key) { return flat(binding.get(key)); };
    auto add = [&](const json::Object &bound) {
      row({ofBinding("entry"), ofBinding("module"), ofBinding("style"),
           flat(bound.get("loc")), flat(bound.get("dims")),
           flat(bound.get("layout")), flat(bound.get("port")),
           ofBinding("axis"), ofBinding("status")});
    };
    const json::Array *values = binding.getArray("values");
    if (!values || values->empty())
      add({});
    else
      for (const json::Value &bound : *values)
        add(*bound.getAsObject());
  }
  section("layouts");
  const json::Array &layouts = *report.getArray("layouts");
  bool haveEntries = anyHas(layouts, "entry");
  bool haveUpdates = anyHas(layouts, "update");
  bool haveDead = anyHas(layouts, "dead");
  Cells headings = {"port", "name", "kind", "dtype", "shape", "layout"};
  if (haveEntries)
    headings.push_back("entry");
  if (haveUpdates)
    headings.push_back("update");
  if (haveDead)
    headings.push_back("dead");
  row(headings);
  for (const json::Value &value : layouts) {
    const json::Object &port = *value.getAsObject();
    Cells cells = {flat(port.get("port")),  flat(port.get("name")),
                   flat(port.get("kind")),  flat(port.get("dtype")),
                   flat(port.get("shape")), flat(port.get("layout"))};
    if (haveEntries)
      cells.push_back(flat(port.get("entry")));
    if (haveUpdates)
      cells.push_back(flat(port.get("update")));
    if (haveDead)
      cells.push_back(port.get("dead") ? "dead" : "");
    row(std::move(cells));
  }
  if (const json::Array *unnamed = report.getArray("unnamed")) {
    section("weights that no plan entry names, whole on every rank");
    row({"name", "shape", "bytes"});
    for (const json::Value &value : *unnamed) {
      const json::Object &weight = *value.getAsObject();
      row({flat(weight.get("name")), flat(weight.get("shape")),
           flat(weight.get("bytes"))});
    }
  }
  section("collectives");
  headings = {"kind",          "axes",       "group",  "dtype",
              "payload bytes", "ring bytes", "module", "at",
              "wire bytes",    "count",      "us"};
  if (haveEntries)
    headings.push_back("entry");
  headings.push_back("reason");
  row(headings);
  for (const json::Value &value : *report.getArray("collectives")) {
    const json::Object &entry = *value.getAsObject();
    Cells cells;
    for (const char *key : {"kind", "axes", "group", "dtype", "payload_bytes",
                            "ring_bytes_per_rank", "module", "loc",
                            "wire_bytes", "count", "time_us"})
      cells.push_back(flat(entry.get(key)));
    if (haveEntries)
      cells.push_back(flat(entry.get("entry")));
    cells.push_back(flat(entry.get("reason")));
    row(std::move(cells));
  }
  section("collectives by kind");
  row({"kind", "count", "payload bytes", "ring bytes per rank"});
  for (const auto &[kind, total] : totals(report))
    row({kind, std::to_string(total.count), std::to_string(total.payload),
         std::to_string(total.ring)});
  if (const json::Array *trees = report.getArray("modules")) {
    section("collectives by module");
    for (Cells &line : communicationLines(*trees))
      row(std::move(line));
  }
  section("memory per rank, in bytes");
  const json::Object &memory = *report.getObject("memory");
  Cells names{"weights", "arena", "peak live", "of hardware"};
  Cells bytes{flat(memory.get("weights")), flat(memory.get("arena")),
              flat(memory.get("peak_live")), flat(memory.get("of_hardware"))};
  if (const json::Value *carried = memory.get("carried")) {
    names.push_back("carried by loops");
    bytes.push_back(flat(carried));
  }
  row(std::move(names));
  row(std::move(bytes));
  section("cost of a step by the model, in microseconds");
  row({"communication", "matrix products", "hardware"});
  const json::Object &cost = *report.getObject("cost");
  row({flat(cost.get("comm_us")), flat(cost.get("compute_us")),
       flat(cost.get("hardware"))});
}

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

/// Spaces at the start of a cell are a module's depth.
std::string indented(StringRef cell) {
  StringRef text = cell.ltrim(' ');
  std::string result;
  for (size_t i = text.size(); i < cell.size(); ++i)
    result += "&nbsp;";
  return result + text.str();
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
        os << (i == 0 ? "<th>" : "<td>") << indented(escaped(cell));
      os << "\n";
    }
    os << "</table>\n";
  }
}
