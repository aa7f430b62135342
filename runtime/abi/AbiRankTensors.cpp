//===- AbiRankTensors.cpp - a rank's tensors in the C ABI -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "tp/Runtime/Slices.h"
#include <algorithm>

using namespace tp::runtime;
using namespace tp::capi;

/// The port, unless there is none or it has no buffer.
static Status findBuffer(const tp_rank *handle, tp_port_side side,
                         int64_t index, const void *tensor, const Port *&port) {
  if (Status status = checkHandles(handle, tensor); !status.ok())
    return status;
  const EntryView &entry = handle->rank->program();
  if (Status status = checkPort(entry, side, index); !status.ok())
    return status;
  port = &portsOf(entry, side)[index];
  if (port->dead)
    return invalidArgument("argument '" + port->name +
                           "' is dead: it has no buffer");
  return {};
}

static char *addressOf(const Rank &rank, PortSource source) {
  return source.side == TP_RESULT ? rank.result(source.index)
                                  : rank.argument(source.index);
}

static tp_status *viewOf(tp_rank *handle, tp_port_side side, int64_t index,
                         tp_tensor *local) {
  return guarded([&]() -> Status {
    const Port *port = nullptr;
    if (Status status = findBuffer(handle, side, index, local, port);
        !status.ok())
      return status;
    const Rank &rank = *handle->rank;
    PortSource source = sourceOf(rank.program(), side, index);
    bool isState = side == TP_RESULT && source.side == TP_ARGUMENT;
    if (isState)
      if (Status status = rank.checkNotLost(source.index); !status.ok())
        return status;
    port = &portsOf(rank.program(), source.side)[source.index];
    describeTensor(local, port->dtype, port->localShape(), port->localStrides(),
                   addressOf(rank, source));
    bool onDevice = rank.space() == MemorySpace::Device;
    local->memory_space = onDevice ? TP_DEVICE : TP_HOST;
    local->device = int32_t(rank.device());
    // Global arrays are cut and joined on the host alone.
    if (!onDevice && port->localBytes() &&
        handle->views->add(local->data, rank.program(), side, index))
      handle->viewed.push_back(local->data);
    return {};
  });
}

/// Whether it is the whole tensor, where the rank's part belongs.
static bool isWhole(const tp_tensor *tensor, const Port &port) {
  return tensor && tensor->dtype == int32_t(port.dtype) &&
         tensor->rank == int32_t(port.shape.size()) &&
         std::equal(port.shape.begin(), port.shape.end(), tensor->sizes) &&
         port.shape != port.localShape();
}

/// Calls `copy` with the caller's tensor when it is one of the port. `instead`
/// is what to do with a whole one.
template <typename Copy>
static tp_status *copyLocal(const tp_rank *handle, tp_port_side side,
                            int64_t index, const tp_tensor *local,
                            const char *instead, const Copy &copy) {
  return guarded([&]() -> Status {
    const Port *port = nullptr;
    // A null tensor gets a better message below.
    if (Status status = findBuffer(handle, side, index, handle, port);
        !status.ok())
      return status;
    if (Status status = checkTensor(local, *port, port->localShape(),
                                    localName(side, *port));
        !status.ok())
      return isWhole(local, *port)
                 ? invalidArgument(
                       status.message() +
                       ", the shape of the whole tensor: " + instead)
                 : status;
    LocalTensor tensor;
    tensor.data = local->data;
    tensor.strides = stridesOf(local);
    tensor.space = local->memory_space == TP_DEVICE ? MemorySpace::Device
                                                    : MemorySpace::Host;
    tensor.device = local->device;
    return copy(tensor).within(localName(side, *port));
  });
}

Status tp::capi::checkIsSet(const tp_rank &handle, int64_t index) {
  if (handle.isSet->contains(handle.rank->program().tensorOf(index)))
    return handle.rank->checkNotLost(index);
  return invalidArgument(
      "argument '" + portName(handle.rank->program().arguments, index) +
      "' was never set: call tp_rank_scatter or tp_rank_set_argument, or write "
      "to the view of tp_rank_argument and call tp_rank_mark_set, before the "
      "first step");
}

static void markSet(tp_rank &handle, int64_t index) {
  handle.isSet->insert(handle.rank->program().tensorOf(index));
  handle.rank->restored(index);
}

/// Whether the port has values for the host.
static Status checkHasValues(const tp_rank &handle, PortSource source) {
  if (source.side == TP_ARGUMENT)
    return checkIsSet(handle, source.index);
  if (handle.hasResults)
    return {};
  return invalidArgument("no step of entry '" + handle.rank->program().name +
                         "' has run, so results have no values: call "
                         "tp_rank_submit and tp_rank_wait before");
}

static Status readSource(const tp_rank &handle, PortSource source,
                         const LocalTensor &to) {
  return handle.rank->read(source.side == TP_RESULT ? PortSide::Result
                                                    : PortSide::Argument,
                           source.index, to);
}

/// A host that feeds a state back by its view has nothing to copy, and has set
/// nothing: of a state that is lost the view is lost as well.
static Status setFromItself(const tp_rank &handle, int64_t index,
                            const LocalTensor &from) {
  const Port &port = handle.rank->program().arguments[index];
  if (from.strides != port.localStrides())
    return invalidArgument("it is the argument's own buffer in another order: "
                           "expected memory of the caller");
  return checkIsSet(handle, index)
      .within("it is the argument's own buffer, which the call does not set");
}

tp_status *tp_rank_set_argument(tp_rank *handle, int64_t index,
                                const tp_tensor *local) {
  return copyLocal(
      handle, TP_ARGUMENT, index, local,
      "give the rank its part of it with tp_rank_scatter",
      [&](const LocalTensor &tensor) {
        const Port &port = handle->rank->program().arguments[index];
        if (tensor.space == handle->rank->space() && port.localBytes() &&
            tensor.data == handle->rank->argument(index))
          return setFromItself(*handle, index, tensor);
        Status status = handle->rank->write(index, tensor);
        if (status.ok())
          markSet(*handle, index);
        return status;
      });
}
tp_status *tp_rank_get_tensor(tp_rank *handle, tp_port_side side, int64_t index,
                              const tp_tensor *local) {
  return copyLocal(
      handle, side, index, local,
      "join the parts of all ranks in it with tp_rank_assemble",
      [&](const LocalTensor &tensor) {
        PortSource source = sourceOf(handle->rank->program(), side, index);
        Status status = checkHasValues(*handle, source);
        return status.ok() ? readSource(*handle, source, tensor) : status;
      });
}
tp_status *tp_rank_argument(tp_rank *handle, int64_t index, tp_tensor *local) {
  return viewOf(handle, TP_ARGUMENT, index, local);
}
tp_status *tp_rank_mark_set(tp_rank *handle, int64_t index) {
  return guarded([&]() -> Status {
    const Port *port = nullptr;
    Status status = findBuffer(handle, TP_ARGUMENT, index, handle, port);
    if (status.ok())
      markSet(*handle, index);
    return status;
  });
}
tp_status *tp_rank_result(tp_rank *handle, int64_t index, tp_tensor *local) {
  return viewOf(handle, TP_RESULT, index, local);
}

/// Indices are those of an entry: the same one of another entry is another
/// tensor, often of the same shape.
static Status checkSameEntry(const tp_rank &handle,
                             const tp_artifact &artifact) {
  if (artifact.artifact->identity() != handle.artifact->identity())
    return invalidArgument("the rank was made of another artifact: expected "
                           "handles of one");
  const EntryView &own = handle.rank->program();
  if (artifact.index == own.index)
    return {};
  return invalidArgument(
      "the artifact's handle is of entry '" + artifact.entry().name +
      "' and the rank's of entry '" + own.name +
      "': expected handles of one entry, as tp_artifact_entry and "
      "tp_rank_entry give");
}

/// The port of both handles, if the caller's tensor is the whole of it.
static Status findGlobal(const tp_rank *handle, const tp_artifact *artifact,
                         tp_port_side side, int64_t index,
                         const tp_tensor *global, const Port *&port) {
  if (Status status = checkHandles(handle, artifact); !status.ok())
    return status;
  if (Status status = checkSameEntry(*handle, *artifact); !status.ok())
    return status;
  if (Status status = findBuffer(handle, side, index, handle, port);
      !status.ok())
    return status;
  return checkOnHost(global, *port, port->shape, globalName(side, *port));
}

namespace {

/// A rank's tensor on the host, of a rank on a device: row-major, and zero.
struct HostCopy {
  explicit HostCopy(const Port &port) : elements(size_t(port.localBytes())) {
    tensor.data = elements.data();
    tensor.strides = rowMajorStrides(port.localShape());
  }
  std::vector<char> elements;
  LocalTensor tensor;
};

} // namespace

static RankSlice sliceOf(const tp_rank &handle, const Port &port) {
  return port.slice(handle.rank->program().coordinates(handle.number));
}

tp_status *tp_rank_scatter(tp_rank *handle, const tp_artifact *artifact,
                           int64_t index, const tp_tensor *global) {
  return guarded([&]() -> Status {
    const Port *port = nullptr;
    Status status =
        findGlobal(handle, artifact, TP_ARGUMENT, index, global, port);
    if (!status.ok())
      return status;
    Rank &rank = *handle->rank;
    std::vector<int64_t> strides = stridesOf(global);
    if (rank.space() == MemorySpace::Host) {
      status = rank.load(index, [&](const RankSlice &slice, char *buffer) {
        scatter(slice, global->data, strides, buffer);
      });
    } else {
      // Ordered with the caller's stream as tp_rank_set_argument is.
      HostCopy copy(*port);
      scatter(sliceOf(*handle, *port), global->data, strides, copy.tensor.data,
              copy.tensor.strides);
      status = rank.write(index, copy.tensor);
    }
    if (status.ok())
      markSet(*handle, index);
    return status.within(globalName(TP_ARGUMENT, *port));
  });
}

tp_status *tp_rank_assemble(tp_rank *handle, const tp_artifact *artifact,
                            tp_port_side side, int64_t index,
                            const tp_tensor *global) {
  return guarded([&]() -> Status {
    const Port *port = nullptr;
    if (Status status = findGlobal(handle, artifact, side, index, global, port);
        !status.ok())
      return status;
    const Rank &rank = *handle->rank;
    PortSource source = sourceOf(rank.program(), side, index);
    if (Status status = checkHasValues(*handle, source); !status.ok())
      return status;
    RankSlice slice = sliceOf(*handle, *port);
    if (rank.space() == MemorySpace::Host)
      return assembleOne(*port, slice, addressOf(rank, source),
                         port->localStrides(), *global);
    HostCopy copy(*port);
    if (Status status = readSource(*handle, source, copy.tensor); !status.ok())
      return status.within(globalName(side, *port));
    return assembleOne(*port, slice, copy.tensor.data, copy.tensor.strides,
                       *global);
  });
}
