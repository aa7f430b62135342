//===- AbiTransport.cpp - transports of the C ABI -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "tp/Runtime/Transport/FolderStore.h"

using namespace tp::runtime;
using namespace tp::capi;

/// A handle of what `make` makes for the artifact's entry.
template <typename Make>
static tp_status *makeTransport(const tp_artifact *artifact,
                                tp_transport **transport, const Make &make) {
  return guarded([&]() -> Status {
    if (Status status = checkHandles(artifact, transport); !status.ok())
      return status;
    auto made = std::make_unique<tp_transport>();
    made->artifact = artifact->artifact->identity();
    if (Status status = make(artifact->artifact->entry(), *made); !status.ok())
      return status;
    *transport = made.release();
    return {};
  });
}

tp_status *tp_transport_threads(const tp_artifact *artifact,
                                tp_transport **transport) {
  return makeTransport(artifact, transport,
                       [](const EntryView &entry, tp_transport &made) {
                         return createThreadTransport(entry, made.transport);
                       });
}
tp_status *tp_transport_processes(const tp_artifact *artifact,
                                  tp_transport **transport, int *descriptor) {
  return makeTransport(
      artifact, transport,
      [&](const EntryView &entry, tp_transport &made) -> Status {
        if (Status status = checkHandles(descriptor); !status.ok())
          return status;
        return createProcessTransport(entry, made.transport, *descriptor,
                                      made.artifact);
      });
}
tp_status *tp_transport_attach(const tp_artifact *artifact, int descriptor,
                               tp_transport **transport) {
  return makeTransport(artifact, transport,
                       [&](const EntryView &entry, tp_transport &made) {
                         return attachProcessTransport(
                             entry, descriptor, made.transport, made.artifact);
                       });
}

static Status joinAt(const StoreAddress &address, const Artifact &artifact,
                     int64_t rank, const StoreOptions &times,
                     tp_transport &made) {
  const EntryView &entry = artifact.entry();
  StoreOptions options = times;
  options.address = address;
  options.artifact = artifact.identity();
  if (Status status = Store::join(entry, options, rank, made.store);
      !status.ok())
    return status;
  made.transport = made.store->transport();
  return made.transport->barrier(rank, options.startTimeout);
}

tp_status *tp_transport_store(const tp_artifact *artifact, int64_t rank,
                              int64_t size, const tp_store_options *options,
                              tp_transport **transport) {
  return makeTransport(
      artifact, transport,
      [&](const EntryView &entry, tp_transport &made) -> Status {
        if (Status status = checkStructSize(options); !status.ok())
          return status;
        const char *place = given(options, &tp_store_options::address,
                                  static_cast<const char *>(nullptr));
        if (!place || !*place)
          return invalidArgument("no address of a store: expected "
                                 "tcp://HOST:PORT with the host of rank 0, or "
                                 "a folder");
        if (size != entry.numRanks())
          return invalidArgument("the artifact is for " +
                                 std::to_string(entry.numRanks()) +
                                 " ranks, got " + std::to_string(size));
        if (rank < 0 || rank >= size)
          return invalidArgument("rank " + std::to_string(rank) + " of " +
                                 std::to_string(size));
        StoreOptions times;
        const char *run = given(options, &tp_store_options::run,
                                static_cast<const char *>(nullptr));
        times.run = run ? run : "";
        times.startTimeout = secondsOr(
            given(options, &tp_store_options::start_timeout_seconds, 0.0),
            times.startTimeout);
        times.timeout =
            secondsOr(given(options, &tp_store_options::timeout_seconds, 0.0),
                      times.timeout);
        if (!(times.startTimeout > 0) || !(times.timeout > 0))
          return invalidArgument("the time-outs of a store must be positive");
        const Artifact &program = *artifact->artifact;
        std::string_view text = place;
        if (text.starts_with("tcp://")) {
          std::optional<StoreAddress> address = StoreAddress::parse(text);
          if (!address)
            return invalidArgument("the address of a store is '" +
                                   std::string(text) +
                                   "', expected tcp://HOST:PORT");
          return joinAt(*address, program, rank, times, made);
        }
        FolderOptions folder;
        folder.folder = text;
        folder.run = times.run;
        folder.artifact = program.identity();
        folder.startTimeout = times.startTimeout;
        return joinFolder(entry, folder, rank, made.transport);
      });
}

void tp_transport_abort(tp_transport *transport, int64_t rank,
                        const char *message) {
  if (transport)
    transport->transport->abort(
        {Code::RankFailed, rank, message ? message : ""});
}
int64_t tp_transport_describe(const tp_transport *transport,
                              const tp_artifact *artifact, int64_t rank,
                              char *text, int64_t size) {
  std::string place;
  if (transport && artifact && rank >= 0 && rank < transport->transport->size())
    place = artifact->entry().describe(transport->transport->progress(rank));
  if (text && size > 0)
    text[place.copy(text, size_t(size) - 1)] = '\0';
  return int64_t(place.size());
}
void tp_transport_free(tp_transport *transport) { delete transport; }
