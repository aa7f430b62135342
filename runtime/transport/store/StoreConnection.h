//===- StoreConnection.h - what ranks and rank 0 say ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_STORE_STORECONNECTION_H
#define TP_RUNTIME_TRANSPORT_STORE_STORECONNECTION_H

//
// A message is its size and kind, 32 bits each, and its bytes. All integers are
// those of a little-endian host.
//
#include "TcpSocket.h"
#include <chrono>
#include <cstring>
#include <deque>

namespace tp::runtime {

enum class MessageKind : uint32_t {
  // From a rank. Hello: a Greeting. Report: the mailbox. Results: offset in the
  // rank's memory, bytes.
  Hello = 1,
  State,
  Arrive,
  Where,
  Fail,
  Report,
  Results,
  ResultsEnd,
  Leave,
  // To a rank. Refuse: a text; Here: every rank's command; Want: numbers of
  // results.
  Welcome,
  Refuse,
  Released,
  Here,
  Abort,
  Want,
  End,
  Pulse
};

struct Message {
  MessageKind kind;
  std::string bytes;
};

/// Far enough, and no overflow of the clock's integers.
inline std::chrono::steady_clock::duration storeTime(double seconds) {
  constexpr double longest = 1e8;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds < longest ? seconds : longest));
}

/// A rank's first message.
struct Greeting {
  char magic[8] = {'t', 'p', 's', 't', 'o', 'r', 'e', '1'};
  uint64_t artifact = 0, run = 0;
  int64_t rank = 0, size = 0;
};

/// The command that a rank is at, and its heartbeats.
struct StateMessage {
  int64_t command = -1;
  uint64_t heartbeats = 0;
};

/// A rank waits for all others.
struct ArriveMessage {
  /// 0: they agree on a value, 1: they load.
  uint32_t loading = 0;
  int32_t value = 0;
  StateMessage state;
  double timeoutSeconds = 0;
  char mailbox[Transport::mailboxBytes] = {};
};
struct ReleasedMessage {
  int32_t agreed = 0, padding = 0;
  /// Rank 0's.
  char mailbox[Transport::mailboxBytes] = {};
};

/// Puts values one after another.
template <typename... Values> std::string packed(const Values &...values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char *>(&values), sizeof(values)), ...);
  return bytes;
}
/// Takes a value off the front; false where there are too few bytes.
template <typename Value> bool take(std::string_view &bytes, Value &value) {
  if (bytes.size() < sizeof(value))
    return false;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return true;
}
/// The message is this value and nothing else.
template <typename Value> bool unpack(std::string_view bytes, Value &value) {
  return take(bytes, value) && bytes.empty();
}

std::string packed(const Failure &failure);
bool unpack(std::string_view bytes, Failure &failure);

/// Messages over a socket that never blocks.
class StoreConnection {
public:
  using Clock = std::chrono::steady_clock;
  /// Of one message; results come in pieces.
  static constexpr size_t mostBytes = size_t(1) << 20;

  /// Messages of more than `limit` bytes end the connection.
  explicit StoreConnection(Socket socket, size_t limit = mostBytes);
  void setLimit(size_t bytes) { limit = bytes; }

  int descriptor() const { return socket.descriptor(); }
  const std::string &peer() const { return peerName; }
  void queue(MessageKind kind, const std::string &bytes = {});
  /// Bytes that have not gone yet.
  size_t waiting() const { return outgoing.size() - sent; }

  /// Sends what the socket takes, reads what is there. False when the
  /// connection has ended; `lost` says why. What came before can still be
  /// taken.
  bool exchange(std::string &lost);
  /// The next whole message.
  bool next(Message &message);
  /// When bytes came last.
  Clock::time_point heard() const { return lastHeard; }

private:
  bool sendSome(std::string &lost);
  bool readSome(std::string &lost);

  Socket socket;
  std::string peerName;
  std::string outgoing, incoming;
  size_t sent = 0, limit;
  Clock::time_point lastHeard;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_STORE_STORECONNECTION_H
