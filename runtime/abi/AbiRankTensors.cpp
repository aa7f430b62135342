//===- AbiRankTensors.cpp - a rank's tensors in the C ABI -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
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

/// The port whose buffer has what the host reads as this one: a result that
/// updates a state is the state, whatever entry computed it last.
struct Source {
  tp_port_side side;
  int64_t index;
};
static Source sourceOf(const Rank &rank, tp_port_side side, int64_t index) {
  if (side == TP_RESULT)
    if (std::optional<int64_t> state = rank.program().stateOf(index))
      return {TP_ARGUMENT, *state};
  return {side, index};
}

static tp_status *viewOf(const tp_rank *handle, tp_port_side side,
                         int64_t index, tp_tensor *local) {
  return guarded([&]() -> Status {
    const Port *port = nullptr;
    if (Status status = findBuffer(handle, side, index, local, port);
        !status.ok())
      return status;
    const Rank &rank = *handle->rank;
    Source source = sourceOf(rank, side, index);
    bool isState = side == TP_RESULT && source.side == TP_ARGUMENT;
    if (isState)
      if (Status status = rank.checkNotLost(source.index); !status.ok())
        return status;
    port = &portsOf(rank.program(), source.side)[source.index];
    describeTensor(local, port->dtype, port->localShape(), port->localStrides(),
                   source.side == TP_RESULT ? rank.result(source.index)
                                            : rank.argument(source.index));
    bool onDevice = rank.space() == MemorySpace::Device;
    local->memory_space = onDevice ? TP_DEVICE : TP_HOST;
    local->device = int32_t(rank.device());
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
      "' was never set: call tp_rank_set_argument, or write to the view of "
      "tp_rank_argument, before the first step");
}

/// Whether the buffer of the port has values for the host.
static Status checkHasValues(const tp_rank &handle, Source source) {
  if (source.side == TP_ARGUMENT)
    return checkIsSet(handle, source.index);
  if (handle.hasResults)
    return {};
  return invalidArgument("no step of entry '" + handle.rank->program().name +
                         "' has run, so results have no values: call "
                         "tp_rank_submit and tp_rank_wait before");
}

tp_status *tp_rank_set_argument(tp_rank *handle, int64_t index,
                                const tp_tensor *local) {
  return copyLocal(handle, TP_ARGUMENT, index, local,
                   "cut this rank's part out of it with tp_scatter",
                   [&](const LocalTensor &tensor) {
                     Status status = handle->rank->write(index, tensor);
                     if (status.ok())
                       handle->isSet->insert(
                           handle->rank->program().tensorOf(index));
                     return status;
                   });
}
tp_status *tp_rank_get_tensor(tp_rank *handle, tp_port_side side, int64_t index,
                              const tp_tensor *local) {
  return copyLocal(handle, side, index, local,
                   "get the parts of all ranks and join them with tp_assemble",
                   [&](const LocalTensor &tensor) {
                     Source source = sourceOf(*handle->rank, side, index);
                     Status status = checkHasValues(*handle, source);
                     return status.ok()
                                ? handle->rank->read(source.side == TP_RESULT
                                                         ? PortSide::Result
                                                         : PortSide::Argument,
                                                     source.index, tensor)
                                : status;
                   });
}
tp_status *tp_rank_argument(tp_rank *handle, int64_t index, tp_tensor *local) {
  tp_status *status = viewOf(handle, TP_ARGUMENT, index, local);
  if (!status) {
    handle->isSet->insert(handle->rank->program().tensorOf(index));
    handle->rank->restored(index);
  }
  return status;
}
tp_status *tp_rank_result(tp_rank *handle, int64_t index, tp_tensor *local) {
  return viewOf(handle, TP_RESULT, index, local);
}
