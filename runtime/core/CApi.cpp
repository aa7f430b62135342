//===- CApi.cpp - the C ABI over the C++ classes --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Array.h"
#include "tp/Runtime/Rank.h"
#include "tp/Runtime/Runtime.h"
#include "tp/Runtime/Slices.h"
#include <algorithm>
#include <cstddef>
#include <new>

using namespace tp::runtime;

struct tp_status {
  Status status;
};
struct tp_artifact {
  std::unique_ptr<Artifact> artifact;
};
struct tp_transport {
  std::unique_ptr<Transport> transport;
};
struct tp_rank {
  std::unique_ptr<Rank> rank;
  const EntryView *entry;
  Transport *transport;
  Status step;
  bool submitted = false;
};

static_assert(int(Code::Device) == TP_DEVICE_FAILED && int(Code::Ok) == TP_OK);
static_assert(int(DataType::Index) == TP_INDEX && int(DataType::F64) == TP_F64);
static_assert(int(DataType::F8E5M2FNUZ) == TP_F8E5M2FNUZ);
static_assert(int(DataType::U64) == TP_U64);
static_assert(int(DataType::U8) == TP_U8);

namespace {

/// A status that takes no memory; tp_status_free leaves it alone.
tp_status *outOfMemory() {
  static tp_status status{systemError("out of memory")};
  return &status;
}
// Made while there is memory.
[[maybe_unused]] const tp_status *const prepared = outOfMemory();

tp_status *toC(Status status) {
  return status.ok() ? nullptr : new tp_status{std::move(status)};
}
tp_status *invalid(const std::string &message) {
  return toC(invalidArgument(message));
}

const std::vector<Port> &portsOf(const EntryView &entry, tp_port_side side) {
  return side == TP_RESULT ? entry.results : entry.arguments;
}

const char *nameOf(tp_port_side side) {
  return side == TP_RESULT ? "result" : "argument";
}

Status checkPort(const EntryView &entry, tp_port_side side, int64_t index) {
  int64_t count = portsOf(entry, side).size();
  if (index >= 0 && index < count)
    return {};
  return invalidArgument(std::string("no ") + nameOf(side) + " " +
                         std::to_string(index) + ", there are " +
                         std::to_string(count));
}

Status checkTensor(const tp_tensor *tensor, const Port &port,
                   const std::vector<int64_t> &sizes, const char *what) {
  std::string prefix =
      std::string("the ") + what + " tensor of '" + port.name + "': ";
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
  if (tensor->memory_space != TP_HOST)
    return unsupported(prefix + "expected host memory, got memory space " +
                       std::to_string(tensor->memory_space));
  if (!tensor->data && elementCount(sizes) != 0)
    return invalidArgument(prefix + "its data is null");
  return {};
}

std::vector<int64_t> stridesOf(const tp_tensor *tensor) {
  return {tensor->strides, tensor->strides + tensor->rank};
}

void describeTensor(tp_tensor *tensor, DataType type,
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

tp_status *bufferOf(tp_rank *handle, tp_port_side side, int64_t index,
                    tp_tensor *local) {
  if (!handle || !local)
    return invalid("null handle");
  if (Status status = checkPort(*handle->entry, side, index); !status.ok())
    return toC(status);
  const Port &port = portsOf(*handle->entry, side)[index];
  if (port.dead)
    return invalid("argument '" + port.name + "' is dead: it has no buffer");
  describeTensor(local, port.dtype, port.localShape(), port.localStrides(),
                 side == TP_RESULT ? handle->rank->result(index)
                                   : handle->rank->argument(index));
  return nullptr;
}

/// Between a global and a local tensor, whose local strides are the caller's.
Status copyParts(const tp_artifact *artifact, tp_port_side side, int64_t index,
                 int64_t rank, const tp_tensor *global, const tp_tensor *local,
                 bool toLocal) {
  if (!artifact)
    return invalidArgument("null handle");
  const EntryView &entry = artifact->artifact->entry();
  if (Status status = checkPort(entry, side, index); !status.ok())
    return status;
  if (rank < 0 || rank >= entry.numRanks())
    return invalidArgument("rank " + std::to_string(rank) + " of " +
                           std::to_string(entry.numRanks()));
  const Port &port = portsOf(entry, side)[index];
  if (Status status = checkTensor(global, port, port.shape, "global");
      !status.ok())
    return status;
  if (Status status = checkTensor(local, port, port.localShape(), "local");
      !status.ok())
    return status;
  int64_t bytes = byteSize(port.dtype);
  std::vector<int64_t> globalStrides = stridesOf(global);
  std::vector<int64_t> localStrides = stridesOf(local);
  for (const Box &box : port.slice(entry.coordinates(rank)).boxes) {
    char *globalStart = static_cast<char *>(global->data);
    char *localStart = static_cast<char *>(local->data);
    for (size_t d = 0; d < box.size.size(); ++d) {
      globalStart += box.global[d] * globalStrides[d] * bytes;
      localStart += box.local[d] * localStrides[d] * bytes;
    }
    if (toLocal)
      copyStrided(box.size, bytes, globalStart, globalStrides, localStart,
                  localStrides);
    else
      copyStrided(box.size, bytes, localStart, localStrides, globalStart,
                  globalStrides);
  }
  return {};
}

} // namespace

uint32_t tp_abi_version(void) { return TP_ABI_VERSION; }

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

tp_status *tp_artifact_open(const char *path, tp_artifact **artifact) try {
  if (!path || !artifact)
    return invalid("null path or handle");
  std::unique_ptr<Artifact> opened;
  if (Status status = Artifact::open(path, opened); !status.ok())
    return toC(status);
  *artifact = new tp_artifact{std::move(opened)};
  return nullptr;
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
void tp_artifact_close(tp_artifact *artifact) { delete artifact; }

const char *tp_artifact_manifest(const tp_artifact *artifact) {
  return artifact->artifact->manifestText().c_str();
}
int64_t tp_artifact_size(const tp_artifact *artifact) {
  return artifact->artifact->entry().numRanks();
}
int64_t tp_artifact_num_ports(const tp_artifact *artifact, tp_port_side side) {
  return portsOf(artifact->artifact->entry(), side).size();
}
tp_status *tp_artifact_find_port(const tp_artifact *artifact, tp_port_side side,
                                 const char *name, int64_t *index) try {
  if (!artifact || !name || !index)
    return invalid("null handle, name or index");
  return toC(findPort(portsOf(artifact->artifact->entry(), side), name,
                      nameOf(side), *index));
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
tp_status *tp_artifact_port(const tp_artifact *artifact, tp_port_side side,
                            int64_t index, tp_tensor *global) try {
  if (!artifact || !global)
    return invalid("null handle");
  const EntryView &entry = artifact->artifact->entry();
  if (Status status = checkPort(entry, side, index); !status.ok())
    return toC(status);
  const Port &port = portsOf(entry, side)[index];
  describeTensor(global, port.dtype, port.shape, rowMajorStrides(port.shape),
                 nullptr);
  return nullptr;
} catch (const std::bad_alloc &) {
  return outOfMemory();
}

tp_status *tp_transport_threads(const tp_artifact *artifact,
                                tp_transport **transport) try {
  if (!artifact || !transport)
    return invalid("null handle");
  std::unique_ptr<Transport> made;
  if (Status status = createThreadTransport(artifact->artifact->entry(), made);
      !status.ok())
    return toC(status);
  *transport = new tp_transport{std::move(made)};
  return nullptr;
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
tp_status *tp_transport_processes(const tp_artifact *artifact,
                                  tp_transport **transport,
                                  int *descriptor) try {
  if (!artifact || !transport || !descriptor)
    return invalid("null handle or descriptor");
  std::unique_ptr<Transport> made;
  if (Status status = createProcessTransport(artifact->artifact->entry(), made,
                                             *descriptor);
      !status.ok())
    return toC(status);
  *transport = new tp_transport{std::move(made)};
  return nullptr;
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
tp_status *tp_transport_attach(const tp_artifact *artifact, int descriptor,
                               tp_transport **transport) try {
  if (!artifact || !transport)
    return invalid("null handle");
  std::unique_ptr<Transport> made;
  if (Status status =
          attachProcessTransport(artifact->artifact->entry(), descriptor, made);
      !status.ok())
    return toC(status);
  *transport = new tp_transport{std::move(made)};
  return nullptr;
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
void tp_transport_abort(tp_transport *transport, int64_t rank,
                        const char *message) {
  if (transport)
    transport->transport->abort(
        {Code::RankFailed, rank, message ? message : ""});
}
void tp_transport_free(tp_transport *transport) { delete transport; }

tp_status *tp_rank_create(const tp_artifact *artifact, tp_transport *transport,
                          int64_t rank, int64_t size,
                          const tp_rank_options *options,
                          tp_rank **handle) try {
  if (!artifact || !transport || !handle)
    return invalid("null handle");
  const EntryView &entry = artifact->artifact->entry();
  if (size != entry.numRanks())
    return invalid("the artifact is for " + std::to_string(entry.numRanks()) +
                   " ranks, got " + std::to_string(size));
  RankOptions chosen;
  chosen.poison = poisonByDefault();
  // An older caller's structure ends earlier.
  auto has = [&](size_t end) { return options && options->struct_size >= end; };
  if (has(offsetof(tp_rank_options, poison) + sizeof(options->poison)))
    chosen.poison = options->poison != 0;
  if (has(offsetof(tp_rank_options, timeout_seconds) +
          sizeof(options->timeout_seconds)) &&
      options->timeout_seconds != 0)
    chosen.timeoutSeconds = options->timeout_seconds;
  auto made = std::make_unique<tp_rank>();
  made->entry = &entry;
  made->transport = transport->transport.get();
  if (Status status = Rank::create(*artifact->artifact, *transport->transport,
                                   rank, chosen, made->rank);
      !status.ok())
    return toC(status);
  *handle = made.release();
  return nullptr;
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
void tp_rank_free(tp_rank *handle) { delete handle; }

tp_status *tp_rank_set_argument(tp_rank *handle, int64_t index,
                                const tp_tensor *local) try {
  tp_tensor buffer;
  if (tp_status *status = bufferOf(handle, TP_ARGUMENT, index, &buffer))
    return status;
  const Port &port = handle->entry->arguments[index];
  if (Status status = checkTensor(local, port, port.localShape(), "local");
      !status.ok())
    return toC(status);
  copyStrided(port.localShape(), byteSize(port.dtype), local->data,
              stridesOf(local), buffer.data, stridesOf(&buffer));
  return nullptr;
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
tp_status *tp_rank_argument(tp_rank *handle, int64_t index,
                            tp_tensor *local) try {
  return bufferOf(handle, TP_ARGUMENT, index, local);
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
tp_status *tp_rank_result(tp_rank *handle, int64_t index,
                          tp_tensor *local) try {
  return bufferOf(handle, TP_RESULT, index, local);
} catch (const std::bad_alloc &) {
  return outOfMemory();
}

tp_status *tp_rank_barrier(tp_rank *handle) try {
  if (!handle)
    return invalid("null handle");
  // The host loads, and only the host knows how long that may take.
  constexpr double anyTime = 1e8;
  return toC(handle->transport->barrier(handle->rank->rank(), anyTime));
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
tp_status *tp_rank_submit(tp_rank *handle, tp_stream *stream) {
  if (!handle)
    return invalid("null handle");
  if (stream)
    return toC(unsupported("the CPU has no streams but the default one, NULL"));
  if (handle->submitted)
    return invalid("a step is under way: wait for it first");
  handle->submitted = true;
  try {
    handle->step = handle->rank->step();
  } catch (const std::bad_alloc &) {
    handle->step = systemError("out of memory");
    handle->transport->abort(
        {Code::System, handle->rank->rank(), handle->step.message()});
  }
  return nullptr;
}
tp_status *tp_rank_wait(tp_rank *handle) try {
  if (!handle)
    return invalid("null handle");
  if (!handle->submitted)
    return invalid("no step was submitted");
  handle->submitted = false;
  return toC(handle->step);
} catch (const std::bad_alloc &) {
  return outOfMemory();
}

tp_status *tp_scatter(const tp_artifact *artifact, tp_port_side side,
                      int64_t index, int64_t rank, const tp_tensor *global,
                      const tp_tensor *local) try {
  return toC(copyParts(artifact, side, index, rank, global, local, true));
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
tp_status *tp_assemble(const tp_artifact *artifact, tp_port_side side,
                       int64_t index, int64_t rank, const tp_tensor *local,
                       const tp_tensor *global) try {
  return toC(copyParts(artifact, side, index, rank, global, local, false));
} catch (const std::bad_alloc &) {
  return outOfMemory();
}
