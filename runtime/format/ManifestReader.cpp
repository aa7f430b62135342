//===- ManifestReader.cpp - JSON to manifest ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestReader.h"
#include "ManifestCheck.h"
#include "ManifestDefaults.h"
#include "tp/Runtime/Manifest.h"
#include "tp/Runtime/ShardingPicture.h"
#include <algorithm>
#include <set>

using namespace tp::runtime;

DataType tp::runtime::readDataType(const JsonReader &reader) {
  return readEnum<DataType>(reader, numDataTypes, "dtype");
}

AxisPart tp::runtime::readPart(const JsonReader &reader, const Mesh &mesh) {
  std::vector<JsonReader> of;
  if (!reader.isText())
    of = reader.elements();
  if (!reader.isText() && of.size() != 3)
    reader.error("expected the name of an axis, or its name, a major and a "
                 "size");
  if (reader.failed())
    return {};
  std::string name = of.empty() ? reader.text() : of[0].text();
  auto axis = std::find_if(
      mesh.axes.begin(), mesh.axes.end(),
      [&](const MeshAxis &candidate) { return candidate.name == name; });
  if (axis == mesh.axes.end()) {
    reader.error("the mesh has no axis '" + name + "'");
    return {};
  }
  AxisPart part = mesh.whole(axis - mesh.axes.begin());
  if (of.empty())
    return part;
  int64_t major = of[1].integer(1, Mesh::maxRanks);
  part.size = of[2].integer(1, Mesh::maxRanks);
  if (!reader.failed() && axis->size % (major * part.size))
    reader.error("part " + std::to_string(major) + ":" +
                 std::to_string(part.size) + " does not divide axis '" + name +
                 "' of size " + std::to_string(axis->size));
  part.minor = axis->size / (major * part.size);
  return part;
}

AxisParts tp::runtime::readAxes(const JsonReader &reader, const Mesh &mesh) {
  AxisParts axes;
  for (const JsonReader &part : reader.elements())
    axes.push_back(readPart(part, mesh));
  return axes;
}

namespace {

/// Reads what the mesh, the target and the shared tables give a meaning.
class Reader {
public:
  Reader(const JsonReader &root, Status &status, Manifest &manifest)
      : root(root), status(status), manifest(manifest) {}

  Status read() {
    if (Status refused = checkVersion(); !refused.ok())
      return refused;
    root.only({"version", "producer", "target", "mesh", "arguments", "joined",
               "groups", "asserts", "entries"});
    manifest.producer = root.textOr("producer", "");
    if (Status refused = readTarget(root.at("target")); !refused.ok())
      return refused;
    readMesh(root.at("mesh"));
    if (!status.ok())
      return status;
    // Layouts and groups are read in the terms of the mesh.
    if (std::string wrong = checkMesh(manifest.mesh); !wrong.empty())
      return formatError(wrong);
    for (const JsonReader &port : root.at("arguments").elements())
      manifest.arguments.push_back(readPort(port, defaults::argumentKind));
    if (auto joined = root.find("joined"))
      for (const JsonReader &group : joined->elements())
        manifest.joined.push_back(group.integers());
    for (const JsonReader &reader : root.at("groups").elements())
      manifest.groups.push_back(readGroup(reader));
    if (auto asserts = root.find("asserts"))
      for (const JsonReader &reader : asserts->elements())
        manifest.asserts.push_back(readAssert(reader));
    for (const JsonReader &reader : root.at("entries").elements())
      readEntry(reader, manifest.entries.emplace_back());
    return status;
  }

  /// Of `{"mesh": ..., "port": ...}`.
  Status readPortAlone() {
    root.only({"mesh", "port"});
    readMesh(root.at("mesh"));
    if (!status.ok())
      return status;
    if (std::string wrong = checkMesh(manifest.mesh); !wrong.empty())
      return formatError(wrong);
    // Any port may have an input's layout.
    manifest.arguments.push_back(
        readPort(root.at("port"), defaults::inputKind));
    return status;
  }

private:
  Status checkVersion() {
    JsonReader version = root.at("version");
    int64_t number = version.integer();
    if (root.failed() || number == Manifest::version)
      return status;
    return unsupported(
        "version: expected version " + std::to_string(Manifest::version) +
        ", got " + std::to_string(number) +
        (number < Manifest::version
             ? "; compile the model again with this version of tp-compile"
             : "; use a newer runtime"));
  }

  Status readTarget(const JsonReader &target) {
    std::string kind = target.at("kind").text();
    if (kind == "cuda") {
      target.only({"kind", "chips"});
      manifest.target = CudaTarget{target.at("chips").texts()};
      return status;
    }
    if (!root.failed() && kind != "cpu")
      return unsupported("the artifact is for target '" + kind +
                         "', this runtime has 'cpu' and 'cuda'");
    target.only({"kind", "triple", "cpu", "features"});
    CpuTarget cpu;
    cpu.triple = target.textOr("triple", "");
    cpu.cpu = target.textOr("cpu", "");
    if (auto features = target.find("features"))
      cpu.features = features->texts();
    manifest.target = std::move(cpu);
    return status;
  }

  void readMesh(const JsonReader &mesh) {
    mesh.only({"axes", "device_order"});
    for (const JsonReader &axis : mesh.at("axes").elements()) {
      axis.only({"name", "size"});
      manifest.mesh.axes.push_back(
          {axis.at("name").text(), axis.at("size").integer(1, Mesh::maxRanks)});
    }
    if (auto order = mesh.find("device_order"))
      manifest.mesh.deviceOrder = order->integers(0, Mesh::maxRanks);
  }

  RankGroup readGroup(const JsonReader &reader) {
    reader.only({"id", "axes"});
    return {reader.at("id").integer(),
            readAxes(reader.at("axes"), manifest.mesh)};
  }

  Assert readAssert(const JsonReader &reader) {
    reader.only({"id", "message", "module", "location"});
    return {reader.at("id").integer(1, INT32_MAX), reader.textOr("message", ""),
            reader.textOr("module", ""), reader.textOr("location", "")};
  }

  /// A placement without an axis is on the whole axis of its position.
  PortLayout readLayout(const JsonReader &reader) {
    PortLayout layout = replicatedLayout(manifest.mesh);
    std::vector<JsonReader> entries = reader.elements();
    bool named = !entries.empty() && entries.front().find("axis");
    if (!named && entries.size() != layout.size())
      reader.error("expected a placement for each of the " +
                   std::to_string(layout.size()) + " mesh axes, got " +
                   std::to_string(entries.size()));
    layout.resize(entries.size());
    for (size_t i = 0; i < entries.size() && !reader.failed(); ++i) {
      const JsonReader &entry = entries[i];
      entry.only({"axis", "shard", "unit", "segments", "partial"});
      if (named)
        layout[i].part = readPart(entry.at("axis"), manifest.mesh);
      else if (entry.find("axis"))
        entry.error("expected an axis in all placements or in none");
      auto dim = entry.find("shard");
      if (auto reduction = entry.find("partial")) {
        if (dim)
          entry.error("expected shard or partial, got both");
        layout[i].what = Partial{
            readEnum<Reduction>(*reduction, numReductions, "reduction")};
        continue;
      }
      if (!dim)
        continue;
      Sharded shard;
      shard.dim = dim->integer();
      shard.unit = entry.find("unit") ? entry.at("unit").integer(1) : 1;
      if (auto segments = entry.find("segments"))
        shard.segments = segments->integers(1);
      layout[i].what = std::move(shard);
    }
    return layout;
  }

  WeightSource readSource(const JsonReader &reader, const Port &port) {
    auto keys = reader.find("source_keys");
    auto segments = reader.find("segments");
    if (keys && segments)
      reader.error("expected source_keys or segments, got both");
    if ((keys || segments) && !port.isWeight())
      reader.error("an argument or result of kind '" + port.kind +
                   "' is in no file, got source_keys or segments");
    if (keys)
      return WholeSource{keys->texts()};
    if (!segments)
      return defaultSource(port);
    JoinedSource joined;
    for (const JsonReader &segment : segments->elements()) {
      segment.only({"source_keys", "shape", "offset"});
      joined.segments.push_back({segment.at("source_keys").texts(),
                                 segment.at("shape").integers(),
                                 segment.at("offset").integers()});
    }
    return joined;
  }

  /// Of a result of an entry with these arguments.
  std::optional<Update> readUpdate(const JsonReader &reader,
                                   const std::vector<Port> &arguments) {
    auto updates = reader.find("updates");
    if (!updates)
      return std::nullopt;
    Update update;
    Status found =
        findPort(arguments, updates->text(), "argument", update.argument);
    if (!found.ok())
      updates->error(found.message());
    update.inPlace = reader.booleanOr("in_place", false);
    update.reason = reader.textOr("reason", "");
    if (auto bytes = reader.find("written_bytes"))
      update.writtenBytes = bytes->integer();
    return update;
  }

  /// `arguments` are those that a result may update.
  Port readPort(const JsonReader &reader, const char *kind,
                const std::vector<Port> &arguments = {}) {
    bool isResult = kind == defaults::resultKind;
    Port port;
    port.name = reader.at("name").text();
    port.kind = reader.textOr("kind", kind);
    port.shape = reader.at("shape").integers();
    port.dtype = readDataType(reader.at("dtype"));
    auto layout = reader.find("layout");
    port.layout =
        layout ? readLayout(*layout) : replicatedLayout(manifest.mesh);
    port.permutation = defaults::permutation(port.shape.size());
    if (auto storage = reader.find("storage")) {
      storage->only({"permutation"});
      port.permutation = storage->at("permutation").integers();
    }
    if (isResult) {
      reader.only({"name", "kind", "shape", "dtype", "layout", "storage",
                   "updates", "in_place", "reason", "written_bytes"});
      port.update = readUpdate(reader, arguments);
      return port;
    }
    reader.only({"name", "kind", "shape", "dtype", "rounded_from", "layout",
                 "source_keys", "segments", "storage", "dead"});
    port.source = readSource(reader, port);
    if (auto type = reader.find("rounded_from"))
      port.roundedFrom = readDataType(*type);
    port.dead = reader.booleanOr("dead", false);
    return port;
  }

  void readEntry(const JsonReader &reader, Entry &entry) {
    reader.only({"name", "inputs", "signature", "results", "collectives",
                 "memory", "program", "end_waits_for", "agree_at", "part_of",
                 "times", "carried"});
    entry.name = reader.at("name").text();
    for (const JsonReader &port : reader.at("inputs").elements())
      entry.inputs.push_back(readPort(port, defaults::inputKind));
    entry.signature = defaults::signature(manifest, entry);
    if (auto signature = reader.find("signature"))
      entry.signature = signature->integers();
    // Positions are checked when all is read: here a wrong one is left out.
    size_t shared = manifest.arguments.size();
    std::vector<Port> arguments;
    std::set<size_t> seen;
    for (size_t position : entry.signature)
      if (position < shared + entry.inputs.size() &&
          seen.insert(position).second)
        arguments.push_back(position < shared
                                ? manifest.arguments[position]
                                : entry.inputs[position - shared]);
    for (const JsonReader &port : reader.at("results").elements())
      entry.results.push_back(readPort(port, defaults::resultKind, arguments));
    for (const JsonReader &row : reader.at("collectives").elements())
      entry.collectives.push_back(
          readCollective(row, int64_t(entry.collectives.size())));
    readMemory(reader.at("memory"), entry.memory);
    for (const JsonReader &command : reader.at("program").elements())
      entry.program.push_back(readCommand(command, manifest, entry, status));
    if (auto whole = reader.find("part_of"))
      entry.part = EntryPart{whole->integer(), reader.integerOr("times", 1)};
    else if (auto times = reader.find("times"))
      times->error("a part of an entry alone has it");
    if (auto carried = reader.find("carried"))
      for (const JsonReader &value : carried->elements()) {
        value.only({"name", "bytes"});
        entry.carried.push_back(
            {value.at("name").text(), value.at("bytes").integer()});
      }
    if (auto agree = reader.find("agree_at")) {
      if (manifest.isCuda())
        agree->error("an entry of a cpu target alone has it");
      entry.agreeAt = agree->integer();
    }
    if (auto waits = reader.find("end_waits_for")) {
      if (!manifest.isCuda())
        waits->error("an entry of a cuda target alone has it");
      entry.endWaitsFor = waits->integer();
    }
  }

  Collective readCollective(const JsonReader &reader, int64_t position) {
    reader.only({"id", "kind", "group", "dtype", "reduction", "order",
                 "payload_bytes", "wire_bytes", "ring_bytes_per_rank", "count",
                 "module", "location", "reason"});
    Collective collective;
    collective.id = reader.integerOr("id", position);
    collective.kind =
        readEnum<CollectiveKind>(reader.at("kind"), numCollectiveKinds, "kind");
    collective.group = reader.at("group").integer();
    resolveId(collective.group, manifest.groups, "group", status);
    collective.dtype = readDataType(reader.at("dtype"));
    if (collective.reduces())
      collective.reduction = readEnum<Reduction>(reader.at("reduction"),
                                                 numReductions, "reduction");
    collective.wireBytes = reader.at("wire_bytes").integer();
    collective.payloadBytes =
        reader.integerOr("payload_bytes", collective.wireBytes);
    collective.ringBytes = reader.at("ring_bytes_per_rank").integer();
    collective.count = reader.integerOr("count", 1);
    // A library of a device chooses the order by topology and size.
    const char *expected = manifest.isCuda() ? "library" : "rank";
    if (auto order = reader.find("order"); order && order->text() != expected)
      order->error(std::string("expected the reduction order '") + expected +
                   "' of a " + (manifest.isCuda() ? "cuda" : "CPU") +
                   " target, got '" + order->text() + "'");
    collective.module = reader.textOr("module", "");
    collective.location = reader.textOr("location", "");
    collective.reason = reader.textOr("reason", "");
    return collective;
  }

  void readMemory(const JsonReader &reader, MemoryPlan &memory) {
    reader.only({"arena_bytes", "peak_live_bytes", "weights_bytes",
                 "constants_bytes", "scratch_bytes"});
    memory.arenaBytes = reader.at("arena_bytes").integer();
    memory.peakLiveBytes = reader.integerOr("peak_live_bytes", 0);
    memory.weightsBytes = reader.integerOr("weights_bytes", 0);
    memory.constantsBytes = reader.integerOr("constants_bytes", 0);
    memory.scratchBytes = reader.integerOr("scratch_bytes", 0);
  }

  const JsonReader &root;
  Status &status;
  Manifest &manifest;
};

} // namespace

Status tp::runtime::parseManifest(std::string_view text, int64_t constantBytes,
                                  Manifest &manifest) {
  nlohmann::json value;
  Status status = parseJson(text, value);
  Manifest parsed;
  if (status.ok())
    status = Reader(JsonReader(value, status), status, parsed).read();
  if (status.ok())
    status = checkManifest(parsed, constantBytes);
  if (!status.ok())
    return status.within("manifest");
  manifest = std::move(parsed);
  return {};
}

Status tp::runtime::parsePort(std::string_view json, Mesh &mesh, Port &port) {
  nlohmann::json value;
  Status status = parseJson(json, value);
  Manifest parsed;
  if (status.ok())
    status = Reader(JsonReader(value, status), status, parsed).readPortAlone();
  if (!status.ok())
    return status;
  mesh = std::move(parsed.mesh);
  port = std::move(parsed.arguments.front());
  if (std::string wrong = checkPort(port, mesh); !wrong.empty())
    return formatError(wrong);
  return {};
}
