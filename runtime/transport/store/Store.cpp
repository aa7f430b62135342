//===- Store.cpp - a transport over a TCP store ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TcpStore.h"
#include <algorithm>
#include <cerrno>
#include <sys/mman.h>

using namespace tp::runtime;

LazyMemory::~LazyMemory() {
  if (base)
    munmap(base, bytes);
}

Status LazyMemory::map(int64_t size) {
  bytes = std::max<int64_t>(size, 1);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return systemError("cannot allocate " + std::to_string(bytes) +
                       " bytes for results: " + std::strerror(errno));
  base = static_cast<char *>(memory);
  return {};
}

namespace {

class StoreTransport final : public Transport {
public:
  explicit StoreTransport(TcpStore &store) : store(store) {}

  int64_t size() const override { return store.size(); }
  Status attach(int64_t) override { return {}; }
  char *memory(int64_t rank) override { return store.memory(rank); }
  Status collective(int64_t, const CollectiveCall &, double) override {
    return unsupported("ranks that share no memory have no collectives on the "
                       "host");
  }
  Status agreeOnStatus(int64_t, int32_t value, double timeoutSeconds,
                       int32_t &agreed) override {
    return store.synchronize(/*loading=*/false, value, timeoutSeconds, agreed);
  }
  Status barrier(int64_t, double timeoutSeconds) override {
    int32_t ignored = 0;
    store.heartbeat();
    return store.synchronize(/*loading=*/true, 0, timeoutSeconds, ignored);
  }
  void heartbeat(int64_t) override { store.heartbeat(); }
  Status leave(int64_t rank, double timeoutSeconds) override {
    Status status = barrier(rank, timeoutSeconds);
    if (status.ok())
      store.leave();
    return status;
  }
  void progress(int64_t, int64_t command) override { store.progress(command); }
  int64_t progress(int64_t rank) const override {
    return store.progressOf(rank);
  }
  void abort(const Failure &failure) override { store.abort(failure); }
  bool aborted() const override { return store.aborted(); }
  std::optional<Failure> failure() const override { return store.failure(); }
  char *mailbox(int64_t rank) override { return store.mailbox(rank); }

private:
  TcpStore &store;
};

} // namespace

std::unique_ptr<Transport> TcpStore::transport() {
  return std::make_unique<StoreTransport>(*this);
}

Status Store::join(const EntryView &entry, const StoreOptions &options,
                   int64_t rank, std::unique_ptr<Store> &store) {
  if (!entry.isCuda())
    return unsupported(std::string("ranks of target '") +
                       spelling(entry.manifest.target) +
                       "' share memory: expected a folder on their host, got " +
                       options.address.text());
  auto made = std::make_unique<TcpStore>(entry, options, rank);
  if (Status status = made->join(); !status.ok())
    return status;
  store = std::move(made);
  return {};
}
