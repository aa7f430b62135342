//===- Store.h - connects ranks on several hosts ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_STORE_H
#define TP_RUNTIME_STORE_H

#include "tp/Runtime/Transport.h"
#include <string_view>

namespace tp::runtime {

/// Where rank 0 serves the others: "tcp://HOST:PORT", an IPv6 address in
/// brackets.
struct StoreAddress {
  std::string host;
  int port = 0;

  static std::optional<StoreAddress> parse(std::string_view text);
  std::string text() const;
};

struct StoreOptions {
  StoreAddress address;
  /// Ranks that name another artifact or another run are refused.
  uint64_t artifact = 0;
  std::string run;
  /// How long to try to connect to rank 0.
  double startTimeout = 300;
  /// A rank counts as lost after this time without a message. The store's
  /// threads send at least four messages in this time.
  double timeout = 300;
};

/// One rank's side of a TCP store, which connects ranks on several hosts. Rank
/// 0 serves all ranks, including itself, in a thread of its own. Every rank has
/// a thread for the connection, so that the rank's own thread waits for the
/// network only when it waits for other ranks.
///
/// A rank that is lost, or that breaks the protocol, ends the run with an error
/// that names its rank, address and command. Other connections to the port are
/// closed and change nothing.
///
/// The store's transport has memory for this rank's results only (on rank 0,
/// for those of all ranks), and no collectives: devices use NCCL's.
/// `Transport::barrier` sends a rank's mailbox to rank 0, and rank 0's mailbox
/// to every rank.
class Store {
public:
  virtual ~Store() = default;

  /// On rank 0 starts the service; on all, connects to it.
  static Status join(const EntryView &entry, const StoreOptions &options,
                     int64_t rank, std::unique_ptr<Store> &store);

  /// Works on the store, which outlives it. Several may be used.
  virtual std::unique_ptr<Transport> transport() = 0;

  /// Called after the last step. Rank 0 waits up to `timeout` seconds for all
  /// ranks, then collects the results with these numbers, and the mailboxes, of
  /// all ranks. The other ranks send theirs and wait until rank 0 has
  /// everything.
  virtual Status finish(const std::vector<int64_t> &results) = 0;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_STORE_H
