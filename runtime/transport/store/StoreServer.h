//===- StoreServer.h - what rank 0 runs for all ranks -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_STORE_STORESERVER_H
#define TP_RUNTIME_TRANSPORT_STORE_STORESERVER_H

#include "StoreConnection.h"
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace tp::runtime {

/// Rank 0's service for all ranks. One thread handles all connections; other
/// threads read its state under `mutex`.
class StoreServer {
public:
  /// `memory` of each rank is where its results go.
  StoreServer(const EntryView &entry, const StoreOptions &options,
              std::vector<char *> memory);
  /// Tells the ranks that wait the end, and gives them a second to hear it.
  ~StoreServer();

  Status start();
  /// Waits until all ranks have left a report, for `seconds`.
  Status awaitReports(double seconds);
  /// Brings results from all ranks into memory.
  Status gather(const std::vector<int64_t> &results, double seconds);
  /// A rank's mailbox, as of its report, or of the last barrier.
  std::string mailbox(int64_t rank);

private:
  using Clock = StoreConnection::Clock;
  struct Peer {
    explicit Peer(Socket socket)
        : connection(std::move(socket), sizeof(Greeting)) {}
    StoreConnection connection;
    int64_t rank = -1;
    /// It said goodbye, or was sent away.
    bool leaves = false;
    Clock::time_point spoken;
  };
  struct RankPlace {
    Peer *peer = nullptr;
    /// Its name in messages, once it has connected.
    std::string address;
    StateMessage state;
    bool arrived = false, reported = false, gathered = false;
    ArriveMessage arrival;
    Clock::time_point deadline;
    /// Of all ranks, when the deadline was set.
    uint64_t heartbeats = 0;
    std::string mailbox;
  };

  void serve();
  void accept();
  int64_t strangers() const;
  void handle(Peer &peer, const Message &message);
  void greet(Peer &peer, const Message &message);
  void refuse(Peer &peer, const std::string &why);
  void lose(Peer &peer, const std::string &why);
  void release();
  void watch(Clock::time_point now);
  void notJoined(int64_t rank);
  void fail(const Failure &failure);
  bool keep(int64_t rank, std::string_view bytes);
  uint64_t heartbeats() const;
  std::string describe(int64_t rank) const;
  template <typename Done> Status await(double seconds, const Done &done);

  const EntryView &entry;
  StoreOptions options;
  std::vector<char *> memory;
  Socket listener, waker;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  std::list<Peer> peers;
  std::vector<RankPlace> places;
  std::optional<Failure> failure;
  std::vector<int64_t> wanted;
  /// Bytes of results that have come.
  uint64_t kept = 0;
  /// Everything has come that rank 0 wanted.
  bool complete = false, ending = false;
  std::optional<Clock::time_point> endBy;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_STORE_STORESERVER_H
