//===- Store.h - what ranks on several hosts meet through -------*- C++ -*-===//
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
  /// How long to look for rank 0.
  double startTimeout = 300;
  /// After this long without a word (the store's threads say one at least
  /// four times in it) a rank counts as lost.
  double timeout = 300;
};

/// One rank's side of a TCP store: what ranks on several hosts, which share no
/// memory, meet through. Rank 0 serves all, itself too, in a thread of its
/// own; every rank has a thread that talks to it, so that the rank's own never
/// waits for the network but where it waits for other ranks.
///
/// Whoever is lost, or sends what no rank would, ends the run with an error
/// that names its rank, address and command. Strangers on the port are sent
/// away and change nothing.
///
/// The transport that a store gives has memory for this rank's results alone
/// (on rank 0, for those of all), a note that reaches rank 0 with
/// `Transport::barrier`, whose answer brings rank 0's to everyone, and no
/// collectives: those of devices are NCCL's.
class Store {
public:
  virtual ~Store() = default;

  /// On rank 0 starts the service; on all, connects to it.
  static Status join(const Manifest &manifest, const StoreOptions &options,
                     int64_t rank, std::unique_ptr<Store> &store);

  /// Works on the store, which outlives it. Several may be used.
  virtual std::unique_ptr<Transport> transport() = 0;

  /// After the last step. On rank 0 waits, for `timeout` seconds, until every
  /// rank has come here, and then brings the results of these numbers of all
  /// ranks, and their notes, into its memory; the others hand theirs over and
  /// wait until rank 0 has all.
  virtual Status finish(const std::vector<int64_t> &results) = 0;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_STORE_H
