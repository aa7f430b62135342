//===- ManifestReader.cpp - JSON to manifest ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"
#include "tp/Runtime/Manifest.h"
#include <algorithm>

using namespace tp::runtime;

namespace {

constexpr int64_t maxRanks = 4096;

/// Looks `text` up in the spellings of an enumeration of `count` values.
template <typename Enum>
Enum readEnum(const JsonReader &reader, int count, const char *what) {
  std::string text = reader.text();
  std::string known;
  for (int i = 0; i < count; ++i) {
    if (text == spelling(Enum(i)))
      return Enum(i);
    known += std::string(i ? " " : "") + spelling(Enum(i));
  }
  reader.error(std::string("unknown ") + what + " '" + text +
               "', expected one of: " + known);
  return Enum(0);
}

DataType readDataType(const JsonReader &reader) {
  return readEnum<DataType>(reader, numDataTypes, "dtype");
}

std::vector<Box> readBoxes(const JsonReader &reader) {
  std::vector<Box> boxes;
  for (const JsonReader &element : reader.elements()) {
    Box &box = boxes.emplace_back();
    box.global = element.at("global").integers();
    box.local = element.at("local").integers();
    box.size = element.at("size").integers();
  }
  return boxes;
}

Port readPort(const JsonReader &reader) {
  Port port;
  port.name = reader.at("name").text();
  port.kind = reader.at("kind").text();
  port.shape = reader.at("shape").integers();
  port.dtype = readDataType(reader.at("dtype"));
  port.layout = reader.textOr("layout", "");
  port.localShape = reader.at("local_shape").integers();
  for (const JsonReader &boxes : reader.at("parts").elements())
    port.boxes.push_back(readBoxes(boxes));
  if (auto unit = reader.find("unit"))
    port.unit = unit->integers(1);
  if (auto keys = reader.find("source_keys"))
    port.sourceKeys = keys->texts();
  if (auto alias = reader.find("alias_of"))
    port.aliasOf = alias->integer();
  if (auto dead = reader.find("dead"))
    port.dead = dead->boolean();
  if (auto storage = reader.find("storage"))
    if (auto permutation = storage->find("permutation"))
      port.permutation = permutation->integers();
  if (port.permutation.empty())
    for (size_t i = 0; i < port.shape.size(); ++i)
      port.permutation.push_back(i);
  return port;
}

Collective readCollective(const JsonReader &reader, bool cuda) {
  Collective collective;
  collective.id = reader.at("id").integer();
  collective.kind =
      readEnum<CollectiveKind>(reader.at("kind"), numCollectiveKinds, "kind");
  collective.group = reader.at("group").integer();
  if (auto axes = reader.find("axes"))
    collective.axes = axes->texts();
  collective.dtype = readDataType(reader.at("dtype"));
  if (collective.reduces())
    collective.reduction =
        readEnum<Reduction>(reader.at("reduction"), 5, "reduction");
  collective.payloadBytes = reader.at("payload_bytes").integer();
  collective.wireBytes = reader.at("wire_bytes").integer();
  collective.ringBytes = reader.at("ring_bytes_per_rank").integer();
  collective.count = reader.integerOr("count", 1);
  // A library of a device chooses the order by topology and size.
  const char *expected = cuda ? "library" : "rank";
  if (auto order = reader.find("order"); order && order->text() != expected)
    order->error(std::string("expected the reduction order '") + expected +
                 "' of a " + (cuda ? "cuda" : "CPU") + " target, got '" +
                 order->text() + "'");
  collective.module = reader.textOr("module", "");
  collective.location = reader.textOr("location", "");
  collective.reason = reader.textOr("reason", "");
  return collective;
}

BufferRef readBuffer(const JsonReader &reader) {
  BufferRef buffer;
  std::string space = reader.at("space").text();
  const char *names[numSpaces] = {"argument", "result", "arena", "constant"};
  const auto *found = std::find(names, names + numSpaces, space);
  if (found == names + numSpaces)
    reader.error("unknown buffer space '" + space +
                 "', expected one of: argument result arena constant");
  else
    buffer.space = Space(found - names);
  if (buffer.space == Space::Argument || buffer.space == Space::Result)
    buffer.index = reader.at("index").integer();
  buffer.offset = reader.at("offset").integer();
  return buffer;
}

BufferAccess readAccess(const JsonReader &reader) {
  BufferAccess access;
  if (auto bytes = reader.find("bytes"))
    access.bytes = bytes->integer();
  if (auto how = reader.find("access")) {
    std::string text = how->text();
    access.reads = text != "write";
    access.writes = text != "read";
    if (text != "read" && text != "write" && text != "read_write")
      how->error("expected read, write or read_write, got '" + text + "'");
  }
  return access;
}

void readLaunch(const JsonReader &reader, Launch &launch) {
  for (auto [key, sizes] :
       {std::pair("grid", &launch.grid), std::pair("block", &launch.block)}) {
    std::vector<int64_t> given = reader.at(key).integers(1);
    if (given.size() != sizes->size())
      reader.at(key).error("expected 3 sizes, got " +
                           std::to_string(given.size()));
    else
      std::copy(given.begin(), given.end(), sizes->begin());
  }
  launch.sharedBytes = reader.integerOr("shared_bytes", 0);
  launch.flops = reader.integerOr("flops", 0);
  launch.bytes = reader.integerOr("bytes", 0);
  for (const JsonReader &buffer : reader.at("buffers").elements())
    launch.accesses.push_back(readAccess(buffer));
}

GemmOperand readOperand(const JsonReader &reader) {
  GemmOperand operand;
  operand.buffer = readBuffer(reader.at("buffer"));
  operand.ld = reader.at("ld").integer();
  if (auto transpose = reader.find("transpose"))
    operand.transpose = transpose->boolean();
  if (auto strides = reader.find("batch_strides"))
    operand.batchStrides = strides->integers();
  return operand;
}

/// One number for all ranks, or a list of one for each.
void readK(const JsonReader &reader, GemmCommand &gemm) {
  if (!reader.isArray()) {
    gemm.k = reader.integer();
    return;
  }
  gemm.kOfRank = reader.integers();
  if (gemm.kOfRank.empty())
    reader.error("expected an integer, or one for each rank, got []");
  for (int64_t k : gemm.kOfRank)
    gemm.k = std::max(gemm.k, k);
}

/// What a product does besides multiplying.
void readEpilogue(const JsonReader &reader, bool cuda, GemmCommand &gemm) {
  for (const char *key : {"residual", "bias", "activation"})
    if (auto value = cuda ? std::nullopt : reader.find(key))
      value->error("a gemm of a cuda target alone has it");
  if (reader.failed())
    return;
  if (auto residual = reader.find("residual"))
    gemm.residual = readOperand(*residual);
  if (auto bias = reader.find("bias"))
    gemm.bias = readBuffer(bias->at("buffer"));
  if (auto activation = reader.find("activation"))
    gemm.activation =
        readEnum<Activation>(*activation, numActivations, "activation");
}

/// A bound on j - i, which may be negative; nothing where there is none.
std::optional<int64_t> readBound(const JsonReader &reader, const char *key) {
  if (auto bound = reader.find(key))
    return bound->integer(-JsonReader::maxInteger);
  return std::nullopt;
}

template <size_t N>
void readStrides(const JsonReader &reader, std::array<int64_t, N> &strides) {
  std::vector<int64_t> given = reader.at("strides").integers();
  if (given.size() == N)
    std::copy(given.begin(), given.end(), strides.begin());
  else
    reader.at("strides").error("expected " + std::to_string(N) +
                               " strides, got " + std::to_string(given.size()));
}

Command readCommand(const JsonReader &reader, bool cuda);

AttentionCommand readAttention(const JsonReader &reader) {
  AttentionCommand attention;
  attention.dtype = readDataType(reader.at("dtype"));
  for (auto [key, size] : {std::pair("batch", &attention.batch),
                           std::pair("heads", &attention.heads),
                           std::pair("kv_heads", &attention.kvHeads),
                           std::pair("queries", &attention.queries),
                           std::pair("keys", &attention.keys),
                           std::pair("head_size", &attention.headSize),
                           std::pair("value_size", &attention.valueSize)})
    *size = reader.at(key).integer(1, INT32_MAX);
  attention.scale = reader.at("scale").number();
  attention.lower = readBound(reader, "lower");
  attention.upper = readBound(reader, "upper");
  if (auto rows = reader.find("empty_rows")) {
    std::string text = rows->text();
    if (text != "zero" && text != "nan")
      rows->error("expected zero or nan, got '" + text + "'");
    attention.emptyRows = text == "zero" ? EmptyRows::Zero : EmptyRows::NaN;
  }
  for (auto [key, operand] :
       {std::pair("q", &attention.q), std::pair("k", &attention.k),
        std::pair("v", &attention.v), std::pair("o", &attention.o)}) {
    operand->buffer = readBuffer(reader.at(key).at("buffer"));
    readStrides(reader.at(key), operand->strides);
  }
  if (auto bias = reader.find("bias")) {
    attention.bias.emplace();
    attention.bias->buffer = readBuffer(bias->at("buffer"));
    attention.bias->dtype = readDataType(bias->at("dtype"));
    readStrides(*bias, attention.bias->strides);
  }
  attention.flops = reader.integerOr("flops", 0);
  attention.bytes = reader.integerOr("bytes", 0);
  for (const JsonReader &step : reader.at("steps").elements()) {
    std::string name = step.at("command").text();
    if (name == "kernel" || name == "gemm")
      attention.steps.push_back(readCommand(step, /*cuda=*/true));
    else
      step.error("expected a kernel or a gemm, got '" + name + "'");
  }
  return attention;
}

Command readCommand(const JsonReader &reader, bool cuda) {
  Command command;
  command.module = reader.textOr("module", "");
  command.location = reader.textOr("location", "");
  std::string name = reader.at("command").text();
  if (name == "kernel") {
    KernelCommand kernel;
    kernel.function = reader.at("function").text();
    for (const JsonReader &buffer : reader.at("buffers").elements())
      kernel.buffers.push_back(readBuffer(buffer));
    if (cuda)
      readLaunch(reader, kernel.launch);
    command.what = std::move(kernel);
  } else if (name == "gemm") {
    GemmCommand gemm;
    JsonReader dtype = reader.at("dtype");
    gemm.tf32 = cuda && !reader.failed() && dtype.text() == "tf32";
    if (!gemm.tf32)
      gemm.dtype = readDataType(dtype);
    gemm.cDtype = gemm.dtype;
    if (auto type = cuda ? reader.find("c_dtype") : std::nullopt)
      gemm.cDtype = readDataType(*type);
    gemm.m = reader.at("m").integer();
    gemm.n = reader.at("n").integer();
    readK(reader.at("k"), gemm);
    if (auto alpha = reader.find("alpha"))
      gemm.alpha = alpha->number();
    if (auto beta = reader.find("beta"))
      gemm.beta = beta->number();
    gemm.a = readOperand(reader.at("a"));
    gemm.b = readOperand(reader.at("b"));
    gemm.c = readOperand(reader.at("c"));
    if (auto batch = reader.find("batch"))
      gemm.batch = batch->integers();
    readEpilogue(reader, cuda, gemm);
    command.what = std::move(gemm);
  } else if (name == "collective") {
    CollectiveCommand collective;
    collective.collective = reader.at("id").integer();
    collective.input = readBuffer(reader.at("input"));
    collective.output = readBuffer(reader.at("output"));
    collective.outer = reader.integerOr("outer", 1);
    collective.block = reader.at("block").integer();
    if (auto sources = reader.find("sources"))
      collective.sources = sources->integers();
    command.what = std::move(collective);
  } else if (name == "attention" && cuda) {
    command.what = readAttention(reader);
  } else {
    reader.error("unknown command '" + name +
                 "', expected one of: kernel gemm collective" +
                 (cuda ? " attention" : ""));
  }
  return command;
}

/// Ids are names; everywhere else positions are used.
template <typename Row>
void resolveId(int64_t &reference, const std::vector<Row> &rows,
               const char *what, Status &status) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].id == reference) {
      reference = i;
      return;
    }
  if (status.ok())
    status = formatError(std::string("no ") + what + " has the id " +
                         std::to_string(reference));
}

Status read(const JsonReader &root, Status &status, Manifest &manifest) {
  if (int64_t version = root.at("version").integer(); version != 1)
    root.at("version").error("expected version 1, got " +
                             std::to_string(version));
  manifest.producer = root.textOr("producer", "");
  JsonReader target = root.at("target");
  manifest.targetKind = target.at("kind").text();
  bool cuda = manifest.isCuda();
  if (!root.failed() && manifest.targetKind != "cpu" && !cuda)
    return unsupported("the artifact is for target '" + manifest.targetKind +
                       "', this runtime has 'cpu' and 'cuda'");
  if (cuda)
    manifest.chips = target.at("chips").texts();
  manifest.targetTriple = target.textOr("triple", "");
  manifest.targetCpu = target.textOr("cpu", "");
  if (auto features = target.find("features"))
    manifest.targetFeatures = features->texts();
  manifest.entry = root.textOr("entry", "main");
  JsonReader mesh = root.at("mesh");
  for (const JsonReader &axis : mesh.at("axes").elements())
    manifest.axes.push_back(
        {axis.at("name").text(), axis.at("size").integer(1, maxRanks)});
  if (auto order = mesh.find("device_order"))
    manifest.deviceOrder = order->integers(0, maxRanks);
  for (const JsonReader &port : root.at("arguments").elements())
    manifest.arguments.push_back(readPort(port));
  for (const JsonReader &port : root.at("results").elements())
    manifest.results.push_back(readPort(port));
  for (const JsonReader &reader : root.at("groups").elements()) {
    RankGroup &group = manifest.groups.emplace_back();
    group.id = reader.at("id").integer();
    if (auto axes = reader.find("axes"))
      group.axes = axes->texts();
    for (const JsonReader &ranks : reader.at("ranks").elements())
      group.ranks.push_back(ranks.integers(0, maxRanks));
  }
  for (const JsonReader &reader : root.at("collectives").elements()) {
    Collective collective = readCollective(reader, cuda);
    resolveId(collective.group, manifest.groups, "group", status);
    manifest.collectives.push_back(std::move(collective));
  }
  if (auto asserts = root.find("asserts"))
    for (const JsonReader &reader : asserts->elements())
      manifest.asserts.push_back(
          {reader.at("id").integer(1, INT32_MAX), reader.textOr("message", ""),
           reader.textOr("module", ""), reader.textOr("location", "")});
  JsonReader memory = root.at("memory");
  manifest.memory.arenaBytes = memory.at("arena_bytes").integer();
  manifest.memory.peakLiveBytes = memory.integerOr("peak_live_bytes", 0);
  manifest.memory.weightsBytes = memory.integerOr("weights_bytes", 0);
  manifest.memory.constantsBytes = memory.integerOr("constants_bytes", 0);
  manifest.memory.scratchBytes = memory.integerOr("scratch_bytes", 0);
  for (const JsonReader &reader : root.at("program").elements()) {
    Command command = readCommand(reader, cuda);
    if (auto *call = std::get_if<CollectiveCommand>(&command.what)) {
      resolveId(call->collective, manifest.collectives, "collective", status);
      if (status.ok()) {
        const Collective &row = manifest.collectives[call->collective];
        command.module = row.module;
        command.location = row.location;
      }
    }
    manifest.program.push_back(std::move(command));
  }
  return status;
}

} // namespace

Status tp::runtime::parseManifest(std::string_view text, int64_t constantBytes,
                                  Manifest &manifest) {
  nlohmann::json value;
  Status status = parseJson(text, value);
  Manifest parsed;
  if (status.ok())
    status = read(JsonReader(value, status), status, parsed);
  if (status.ok())
    status = checkManifest(parsed, constantBytes);
  if (!status.ok())
    return status.within("manifest");
  manifest = std::move(parsed);
  return {};
}
