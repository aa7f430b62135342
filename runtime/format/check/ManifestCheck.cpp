//===- ManifestCheck.cpp - consistency of a manifest ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace tp::runtime;

namespace {

/// One entry of a manifest whose shared tables hold.
class ManifestChecker : public Finder {
public:
  ManifestChecker(const Manifest &manifest, const Entry &entry,
                  int64_t constantBytes)
      : stored(entry), entry(manifest, entry), constantBytes(constantBytes) {
    // One entry is what most artifacts have: its name would say nothing.
    if (manifest.entries.size() > 1)
      where = "entry '" + entry.name + "'";
  }

  Status check() {
    checkPorts(stored.inputs, entry.mesh, "input");
    checkPorts(entry.results, entry.mesh, "result");
    checkUpdates();
    checkIds(entry.collectives, "collectives");
    checkReductions();
    if (status.ok())
      checkMemory();
    std::string outer = where;
    for (size_t i = 0; i < entry.program.size() && status.ok(); ++i) {
      where = outer + (outer.empty() ? "" : ", ") + entry.describe(i);
      std::visit([&](const auto &command) { checkCommand(command); },
                 entry.program[i].what);
    }
    return status.ok() ? checkQueues(entry, outer) : status;
  }

private:
  /// A result that updates an argument is laid out and stored as that is.
  void checkUpdates() {
    std::set<int64_t> updated;
    for (const Port &result : entry.results) {
      if (!result.update || !status.ok())
        continue;
      const Port &argument = entry.arguments[result.update->argument];
      std::string what =
          "result '" + result.name + "' updates '" + argument.name + "'";
      if (!updated.insert(result.update->argument).second)
        error(what + ", as another result does");
      if (result.shape != argument.shape || result.dtype != argument.dtype)
        error(what + ", which differs in shape or dtype");
      if (argument.roundedFrom)
        error(what + ", which is rounded when it is loaded");
      if (result.layout != argument.layout ||
          result.permutation != argument.permutation)
        error(what + ", which differs in layout or storage");
      if (argument.dead && result.update->inPlace)
        error(what + " in place, which is dead");
      const ArgumentPlace &place = entry.places[result.update->argument];
      if (result.update->inPlace &&
          (place.first != result.update->argument ||
           place.memoryBytes != argument.localBytes()))
        error(what + " in place, which is joined to others");
      if (result.update->inPlace && !result.update->reason.empty())
        error(what + " in place, expected no reason why not");
      if (result.update->writtenBytes &&
          (!result.update->inPlace ||
           *result.update->writtenBytes > argument.localBytes()))
        error(what + ", of which " +
              std::to_string(*result.update->writtenBytes) +
              " bytes are written, expected it in place and at most " +
              std::to_string(argument.localBytes()));
    }
  }

  bool isUpdatedInPlace(int64_t argument) const {
    return std::any_of(entry.results.begin(), entry.results.end(),
                       [&](const Port &result) {
                         return result.update && result.update->inPlace &&
                                result.update->argument == argument;
                       });
  }

  /// Offsets in a rank's memory, and its size times the ranks, must fit.
  void checkMemory() {
    int64_t total = entry.memory.arenaBytes + entry.memory.scratchBytes;
    for (const auto *ports : {&entry.arguments, &entry.results})
      for (const Port &port : *ports)
        if (total <= maxBytes && status.ok())
          total += port.localBytes();
    if (total > maxBytes)
      error("a rank's memory is too large");
  }

  void checkReductions() {
    for (const Collective &collective : entry.collectives) {
      if (!collective.reduces())
        continue;
      if (entry.isCuda())
        errorIf(checkCudaCollective(collective));
      if (std::string wrong =
              whyNotReduced(collective.dtype, collective.reduction);
          !wrong.empty())
        error("collective " + std::to_string(collective.id) + ": " + wrong);
    }
  }

  /// Size in bytes of the space that `buffer` points into; -1 after an error.
  int64_t extent(const BufferRef &buffer) {
    auto port = [&](const std::vector<Port> &ports,
                    const char *side) -> int64_t {
      if (buffer.index >= int64_t(ports.size())) {
        error(std::string("a buffer names ") + side + " " +
              std::to_string(buffer.index) + " of " +
              std::to_string(ports.size()));
        return -1;
      }
      if (ports[buffer.index].dead) {
        error(std::string("a buffer names the dead ") + side + " '" +
              ports[buffer.index].name + "'");
        return -1;
      }
      return ports[buffer.index].localBytes();
    };
    switch (buffer.space) {
    case Space::Argument: {
      int64_t bytes = port(entry.arguments, "argument");
      if (bytes < 0)
        return bytes;
      const ArgumentPlace &place = entry.places[buffer.index];
      if (place.first == buffer.index)
        return place.memoryBytes;
      error("a buffer names the argument '" +
            entry.arguments[buffer.index].name + "', which is joined to '" +
            entry.arguments[place.first].name + "', expected that");
      return -1;
    }
    case Space::Result: {
      int64_t bytes = port(entry.results, "result");
      if (bytes < 0 || !entry.results[buffer.index].isInPlace())
        return bytes;
      error("a buffer names the result '" + entry.results[buffer.index].name +
            "', which is in the memory of an argument, expected that");
      return -1;
    }
    case Space::Arena:
      return entry.memory.arenaBytes;
    case Space::Constant:
      return constantBytes;
    case Space::Carried:
      if (buffer.index < int64_t(entry.carried.size()))
        return entry.carried[buffer.index].bytes;
      error("a buffer names carried value " + std::to_string(buffer.index) +
            " of " + std::to_string(entry.carried.size()));
      return -1;
    }
    return -1;
  }

  void checkRange(const BufferRef &buffer, std::optional<int64_t> bytes,
                  const char *what, bool written = false) {
    int64_t available = extent(buffer);
    if (available < 0)
      return;
    if (written && buffer.space == Space::Constant)
      return error(std::string(what) + " is written but lies in the constants");
    if (written && buffer.space == Space::Argument &&
        !isUpdatedInPlace(buffer.index))
      return error(std::string(what) + " is written but lies in argument '" +
                   entry.arguments[buffer.index].name +
                   "', which no result updates in place");
    if (!bytes || buffer.offset > available ||
        *bytes > available - buffer.offset)
      error(std::string(what) + " needs " +
            (bytes ? std::to_string(*bytes) : "too many") +
            " bytes at offset " + std::to_string(buffer.offset) +
            ", its buffer has " + std::to_string(available));
  }

  void checkCommand(const KernelCommand &command) {
    if (command.function.empty())
      return error("a kernel needs a function");
    if (entry.isCuda())
      errorIf(checkCudaKernel(command));
    // The sizes of its accesses are the compiler's promise.
    for (size_t i = 0; i < command.buffers.size(); ++i) {
      BufferAccess access;
      if (i < command.launch.accesses.size())
        access = command.launch.accesses[i];
      checkRange(command.buffers[i], access.bytes.value_or(0), "a buffer",
                 access.writes && access.bytes);
    }
  }

  /// Whether the CPU multiplies elements of these types. It widens f16 and bf16
  /// that f32 is multiplied by.
  static bool areFactors(DataType a, DataType b) {
    auto isNarrow = [](DataType type) {
      return type == DataType::F16 || type == DataType::BF16;
    };
    return a == b || (a == DataType::F32 && isNarrow(b)) ||
           (isNarrow(a) && b == DataType::F32);
  }

  /// What a product of `type` on the CPU adds in and writes, if it has any.
  static std::optional<DataType> sumType(DataType type) {
    switch (type) {
    case DataType::F64:
      return DataType::F64;
    case DataType::F32:
    case DataType::F16:
    case DataType::BF16:
      return DataType::F32;
    default:
      return std::nullopt;
    }
  }

  void checkCommand(const GemmCommand &command) {
    if (entry.isCuda()) {
      errorIf(checkCudaGemm(command));
    } else if (std::optional<DataType> sum = sumType(command.dtype); !sum) {
      if (status.ok())
        status = unsupported(where + ": dtype " + spelling(command.dtype) +
                             " is not supported, expected f64, f32, f16 or "
                             "bf16");
      return;
    } else if (!areFactors(command.dtype, command.bDtype)) {
      return error(std::string("a gemm of ") + spelling(command.dtype) +
                   " and " + spelling(command.bDtype) +
                   ", expected one type, or f32 and a type of 16 bits");
    } else if (command.cDtype != *sum) {
      return error(std::string("a gemm of ") + spelling(command.dtype) +
                   " writes " + spelling(*sum) + ", got c_dtype " +
                   spelling(command.cDtype));
    }
    if (!std::isfinite(command.alpha) || !std::isfinite(command.beta))
      return error("alpha and beta are finite numbers");
    if (std::max({command.m, command.n, command.k}) > INT32_MAX)
      return error("sizes above 2^31 are not for a BLAS");
    if (command.batch.size() > maxBatchDimensions)
      return error("at most " + std::to_string(maxBatchDimensions) +
                   " batch dimensions, got " +
                   std::to_string(command.batch.size()));
    if (command.shortened && int64_t(command.shortened->sizes.size()) !=
                                 sizeOf(command.shortened->axes))
      return error("k for " + std::to_string(sizeOf(command.shortened->axes)) +
                   " positions expected, got " +
                   std::to_string(command.shortened->sizes.size()));
    checkOperand(command, command.a, command.m, command.k, command.dtype,
                 "operand a");
    checkOperand(command, command.b, command.k, command.n, command.bDtype,
                 "operand b");
    checkOperand(command, command.c, command.m, command.n, command.cDtype,
                 "operand c");
    if (command.c.transpose)
      error("operand c cannot be transposed");
    if (command.residual)
      checkOperand(command, *command.residual, command.m, command.n,
                   command.cDtype, "the residual");
    int64_t size = byteSize(command.cDtype);
    if (command.bias)
      checkRange(*command.bias, product({command.n, size}), "the bias");
    errorIf(checkChoosers(command));
    for (const ReadRange &range : chooserRanges(command))
      checkRange(range.buffer, range.bytes, range.what);
  }

  void checkOperand(const GemmCommand &command, const GemmOperand &operand,
                    int64_t rows, int64_t columns, DataType dtype,
                    const char *what) {
    if (operand.transpose)
      std::swap(rows, columns);
    if (operand.ld < std::max<int64_t>(columns, 1) || operand.ld > INT32_MAX)
      return error(std::string(what) + " has rows of " +
                   std::to_string(columns) + " elements and a leading " +
                   "dimension of " + std::to_string(operand.ld));
    if (operand.batchStrides.size() != command.batch.size())
      return error(std::string(what) + " has " +
                   std::to_string(operand.batchStrides.size()) +
                   " batch strides for " +
                   std::to_string(command.batch.size()) + " batch dimensions");
    bool empty = rows == 0 || columns == 0;
    std::optional<int64_t> last =
        product({std::max<int64_t>(rows, 1) - 1, operand.ld});
    if (last)
      *last += std::max<int64_t>(columns, 1);
    for (size_t i = 0; i < command.batch.size(); ++i) {
      if (command.batch[i] == 0) {
        empty = true;
        continue;
      }
      auto step = product({command.batch[i] - 1, operand.batchStrides[i]});
      if (!step || !last || (*last += *step) > maxBytes)
        last = std::nullopt;
    }
    std::optional<int64_t> bytes = 0;
    if (!empty)
      bytes = last ? product({*last, byteSize(dtype)}) : std::nullopt;
    if (entry.isCuda() && operand.buffer.offset % byteSize(dtype))
      error(std::string(what) + " is not aligned to " +
            std::to_string(byteSize(dtype)) + "-byte elements");
    checkRange(operand.buffer, bytes, what, what == std::string("operand c"));
  }

  void checkCommand(const CollectiveCommand &command) {
    const Collective &row = entry.collectives[command.collective];
    int64_t members = entry.groups[row.group].size();
    int64_t size = byteSize(row.dtype);
    auto once = product({command.outer, command.block, size});
    auto gathered = product({command.outer, command.block, size, members});
    bool wideInput = row.kind == CollectiveKind::ReduceScatter ||
                     row.kind == CollectiveKind::AllToAll;
    bool wideOutput = row.kind == CollectiveKind::AllGather ||
                      row.kind == CollectiveKind::AllToAll;
    auto inputBytes = wideInput ? gathered : once;
    auto outputBytes = wideOutput ? gathered : once;
    checkRange(command.input, inputBytes, "the input");
    checkRange(command.output, outputBytes, "the output", true);
    if (!status.ok())
      return;
    if (command.input.offset % size || command.output.offset % size)
      error("its buffers are not aligned to " + std::to_string(size) +
            "-byte elements");
    bool inPlace = row.kind == CollectiveKind::AllReduce &&
                   command.input.offset == command.output.offset;
    if (!inPlace &&
        overlap(command.input, *inputBytes, command.output, *outputBytes))
      error("its output overlaps its input");
    if (row.kind == CollectiveKind::Permute) {
      if (int64_t(command.sources.size()) != members)
        error("sources for " + std::to_string(members) +
              " positions expected, got " +
              std::to_string(command.sources.size()));
      for (int64_t source : command.sources)
        if (source >= members)
          error("source " + std::to_string(source) + " of a group of " +
                std::to_string(members));
    }
    int64_t moved = std::max(*inputBytes, *outputBytes);
    if (row.wireBytes != moved)
      error("the manifest states " + std::to_string(row.wireBytes) +
            " wire bytes, its buffers have " + std::to_string(moved));
    if (row.payloadBytes > moved)
      error("a payload of " + std::to_string(row.payloadBytes) +
            " bytes in buffers of " + std::to_string(moved));
  }

  void checkCommand(const AttentionCommand &command) {
    errorIf(checkAttention(command));
    checkOperands(attentionRanges(command));
    if (entry.isCuda() && command.isPartial)
      error("a partial attention is of a cpu target alone");
    if (entry.isCuda() && command.bias && command.bias->dtype == DataType::I64)
      error("a bias of i64, spans of keys, is of a cpu target alone");
    if (entry.isCuda() && command.steps.empty())
      error("expected steps that do the same, got none");
    if (!entry.isCuda() && !command.steps.empty())
      error("expected no steps, as the CPU does the attention itself");
    std::string whole = where;
    for (size_t i = 0; i < command.steps.size() && status.ok(); ++i) {
      where = whole + ", step " + std::to_string(i);
      std::visit([&](const auto &step) { checkCommand(step); },
                 command.steps[i].what);
    }
    where = whole;
  }

  void checkCommand(const AttentionBackwardCommand &command) {
    if (entry.isCuda())
      return error("an attention_backward is of a cpu target alone");
    errorIf(checkAttention(command));
    checkOperands(attentionRanges(command));
  }

  /// What is written overlaps nothing else.
  void checkOperands(const std::vector<TypedRange> &ranges) {
    for (const TypedRange &range : ranges) {
      if (range.buffer.offset % byteSize(range.dtype))
        error(range.what + " is not aligned to " +
              std::to_string(byteSize(range.dtype)) + "-byte elements");
      checkRange(range.buffer, range.bytes, range.what.c_str(),
                 range.isWritten);
    }
    for (const TypedRange &output : ranges)
      for (const TypedRange &other : ranges)
        if (status.ok() && output.isWritten && &other != &output &&
            overlap(other.buffer, *other.bytes, output.buffer, *output.bytes))
          return error(other.what + " overlaps " + output.what);
  }

  void checkCommand(const CallCommand &command) {
    if (!entry.isCuda())
      return error("a call is of a cuda target alone");
    errorIf(checkCall(command));
    for (const auto *tensors : {&command.inputs, &command.outputs})
      for (const CallTensor &tensor : *tensors)
        checkRange(tensor.buffer, tensorBytes(tensor), "a tensor",
                   tensors == &command.outputs);
    if (!status.ok())
      return;
    for (const CallTensor &output : command.outputs)
      for (const auto *tensors : {&command.inputs, &command.outputs})
        for (const CallTensor &other : *tensors)
          if (&other != &output && overlap(output.buffer, *tensorBytes(output),
                                           other.buffer, *tensorBytes(other)))
            return error("an output overlaps another tensor");
  }

  static bool overlap(const BufferRef &a, int64_t aBytes, const BufferRef &b,
                      int64_t bBytes) {
    int64_t distance = b.offset - a.offset;
    return a.space == b.space && a.index == b.index && distance < aBytes &&
           -distance < bBytes && aBytes && bBytes;
  }

  const Entry &stored;
  const EntryView entry;
  int64_t constantBytes;
};

} // namespace

Status tp::runtime::checkManifest(const Manifest &manifest,
                                  int64_t constantBytes) {
  if (Status status = checkShared(manifest); !status.ok())
    return status;
  for (const Entry &entry : manifest.entries)
    if (Status status = ManifestChecker(manifest, entry, constantBytes).check();
        !status.ok())
      return status;
  return {};
}
