//===- ManifestCheck.cpp - consistency of a manifest ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Manifest.h"
#include <algorithm>
#include <set>

using namespace tp::runtime;

namespace {

// 2^48: sums of a few such sizes stay far from overflow.
constexpr int64_t maxBytes = int64_t(1) << 48;
constexpr size_t maxDimensions = 16;

std::string text(const std::vector<int64_t> &numbers) {
  std::string result = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    result += (i ? ", " : "") + std::to_string(numbers[i]);
  return result + "]";
}

bool isPermutation(std::vector<int64_t> numbers, size_t size) {
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != int64_t(i))
      return false;
  return numbers.size() == size;
}

/// outer * block * factor * element size, or nothing above maxBytes.
std::optional<int64_t> product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (int64_t factor : factors)
    if (__builtin_mul_overflow(result, factor, &result) || result > maxBytes)
      return std::nullopt;
  return result;
}

class ManifestChecker {
public:
  ManifestChecker(const Manifest &manifest, int64_t constantBytes)
      : manifest(manifest), constantBytes(constantBytes) {}

  Status check() {
    checkMesh();
    if (manifest.isCuda())
      errorIf(checkCudaTarget(manifest));
    if (!status.ok())
      return status;
    for (size_t i = 0; i < manifest.groups.size() && status.ok(); ++i)
      checkGroup(manifest.groups[i]);
    checkPorts(manifest.arguments, "argument");
    checkPorts(manifest.results, "result");
    checkIds();
    checkMemory();
    for (size_t i = 0; i < manifest.program.size() && status.ok(); ++i) {
      where = manifest.describe(i);
      std::visit([&](const auto &command) { checkCommand(command); },
                 manifest.program[i].what);
    }
    return status;
  }

private:
  void error(const std::string &message) {
    if (status.ok())
      status = formatError(where.empty() ? message : where + ": " + message);
  }

  void errorIf(const std::string &message) {
    if (!message.empty())
      error(message);
  }

  void checkMesh() {
    if (manifest.axes.empty() || manifest.axes.size() > TP_MAX_MESH_AXES)
      return error("a mesh has 1 to 8 axes, got " +
                   std::to_string(manifest.axes.size()));
    std::set<std::string> names;
    int64_t ranks = 1;
    for (const MeshAxis &axis : manifest.axes) {
      if (!names.insert(axis.name).second)
        error("two mesh axes are called '" + axis.name + "'");
      ranks *= axis.size;
      if (ranks > 4096)
        return error("a mesh has at most 4096 ranks");
    }
    if (!manifest.deviceOrder.empty() &&
        !isPermutation(manifest.deviceOrder, ranks))
      error("the device order is no permutation of the " +
            std::to_string(ranks) + " ranks");
  }

  void checkGroup(const RankGroup &group) {
    where = "group " + std::to_string(group.id);
    std::vector<int64_t> all;
    for (const std::vector<int64_t> &ranks : group.ranks) {
      if (ranks.empty() || ranks.size() != group.ranks.front().size())
        error("its lists of ranks differ in length or are empty");
      all.insert(all.end(), ranks.begin(), ranks.end());
    }
    if (!isPermutation(all, manifest.numRanks()))
      error("its lists do not hold each of the " +
            std::to_string(manifest.numRanks()) + " ranks exactly once");
    where.clear();
  }

  void checkPorts(const std::vector<Port> &ports, const char *side) {
    for (size_t i = 0; i < ports.size() && status.ok(); ++i) {
      where = std::string(side) + " " + std::to_string(i) + " '" +
              ports[i].name + "'";
      checkPort(ports[i]);
    }
    where.clear();
  }

  void checkPort(const Port &port) {
    size_t rank = port.shape.size();
    std::optional<int64_t> local = elementCount(port.localShape);
    std::optional<int64_t> global = elementCount(port.shape);
    if (rank > maxDimensions)
      return error("at most 16 dimensions, got " + std::to_string(rank));
    if (port.localShape.size() != rank)
      return error("shape " + text(port.shape) + " and local shape " +
                   text(port.localShape) + " differ in rank");
    if (!local || !product({*local, byteSize(port.dtype)}) || !global ||
        !product({*global, byteSize(port.dtype)}))
      return error("its size in bytes is too large");
    if (!port.unit.empty() && port.unit.size() != rank)
      return error("unit " + text(port.unit) + " does not have " +
                   std::to_string(rank) + " dimensions");
    if (!isPermutation(port.permutation, rank))
      return error("storage " + text(port.permutation) +
                   " is no permutation of its dimensions");
    if (port.aliasOf && *port.aliasOf >= int64_t(manifest.arguments.size()))
      return error("it aliases argument " + std::to_string(*port.aliasOf) +
                   " of " + std::to_string(manifest.arguments.size()));
    if (int64_t(port.boxes.size()) != manifest.numRanks())
      return error("parts for " + std::to_string(manifest.numRanks()) +
                   " ranks expected, got " + std::to_string(port.boxes.size()));
    for (size_t r = 0; r < port.boxes.size(); ++r)
      for (const Box &box : port.boxes[r]) {
        if (box.global.size() != rank || box.local.size() != rank ||
            box.size.size() != rank)
          return error("a box of rank " + std::to_string(r) +
                       " does not have " + std::to_string(rank) +
                       " dimensions");
        for (size_t d = 0; d < rank; ++d)
          if (box.global[d] + box.size[d] > port.shape[d] ||
              box.local[d] + box.size[d] > port.localShape[d])
            return error("a box of rank " + std::to_string(r) + " at global " +
                         text(box.global) + ", local " + text(box.local) +
                         " of size " + text(box.size) + " leaves shape " +
                         text(port.shape) + " or local shape " +
                         text(port.localShape));
      }
  }

  /// Offsets in a rank's memory, and its size times the ranks, must fit.
  void checkMemory() {
    int64_t total = manifest.memory.arenaBytes + manifest.memory.scratchBytes;
    for (const auto *ports : {&manifest.arguments, &manifest.results})
      for (const Port &port : *ports)
        if (total <= maxBytes && status.ok())
          total += port.localBytes();
    if (total > maxBytes)
      error("a rank's memory is too large");
  }

  void checkIds() {
    auto unique = [&](const auto &rows, const char *what) {
      std::set<int64_t> ids;
      for (const auto &row : rows)
        if (!ids.insert(row.id).second)
          error(std::string("two ") + what + " have the id " +
                std::to_string(row.id));
    };
    unique(manifest.groups, "groups");
    unique(manifest.collectives, "collectives");
    unique(manifest.asserts, "asserts");
    for (const Collective &collective : manifest.collectives) {
      bool floats = isFloat(collective.dtype);
      if (!collective.reduces())
        continue;
      if (manifest.isCuda())
        errorIf(checkCudaCollective(collective));
      if (collective.reduction == Reduction::Avg && !floats)
        error("collective " + std::to_string(collective.id) +
              ": avg needs a float dtype, got " + spelling(collective.dtype));
      if (collective.dtype == DataType::I1 &&
          collective.reduction != Reduction::Max &&
          collective.reduction != Reduction::Min)
        error("collective " + std::to_string(collective.id) +
              ": i1 is reduced by max (or) or min (and), got " +
              spelling(collective.reduction));
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
    case Space::Argument:
      return port(manifest.arguments, "argument");
    case Space::Result:
      return port(manifest.results, "result");
    case Space::Arena:
      return manifest.memory.arenaBytes;
    case Space::Constant:
      return constantBytes;
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
    if (manifest.isCuda())
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

  void checkCommand(const GemmCommand &command) {
    if (manifest.isCuda()) {
      errorIf(checkCudaGemm(command));
    } else if (command.dtype != DataType::F32 &&
               command.dtype != DataType::F64) {
      if (status.ok())
        status = unsupported(where + ": dtype " + spelling(command.dtype) +
                             " is not supported, expected f32 or f64");
      return;
    }
    if (std::max({command.m, command.n, command.k}) > INT32_MAX)
      return error("sizes above 2^31 are not for a BLAS");
    if (command.batch.size() > maxBatchDimensions)
      return error("at most " + std::to_string(maxBatchDimensions) +
                   " batch dimensions, got " +
                   std::to_string(command.batch.size()));
    int64_t ranks = manifest.numRanks();
    if (!command.kOfRank.empty() && int64_t(command.kOfRank.size()) != ranks)
      return error("k for " + std::to_string(ranks) + " ranks expected, got " +
                   std::to_string(command.kOfRank.size()));
    checkOperand(command, command.a, command.m, command.k, command.dtype,
                 "operand a");
    checkOperand(command, command.b, command.k, command.n, command.dtype,
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
    if (manifest.isCuda() && operand.buffer.offset % byteSize(dtype))
      error(std::string(what) + " is not aligned to " +
            std::to_string(byteSize(dtype)) + "-byte elements");
    checkRange(operand.buffer, bytes, what, what == std::string("operand c"));
  }

  void checkCommand(const CollectiveCommand &command) {
    const Collective &row = manifest.collectives[command.collective];
    int64_t members = manifest.groups[row.group].size();
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
    errorIf(checkCudaAttention(command));
    std::optional<int64_t> outputBytes = operandBytes(command, command.o);
    auto checkTensor = [&](const BufferRef &buffer,
                           std::optional<int64_t> bytes, DataType dtype,
                           const char *what) {
      bool output = &buffer == &command.o.buffer;
      if (buffer.offset % byteSize(dtype))
        error(std::string(what) + " is not aligned to " +
              std::to_string(byteSize(dtype)) + "-byte elements");
      checkRange(buffer, bytes, what, output);
      if (status.ok() && !output &&
          overlap(buffer, *bytes, command.o.buffer, *outputBytes))
        error(std::string(what) + " overlaps operand o");
    };
    checkTensor(command.o.buffer, outputBytes, command.dtype, "operand o");
    checkTensor(command.q.buffer, operandBytes(command, command.q),
                command.dtype, "operand q");
    checkTensor(command.k.buffer, operandBytes(command, command.k),
                command.dtype, "operand k");
    checkTensor(command.v.buffer, operandBytes(command, command.v),
                command.dtype, "operand v");
    if (command.bias)
      checkTensor(command.bias->buffer, biasBytes(command), command.bias->dtype,
                  "the bias");
    if (command.steps.empty())
      error("expected steps that do the same, got none");
    std::string whole = where;
    for (size_t i = 0; i < command.steps.size() && status.ok(); ++i) {
      where = whole + ", step " + std::to_string(i);
      std::visit([&](const auto &step) { checkCommand(step); },
                 command.steps[i].what);
    }
    where = whole;
  }

  static bool overlap(const BufferRef &a, int64_t aBytes, const BufferRef &b,
                      int64_t bBytes) {
    int64_t distance = b.offset - a.offset;
    return a.space == b.space && a.index == b.index && distance < aBytes &&
           -distance < bBytes && aBytes && bBytes;
  }

  const Manifest &manifest;
  int64_t constantBytes;
  std::string where;
  Status status;
};

} // namespace

Status tp::runtime::checkManifest(const Manifest &manifest,
                                  int64_t constantBytes) {
  return ManifestChecker(manifest, constantBytes).check();
}
