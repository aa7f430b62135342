//===- AbiTensors.cpp - status, tensors and arrays of the C ABI -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "tp/Runtime/Array.h"
#include "tp/Runtime/Slices.h"
#include <algorithm>

using namespace tp::runtime;
using namespace tp::capi;

static_assert(int(Code::Device) == TP_DEVICE_FAILED && int(Code::Ok) == TP_OK);
static_assert(int(DataType::Index) == TP_INDEX && int(DataType::F64) == TP_F64);
static_assert(int(DataType::F8E5M2FNUZ) == TP_F8E5M2FNUZ);
static_assert(int(DataType::U64) == TP_U64);
static_assert(int(DataType::U8) == TP_U8);

tp_status *tp::capi::outOfMemory() {
  static tp_status status{systemError("out of memory")};
  return &status;
}
// Made while there is memory.
[[maybe_unused]] static const tp_status *const prepared = outOfMemory();

const char *tp::capi::nameOf(tp_port_side side) {
  return side == TP_RESULT ? "result" : "argument";
}

Status tp::capi::checkPort(const EntryView &entry, tp_port_side side,
                           int64_t index) {
  int64_t count = portsOf(entry, side).size();
  if (index >= 0 && index < count)
    return {};
  return invalidArgument(std::string("no ") + nameOf(side) + " " +
                         std::to_string(index) + ", there are " +
                         std::to_string(count));
}

std::string tp::capi::globalName(tp_port_side side, const Port &port) {
  return std::string(nameOf(side)) + " '" + port.name + "'";
}

std::string tp::capi::localName(tp_port_side side, const Port &port) {
  return "the local tensor of " + globalName(side, port);
}

Status tp::capi::checkTensor(const tp_tensor *tensor, const Port &port,
                             const std::vector<int64_t> &sizes,
                             const std::string &what) {
  std::string prefix = what + ": ";
  if (!tensor)
    return invalidArgument(prefix + "null");
  if (tensor->dtype < 0 || tensor->dtype >= numDataTypes || tensor->rank < 0 ||
      tensor->rank > TP_MAX_RANK)
    return invalidArgument(prefix + "dtype " + std::to_string(tensor->dtype) +
                           " or rank " + std::to_string(tensor->rank) +
                           " is out of range");
  std::vector<int64_t> given(tensor->sizes, tensor->sizes + tensor->rank);
  if (DataType(tensor->dtype) != port.dtype || given != sizes)
    return invalidArgument(prefix + "expected " +
                           describeType(port.dtype, sizes) + ", got " +
                           describeType(DataType(tensor->dtype), given));
  if (tensor->memory_space != TP_HOST && tensor->memory_space != TP_DEVICE)
    return invalidArgument(prefix +
                           "expected memory space 0 (TP_HOST) or 1 "
                           "(TP_DEVICE), got " +
                           std::to_string(tensor->memory_space));
  if (!tensor->data && elementCount(sizes) != 0)
    return invalidArgument(prefix + "its data is null");
  return {};
}

std::vector<int64_t> tp::capi::stridesOf(const tp_tensor *tensor) {
  return {tensor->strides, tensor->strides + tensor->rank};
}

void tp::capi::describeTensor(tp_tensor *tensor, DataType type,
                              const std::vector<int64_t> &sizes,
                              const std::vector<int64_t> &strides, void *data) {
  *tensor = {};
  tensor->data = data;
  tensor->dtype = int32_t(type);
  tensor->rank = int32_t(sizes.size());
  std::copy(sizes.begin(), sizes.end(), tensor->sizes);
  std::copy(strides.begin(), strides.end(), tensor->strides);
  tensor->memory_space = TP_HOST;
}

Status tp::capi::checkOnHost(const tp_tensor *tensor, const Port &port,
                             const std::vector<int64_t> &sizes,
                             const std::string &what) {
  Status status = checkTensor(tensor, port, sizes, what);
  if (status.ok() && tensor->memory_space != TP_HOST)
    status = unsupported(what + ": expected host memory: global arrays are cut "
                                "and joined on the host");
  return status;
}

/// Copies the valid elements of the local tensor into the global one.
static void copyToGlobal(const RankSlice &slice, const void *local,
                         const std::vector<int64_t> &localStrides,
                         const tp_tensor &global) {
  int64_t bytes = byteSize(slice.dtype);
  std::vector<int64_t> globalStrides = stridesOf(&global);
  for (const Box &box : slice.boxes) {
    char *globalStart = static_cast<char *>(global.data);
    const char *localStart = static_cast<const char *>(local);
    for (size_t d = 0; d < box.size.size(); ++d) {
      globalStart += box.global[d] * globalStrides[d] * bytes;
      localStart += box.local[d] * localStrides[d] * bytes;
    }
    copyStrided(box.size, bytes, localStart, localStrides, globalStart,
                globalStrides);
  }
}

Status tp::capi::assembleOne(const Port &port, const RankSlice &slice,
                             const void *local,
                             const std::vector<int64_t> &localStrides,
                             const tp_tensor &global) {
  if (std::optional<Reduction> reduction = partialReduction(port.layout))
    return invalidArgument(
        "'" + port.name + "' is partial<" + spelling(*reduction) +
        ">: the parts of all ranks make the global array together, join them "
        "with tp_assemble_all");
  copyToGlobal(slice, local, localStrides, global);
  return {};
}

/// Between a global and a local tensor, whose local strides are the caller's.
static Status copyParts(const tp_artifact *artifact, tp_port_side side,
                        int64_t index, int64_t rank, const tp_tensor *global,
                        const tp_tensor *local, bool toLocal) {
  if (!artifact)
    return invalidArgument("null handle");
  const EntryView &entry = artifact->entry();
  if (Status status = checkPort(entry, side, index); !status.ok())
    return status;
  if (rank < 0 || rank >= entry.numRanks())
    return invalidArgument("rank " + std::to_string(rank) + " of " +
                           std::to_string(entry.numRanks()));
  const Port &port = portsOf(entry, side)[index];
  if (Status status =
          checkOnHost(global, port, port.shape, globalName(side, port));
      !status.ok())
    return status;
  if (Status status =
          checkOnHost(local, port, port.localShape(), localName(side, port));
      !status.ok())
    return status;
  if (Status status = artifact->views->check(local->data, entry, side, index);
      !status.ok())
    return status.within(localName(side, port));
  RankSlice slice = port.slice(entry.coordinates(rank));
  if (toLocal) {
    scatter(slice, global->data, stridesOf(global), local->data,
            stridesOf(local));
    return {};
  }
  return assembleOne(port, slice, local->data, stridesOf(local), *global);
}

/// The elements of a local tensor in the order of a rank's buffer.
static std::vector<char> bufferOf(const RankSlice &slice,
                                  const tp_tensor &local) {
  std::vector<char> buffer(size_t(slice.localBytes()));
  copyStrided(slice.localShape, byteSize(slice.dtype), local.data,
              stridesOf(&local), buffer.data(), slice.localStrides());
  return buffer;
}

static Status assembleAll(const tp_artifact *artifact, tp_port_side side,
                          int64_t index, int64_t size, const tp_tensor *locals,
                          const tp_tensor *global) {
  if (!artifact || !locals)
    return invalidArgument("null handle or tensors");
  const EntryView &entry = artifact->entry();
  if (Status status = checkPort(entry, side, index); !status.ok())
    return status;
  if (size != entry.numRanks())
    return invalidArgument("expected a local tensor for each of " +
                           std::to_string(entry.numRanks()) + " ranks, got " +
                           std::to_string(size));
  const Port &port = portsOf(entry, side)[index];
  if (Status status =
          checkOnHost(global, port, port.shape, globalName(side, port));
      !status.ok())
    return status;
  for (int64_t rank = 0; rank < size; ++rank) {
    Status status = checkOnHost(&locals[rank], port, port.localShape(),
                                localName(side, port));
    if (status.ok())
      status = artifact->views->check(locals[rank].data, entry, side, index)
                   .within(localName(side, port));
    if (!status.ok())
      return status.within("rank " + std::to_string(rank));
  }
  // From the last group on, so that of equal parts the first rank's stays.
  std::vector<std::vector<int64_t>> groups =
      entry.mesh.groups(partialParts(port.layout));
  for (size_t i = groups.size(); i-- > 0;) {
    RankSlice slice = port.slice(entry.coordinates(groups[i].front()));
    std::vector<std::vector<char>> copies;
    std::vector<const char *> buffers;
    for (int64_t rank : groups[i]) {
      copies.push_back(bufferOf(slice, locals[rank]));
      buffers.push_back(copies.back().data());
    }
    copyToGlobal(slice, ReducedBuffer(port, buffers).data(),
                 slice.localStrides(), *global);
  }
  return {};
}

tp_code tp_status_code(const tp_status *status) {
  return status ? tp_code(status->status.code()) : TP_OK;
}
const char *tp_status_message(const tp_status *status) {
  return status ? status->status.message().c_str() : "";
}
void tp_status_free(tp_status *status) {
  if (status != outOfMemory())
    delete status;
}

tp_status *tp_scatter(const tp_artifact *artifact, tp_port_side side,
                      int64_t index, int64_t rank, const tp_tensor *global,
                      const tp_tensor *local) {
  return guarded([&] {
    return copyParts(artifact, side, index, rank, global, local, true);
  });
}
tp_status *tp_assemble(const tp_artifact *artifact, tp_port_side side,
                       int64_t index, int64_t rank, const tp_tensor *local,
                       const tp_tensor *global) {
  return guarded([&] {
    return copyParts(artifact, side, index, rank, global, local, false);
  });
}
tp_status *tp_assemble_all(const tp_artifact *artifact, tp_port_side side,
                           int64_t index, int64_t size, const tp_tensor *locals,
                           const tp_tensor *global) {
  return guarded(
      [&] { return assembleAll(artifact, side, index, size, locals, global); });
}
