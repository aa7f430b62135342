//===- AbiRank.cpp - ranks of the C ABI -----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "tp/Runtime/CreateRank.h"

using namespace tp::runtime;
using namespace tp::capi;

// The host loads, and only the host knows how long that may take.
static constexpr double anyTime = 1e8;

tp_status *tp_stream_create(void *cuda_stream, tp_stream **stream) {
  return guarded([&]() -> Status {
    if (Status status = checkHandles(stream); !status.ok())
      return status;
    *stream = new tp_stream{{cuda_stream}};
    return {};
  });
}
void tp_stream_free(tp_stream *stream) { delete stream; }

static RankOptions optionsOf(const tp_rank_options *options) {
  using O = tp_rank_options;
  RankOptions chosen;
  chosen.poison = given(options, &O::poison, uint32_t(poisonByDefault())) != 0;
  chosen.timeoutSeconds = secondsOr(given(options, &O::timeout_seconds, 0.0),
                                    chosen.timeoutSeconds);
  chosen.startTimeoutSeconds =
      secondsOr(given(options, &O::start_timeout_seconds, 0.0),
                chosen.startTimeoutSeconds);
  if (given(options, &O::use_device, 0))
    chosen.device.index = given(options, &O::device, 0);
  if (const tp_stream *stream =
          given(options, &O::stream, static_cast<const tp_stream *>(nullptr)))
    chosen.device.stream = stream->stream;
  chosen.device.communicator =
      given(options, &O::nccl_communicator, static_cast<void *>(nullptr));
  return chosen;
}

/// A number that two ranks have would keep all of them waiting.
static Status claim(const tp_transport &transport, int64_t number,
                    tp_rank &rank) {
  std::lock_guard guard(transport.claims->lock);
  if (!transport.claims->ranks.insert(number).second)
    return invalidArgument("rank " + std::to_string(number) +
                           " is there already: expected each rank of a "
                           "transport to be made once");
  rank.number = number;
  rank.claims = transport.claims;
  return {};
}

tp_status *tp_rank_create(const tp_artifact *artifact, tp_transport *transport,
                          int64_t rank, int64_t size,
                          const tp_rank_options *options, tp_rank **handle) {
  return guarded([&]() -> Status {
    if (Status status = checkHandles(artifact, transport, handle); !status.ok())
      return status;
    if (Status status = checkStructSize(options); !status.ok())
      return status;
    if (artifact->index != 0)
      return invalidArgument("expected the handle of tp_artifact_open, got one "
                             "of entry '" +
                             artifact->entry().name +
                             "': ask the rank for this entry, by "
                             "tp_rank_entry");
    const Artifact &program = *artifact->artifact;
    if (program.identity() != transport->artifact)
      return invalidArgument("the transport was made for another artifact: "
                             "expected one made for the rank's");
    if (size != program.entry().numRanks())
      return invalidArgument("the artifact is for " +
                             std::to_string(program.entry().numRanks()) +
                             " ranks, got " + std::to_string(size));
    auto made = std::make_unique<tp_rank>();
    if (Status status = claim(*transport, rank, *made); !status.ok())
      return status;
    if (Status status = createRank(program, *transport->transport, rank,
                                   optionsOf(options), made->rank);
        !status.ok())
      return status;
    made->artifact = &program;
    made->views = artifact->views;
    *handle = made.release();
    return {};
  });
}
void tp_rank_free(tp_rank *handle) { delete handle; }

tp_status *tp_rank_entry(tp_rank *handle, const char *name, tp_rank **entry) {
  return guarded([&]() -> Status {
    if (!handle || !name || !entry)
      return invalidArgument("null handle or name");
    if (handle->isOther)
      return invalidArgument("expected the handle of tp_rank_create, got one "
                             "of entry '" +
                             handle->rank->program().name + "'");
    int64_t index = 0;
    if (Status status = handle->artifact->findEntry(name, index); !status.ok())
      return status;
    if (index == handle->rank->program().index) {
      *entry = handle;
      return {};
    }
    std::unique_ptr<tp_rank> &other = handle->others[index];
    if (!other) {
      auto made = std::make_unique<tp_rank>();
      if (Status status = handle->rank->withEntry(
              handle->artifact->entries()[index], made->rank);
          !status.ok())
        return status;
      made->number = handle->number;
      made->artifact = handle->artifact;
      made->views = handle->views;
      made->isOther = true;
      made->isSet = handle->isSet;
      other = std::move(made);
    }
    *entry = other.get();
    return {};
  });
}

static Status checkAllSet(const tp_rank &handle) {
  const std::vector<Port> &arguments = handle.rank->program().arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].dead)
      if (Status status = checkIsSet(handle, int64_t(i)); !status.ok())
        return status;
  return {};
}

/// What a call on the rank returns. Out of memory, the rank cannot join the
/// others any more: their waits end.
template <typename Body>
static tp_status *onRank(tp_rank *handle, const Body &body) {
  if (tp_status *status = guarded([&] { return checkHandles(handle); }))
    return status;
  try {
    return toC(body(*handle->rank));
  } catch (const std::bad_alloc &) {
    handle->rank->abort(outOfMemory()->status);
    return outOfMemory();
  }
}

tp_status *tp_rank_barrier(tp_rank *handle) {
  return onRank(handle, [](Rank &rank) { return rank.barrier(anyTime); });
}
tp_status *tp_rank_submit(tp_rank *handle, const tp_stream *stream) {
  return onRank(handle, [&](Rank &rank) {
    if (Status status = checkAllSet(*handle); !status.ok())
      return status;
    Status status = stream ? rank.submit(stream->stream) : rank.submit();
    handle->hasResults |= status.ok();
    return status;
  });
}
tp_status *tp_rank_wait(tp_rank *handle) {
  return onRank(handle, [](Rank &rank) { return rank.wait(); });
}
tp_status *tp_rank_finish(tp_rank *handle) {
  return onRank(handle, [](Rank &rank) { return rank.leave(anyTime); });
}
