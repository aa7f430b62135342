//===- CommandReader.cpp - commands of a manifest -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallAttributes.h"
#include "ManifestReader.h"
#include <algorithm>

using namespace tp::runtime;

namespace {

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

EmptyRows readEmptyRows(const JsonReader &reader) {
  std::string text = reader.text();
  for (EmptyRows rows : {EmptyRows::Zero, EmptyRows::NaN})
    if (text == spelling(rows))
      return rows;
  reader.error("expected zero or nan, got '" + text + "'");
  return EmptyRows::None;
}

template <size_t N>
void readSizes(const JsonReader &reader, const char *what, int64_t least,
               std::array<int64_t, N> &sizes) {
  std::vector<int64_t> given = reader.integers(least);
  if (given.size() == N)
    std::copy(given.begin(), given.end(), sizes.begin());
  else
    reader.error("expected " + std::to_string(N) + " " + what + ", got " +
                 std::to_string(given.size()));
}

/// A bound on j - i, which may be negative; nothing where there is none.
std::optional<int64_t> readBound(const JsonReader &reader, const char *key) {
  if (auto bound = reader.find(key))
    return bound->integer(-JsonReader::maxInteger);
  return std::nullopt;
}

class CommandReader {
public:
  CommandReader(const Manifest &manifest, const Entry &entry, Status &status)
      : manifest(manifest), entry(entry), status(status) {}

  BufferRef readBufferMembers(const JsonReader &reader) {
    BufferRef buffer;
    buffer.space =
        readEnum<Space>(reader.at("space"), numSpaces, "buffer space");
    if (buffer.space == Space::Argument || buffer.space == Space::Result ||
        buffer.space == Space::Carried)
      buffer.index = reader.integerOr("index", 0);
    buffer.offset = reader.integerOr("offset", 0);
    return buffer;
  }

  BufferRef readBuffer(const JsonReader &reader) {
    reader.only({"space", "index", "offset"});
    return readBufferMembers(reader);
  }

  /// Which queue runs the command, and what it waits for.
  void readQueue(const JsonReader &reader, bool isStep, Command &command) {
    for (const char *key : {"queue", "wait_for", "with_previous"})
      if (auto value = reader.find(key); value && !manifest.isCuda())
        value->error("a command of a cuda target alone has it");
      else if (value && isStep)
        value->error("a step runs in the queue of its attention");
    if (auto queue = reader.find("queue"))
      command.queue = readEnum<Queue>(*queue, numQueues, "queue");
    if (auto other = reader.find("wait_for"))
      command.waitFor = other->integer();
    command.withPrevious = reader.booleanOr("with_previous", false);
  }

  Command read(const JsonReader &reader, bool isStep = false) {
    Command command;
    readQueue(reader, isStep, command);
    std::string name = reader.at("command").text();
    if (name == "collective") {
      CollectiveCommand collective = readCollectiveCommand(reader);
      if (status.ok()) {
        const Collective &row = entry.collectives[collective.collective];
        command.module = row.module;
        command.location = row.location;
      }
      command.what = std::move(collective);
      return command;
    }
    command.module = reader.textOr("module", "");
    command.location = reader.textOr("location", "");
    if (name == "kernel")
      command.what = readKernel(reader);
    else if (name == "gemm")
      command.what = readGemm(reader);
    else if (name == "attention")
      command.what = readAttention(reader);
    else if (name == "attention_backward")
      command.what = readAttentionBackward(reader);
    else if (name == "call")
      command.what = readCall(reader);
    else
      reader.error("unknown command '" + name +
                   "', expected one of: kernel gemm collective attention "
                   "attention_backward call");
    return command;
  }

  CollectiveCommand readCollectiveCommand(const JsonReader &reader) {
    reader.only({"command", "id", "input", "output", "outer", "block",
                 "sources", "queue", "wait_for", "with_previous"});
    CollectiveCommand collective;
    collective.collective = reader.at("id").integer();
    resolveId(collective.collective, entry.collectives, "collective", status);
    collective.input = readBuffer(reader.at("input"));
    collective.output = readBuffer(reader.at("output"));
    collective.outer = reader.integerOr("outer", 1);
    collective.block = reader.at("block").integer();
    if (auto sources = reader.find("sources"))
      collective.sources = sources->integers();
    return collective;
  }

  KernelCommand readKernel(const JsonReader &reader) {
    KernelCommand kernel;
    kernel.function = reader.at("function").text();
    bool launched = manifest.isCuda();
    if (launched) {
      reader.only({"command", "function", "grid", "block", "shared_bytes",
                   "flops", "bytes", "buffers", "module", "location", "queue",
                   "wait_for", "with_previous"});
      readSizes(reader.at("grid"), "sizes", 1, kernel.launch.grid);
      readSizes(reader.at("block"), "sizes", 1, kernel.launch.block);
      kernel.launch.sharedBytes = reader.integerOr("shared_bytes", 0);
      kernel.launch.flops = reader.integerOr("flops", 0);
      kernel.launch.bytes = reader.integerOr("bytes", 0);
    } else {
      reader.only({"command", "function", "buffers", "module", "location"});
    }
    for (const JsonReader &buffer : reader.at("buffers").elements()) {
      if (launched) {
        buffer.only({"space", "index", "offset", "bytes", "access"});
        kernel.launch.accesses.push_back(readAccess(buffer));
      } else {
        buffer.only({"space", "index", "offset"});
      }
      kernel.buffers.push_back(readBufferMembers(buffer));
    }
    return kernel;
  }

  GemmOperand readOperand(const JsonReader &reader) {
    reader.only({"buffer", "ld", "transpose", "batch_strides"});
    GemmOperand operand;
    operand.buffer = readBuffer(reader.at("buffer"));
    operand.ld = reader.at("ld").integer();
    operand.transpose = reader.booleanOr("transpose", false);
    if (auto strides = reader.find("batch_strides"))
      operand.batchStrides = strides->integers();
    return operand;
  }

  /// One number for all ranks, or a size for each position along some axes;
  /// `most` is the largest.
  void readSize(const JsonReader &reader, int64_t &most,
                std::optional<ShortenedK> &shortened) {
    if (!reader.isObject()) {
      most = reader.integer();
      return;
    }
    reader.only({"axes", "sizes"});
    shortened = {readAxes(reader.at("axes"), manifest.mesh),
                 reader.at("sizes").integers()};
    if (shortened->sizes.empty())
      reader.error("expected the size of every position, got none");
    for (int64_t size : shortened->sizes)
      most = std::max(most, size);
  }

  std::vector<CallTensor> readTensors(const JsonReader &reader) {
    std::vector<CallTensor> tensors;
    for (const JsonReader &element : reader.elements()) {
      element.only({"buffer", "dtype", "sizes", "strides"});
      CallTensor &tensor = tensors.emplace_back();
      tensor.buffer = readBuffer(element.at("buffer"));
      tensor.dtype = readDataType(element.at("dtype"));
      for (const JsonReader &size : element.at("sizes").elements()) {
        CallSize &read = tensor.sizes.emplace_back();
        readSize(size, read.most, read.shortened);
      }
      tensor.strides = element.at("strides").integers();
    }
    return tensors;
  }

  CallCommand readCall(const JsonReader &reader) {
    reader.only({"command", "op", "inputs", "outputs", "attributes", "module",
                 "location", "queue", "wait_for", "with_previous"});
    CallCommand call;
    call.op = reader.at("op").text();
    call.inputs = readTensors(reader.at("inputs"));
    call.outputs = readTensors(reader.at("outputs"));
    if (auto attributes = reader.find("attributes"))
      for (const JsonReader &attribute : attributes->elements())
        call.attributes.push_back(readAttribute(attribute));
    return call;
  }

  GemmCommand readGemm(const JsonReader &reader) {
    bool cuda = manifest.isCuda();
    reader.only({"command",    "dtype", "b_dtype",  "c_dtype",      "m",
                 "n",          "k",     "alpha",    "beta",         "a",
                 "b",          "c",     "batch",    "residual",     "bias",
                 "activation", "rows",  "terms",    "lookup",       "module",
                 "location",   "queue", "wait_for", "with_previous"});
    for (const char *key : {"residual", "bias", "activation"})
      if (auto value = cuda ? std::nullopt : reader.find(key))
        value->error("a gemm of a cuda target alone has it");
    GemmCommand gemm;
    JsonReader dtype = reader.at("dtype");
    gemm.tf32 = cuda && !reader.failed() && dtype.text() == "tf32";
    if (!gemm.tf32)
      gemm.dtype = readDataType(dtype);
    gemm.bDtype = gemm.cDtype = gemm.dtype;
    if (auto type = reader.find("b_dtype")) {
      gemm.bDtype = readDataType(*type);
      if (cuda)
        type->error("a gemm of a cpu target alone has it");
    }
    if (auto type = reader.find("c_dtype"))
      gemm.cDtype = readDataType(*type);
    gemm.m = reader.at("m").integer();
    gemm.n = reader.at("n").integer();
    readSize(reader.at("k"), gemm.k, gemm.shortened);
    gemm.alpha = reader.numberOr("alpha", 1);
    gemm.beta = reader.numberOr("beta", 0);
    gemm.a = readOperand(reader.at("a"));
    gemm.b = readOperand(reader.at("b"));
    gemm.c = readOperand(reader.at("c"));
    if (auto batch = reader.find("batch"))
      gemm.batch = batch->integers();
    if (auto residual = reader.find("residual"))
      gemm.residual = readOperand(*residual);
    if (auto bias = reader.find("bias")) {
      bias->only({"buffer"});
      gemm.bias = readBuffer(bias->at("buffer"));
    }
    if (auto activation = reader.find("activation"))
      gemm.activation =
          readEnum<Activation>(*activation, numActivations, "activation");
    for (auto [key, to] :
         {std::pair("rows", &gemm.rows), std::pair("terms", &gemm.terms)})
      if (auto mask = reader.find(key)) {
        mask->only({"buffer", "strides"});
        *to = {readBuffer(mask->at("buffer")), mask->at("strides").integers()};
        if (cuda)
          mask->error("a gemm of a cpu target alone has it");
      }
    if (auto lookup = reader.find("lookup")) {
      lookup->only({"buffer", "strides", "step", "count"});
      gemm.lookup = {
          readBuffer(lookup->at("buffer")), lookup->at("strides").integers(),
          lookup->at("step").integer(), lookup->at("count").integer()};
      if (cuda)
        lookup->error("a gemm of a cpu target alone has it");
    }
    return gemm;
  }

  AttentionOperand readTensor(const JsonReader &reader) {
    reader.only({"buffer", "strides"});
    AttentionOperand operand;
    operand.buffer = readBuffer(reader.at("buffer"));
    readSizes(reader.at("strides"), "strides", 0, operand.strides);
    return operand;
  }

  void readWeights(const JsonReader &reader, AttentionWeights &weights) {
    weights.dtype = readDataType(reader.at("dtype"));
    for (auto [key, size] : {std::pair("batch", &weights.batch),
                             std::pair("heads", &weights.heads),
                             std::pair("kv_heads", &weights.kvHeads),
                             std::pair("queries", &weights.queries),
                             std::pair("keys", &weights.keys),
                             std::pair("head_size", &weights.headSize),
                             std::pair("value_size", &weights.valueSize)})
      *size = reader.at(key).integer(1, INT32_MAX);
    weights.scale = reader.at("scale").number();
    weights.lower = readBound(reader, "lower");
    weights.upper = readBound(reader, "upper");
    weights.q = readTensor(reader.at("q"));
    weights.k = readTensor(reader.at("k"));
    weights.v = readTensor(reader.at("v"));
    if (auto bias = reader.find("bias")) {
      bias->only({"buffer", "dtype", "strides"});
      weights.bias.emplace();
      weights.bias->buffer = readBuffer(bias->at("buffer"));
      weights.bias->dtype = readDataType(bias->at("dtype"));
      readSizes(bias->at("strides"), "strides", 0, weights.bias->strides);
    }
  }

  AttentionBackwardCommand readAttentionBackward(const JsonReader &reader) {
    reader.only({"command",    "dtype",
                 "batch",      "heads",
                 "kv_heads",   "queries",
                 "keys",       "head_size",
                 "value_size", "scale",
                 "lower",      "upper",
                 "q",          "k",
                 "v",          "bias",
                 "go",         "lse",
                 "delta",      "gq",
                 "gk",         "gradient_dtype",
                 "gv",         "onto",
                 "flops",      "bytes",
                 "module",     "location"});
    AttentionBackwardCommand command;
    readWeights(reader, command);
    command.gradientType = readDataType(reader.at("gradient_dtype"));
    for (const auto &[name, operand] : AttentionBackwardCommand::operands)
      command.*operand = readTensor(reader.at(name));
    command.onto = readOnto(reader);
    command.flops = reader.integerOr("flops", 0);
    command.bytes = reader.integerOr("bytes", 0);
    return command;
  }

  std::optional<BufferRef> readOnto(const JsonReader &reader) {
    auto onto = reader.find("onto");
    if (!onto)
      return std::nullopt;
    onto->only({"buffer"});
    return readBuffer(onto->at("buffer"));
  }

  AttentionCommand readAttention(const JsonReader &reader) {
    reader.only({"command",    "dtype",   "batch",    "heads",
                 "kv_heads",   "queries", "keys",     "head_size",
                 "value_size", "scale",   "lower",    "upper",
                 "empty_rows", "q",       "k",        "v",
                 "o",          "bias",    "partial",  "onto",
                 "flops",      "bytes",   "steps",    "module",
                 "location",   "queue",   "wait_for", "with_previous"});
    AttentionCommand attention;
    readWeights(reader, attention);
    if (auto rows = reader.find("empty_rows"))
      attention.emptyRows = readEmptyRows(*rows);
    attention.o = readTensor(reader.at("o"));
    attention.isPartial = reader.booleanOr("partial", false);
    attention.onto = readOnto(reader);
    attention.flops = reader.integerOr("flops", 0);
    attention.bytes = reader.integerOr("bytes", 0);
    for (const JsonReader &step : reader.at("steps").elements()) {
      std::string name = step.at("command").text();
      if (name == "kernel" || name == "gemm")
        attention.steps.push_back(read(step, /*isStep=*/true));
      else
        step.error("expected a kernel or a gemm, got '" + name + "'");
    }
    return attention;
  }

private:
  const Manifest &manifest;
  const Entry &entry;
  Status &status;
};

} // namespace

Command tp::runtime::readCommand(const JsonReader &reader,
                                 const Manifest &manifest, const Entry &entry,
                                 Status &status) {
  return CommandReader(manifest, entry, status).read(reader);
}
