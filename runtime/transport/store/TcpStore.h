//===- TcpStore.h - a rank's side of a TCP store ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_STORE_TCPSTORE_H
#define TP_RUNTIME_TRANSPORT_STORE_TCPSTORE_H

#include "StoreServer.h"
#include <atomic>

namespace tp::runtime {

/// Memory whose pages come with first use.
class LazyMemory {
public:
  ~LazyMemory();
  Status map(int64_t size);
  char *data() const { return base; }

private:
  char *base = nullptr;
  size_t bytes = 0;
};

class TcpStore final : public Store {
public:
  TcpStore(const EntryView &entry, const StoreOptions &options, int64_t rank)
      : entry(entry), options(options), number(rank) {}
  ~TcpStore() override;

  Status join();
  std::unique_ptr<Transport> transport() override;
  Status finish(const std::vector<int64_t> &results) override;

  int64_t size() const { return entry.numRanks(); }
  char *memory(int64_t rank) const { return memories[rank].data(); }
  char *mailbox(int64_t rank) { return mailboxes[rank].data(); }
  Status synchronize(bool loading, int32_t value, double seconds,
                     int32_t &agreed);
  void heartbeat() { heartbeats.fetch_add(1, std::memory_order_relaxed); }
  void progress(int64_t command) {
    here.store(command, std::memory_order_relaxed);
  }
  int64_t progressOf(int64_t rank);
  /// From now on the end of a connection is no failure.
  void leave();
  void abort(const Failure &cause);
  bool aborted() const { return hasFailed.load(); }
  std::optional<Failure> failure() {
    std::lock_guard lock(mutex);
    return failed;
  }

private:
  Status connect();
  Status greet(Socket socket, double seconds, bool &final);
  void talk();
  void handle(const Message &message);
  void end(const Failure &cause);
  void queue(MessageKind kind, const std::string &bytes = {});
  void sendResults(std::unique_lock<std::mutex> &lock);
  std::string rankZero() const {
    return "rank 0 at " + options.address.text() + ", which all ranks meet at,";
  }
  Failure lost(const std::string &why) const {
    return {Code::RankFailed, 0,
            rankZero() + " was lost by rank " + std::to_string(number) +
                " in " + entry.describe(here.load()) + ": " + why};
  }

  const EntryView &entry;
  StoreOptions options;
  int64_t number;
  std::unique_ptr<StoreServer> server;
  std::vector<LazyMemory> memories;
  std::vector<std::vector<char>> mailboxes;

  std::atomic<int64_t> here = -1;
  std::atomic<uint64_t> heartbeats = 0;
  std::atomic<bool> hasFailed = false;

  /// Guards the members below, which the connection's thread shares.
  std::mutex mutex;
  std::condition_variable changed;
  std::thread thread;
  Socket waker;
  std::unique_ptr<StoreConnection> connection;
  std::optional<Failure> failed;
  std::optional<ReleasedMessage> released;
  std::vector<int64_t> commands, wanted;
  /// When the answer came that `commands` is of.
  StoreConnection::Clock::time_point commandsAt;
  bool ended = false, leaving = false, gone = false;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_STORE_TCPSTORE_H
