//===- StoreConnection.cpp - what ranks and rank 0 say --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoreConnection.h"
#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

using namespace tp::runtime;

std::string tp::runtime::packed(const Failure &failure) {
  return packed(int32_t(failure.code), failure.rank) + failure.message;
}

bool tp::runtime::unpack(std::string_view bytes, Failure &failure) {
  int32_t code = 0;
  if (!take(bytes, code) || !take(bytes, failure.rank) ||
      code <= int(Code::Ok) || code > int(Code::Device))
    return false;
  failure.code = Code(code);
  failure.message = bytes;
  return true;
}

StoreConnection::StoreConnection(Socket made, size_t limit)
    : socket(std::move(made)), peerName(peerOf(socket)), limit(limit),
      lastHeard(Clock::now()) {}

void StoreConnection::queue(MessageKind kind, const std::string &bytes) {
  outgoing += packed(uint32_t(bytes.size()), uint32_t(kind)) + bytes;
}

bool StoreConnection::exchange(std::string &lost) {
  // Also of a peer that takes nothing more there may be something to read: why
  // it ended, say.
  bool reads = readSome(lost);
  std::string unsent;
  bool sends = sendSome(unsent);
  if (reads && !sends)
    lost = unsent;
  return reads && sends;
}

bool StoreConnection::sendSome(std::string &lost) {
  while (sent < outgoing.size()) {
    ssize_t count = send(descriptor(), outgoing.data() + sent,
                         outgoing.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return true;
    if (count < 0) {
      lost = std::strerror(errno);
      return false;
    }
    sent += count;
  }
  outgoing.clear();
  sent = 0;
  return true;
}

bool StoreConnection::readSome(std::string &lost) {
  // What is there may be more than memory can hold: a bit at a time.
  constexpr size_t atOnce = size_t(1) << 16;
  while (incoming.size() <= limit + atOnce) {
    size_t had = incoming.size();
    incoming.resize(had + atOnce);
    ssize_t count = recv(descriptor(), incoming.data() + had, atOnce, 0);
    incoming.resize(had + std::max<ssize_t>(count, 0));
    if (count > 0) {
      lastHeard = Clock::now();
      continue;
    }
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    lost = count == 0 ? "the connection was closed" : std::strerror(errno);
    return false;
  }
  std::string_view rest = incoming;
  uint32_t size = 0;
  if (!take(rest, size) || size <= limit)
    return true;
  lost = "it sent what no rank sends";
  return false;
}

bool StoreConnection::next(Message &message) {
  std::string_view rest = incoming;
  uint32_t size = 0, kind = 0;
  if (!take(rest, size) || !take(rest, kind) || size > limit ||
      rest.size() < size)
    return false;
  message.kind = MessageKind(kind);
  message.bytes = rest.substr(0, size);
  incoming.erase(0, incoming.size() - rest.size() + size);
  return true;
}
