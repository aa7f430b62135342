//===- StoreServer.cpp - what rank 0 runs for all ranks -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoreServer.h"
#include "tp/Runtime/ArtifactFile.h"
#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace tp::runtime;

namespace {

/// How long somebody may be connected without saying who it is.
constexpr double greetingSeconds = 5;
/// How many such there may be at a time.
constexpr int64_t mostStrangers = 64;
/// For the ranks to hear the end.
constexpr double graceSeconds = 1;

} // namespace

StoreServer::StoreServer(const EntryView &entry, const StoreOptions &options,
                         std::vector<char *> memory)
    : entry(entry), options(options), memory(std::move(memory)),
      places(entry.numRanks()) {}

StoreServer::~StoreServer() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    if (!complete)
      fail({Code::RankFailed, 0, "rank 0 ended before the others did"});
    ending = true;
  }
  uint64_t one = 1;
  (void)!write(waker.descriptor(), &one, sizeof(one));
  thread.join();
}

Status StoreServer::start() {
  if (Status status = listenAt(options.address, listener); !status.ok())
    return status.within("rank 0 cannot serve at " + options.address.text());
  waker = Socket(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  thread = std::thread([this] { serve(); });
  return {};
}

void StoreServer::serve() {
  auto last = Clock::now();
  for (;;) {
    std::vector<pollfd> files = {{waker.descriptor(), POLLIN, 0}};
    {
      std::lock_guard lock(mutex);
      if (strangers() < mostStrangers)
        files.push_back({listener.descriptor(), POLLIN, 0});
      for (const Peer &peer : peers)
        files.push_back(
            {peer.connection.descriptor(),
             short(peer.connection.waiting() ? POLLIN | POLLOUT : POLLIN), 0});
    }
    constexpr int roundMilliseconds = 20;
    poll(files.data(), files.size(), roundMilliseconds);
    uint64_t ignored;
    (void)!read(waker.descriptor(), &ignored, sizeof(ignored));

    std::lock_guard lock(mutex);
    auto now = Clock::now();
    // A time in which this process was stopped is nobody's silence.
    if (now - last > storeTime(1))
      for (RankPlace &place : places)
        place.deadline += now - last;
    last = now;
    accept();
    for (auto peer = peers.begin(); peer != peers.end();) {
      std::string lost;
      bool open = peer->connection.exchange(lost);
      for (Message message; !peer->leaves && peer->connection.next(message);)
        handle(*peer, message);
      bool strange = peer->rank < 0 && now - peer->connection.heard() >
                                           storeTime(greetingSeconds);
      bool gone = peer->leaves && peer->connection.waiting() == 0;
      if (open && !strange && !gone) {
        ++peer;
        continue;
      }
      if (!open && !peer->leaves)
        lose(*peer, lost);
      if (peer->rank >= 0)
        places[peer->rank].peer = nullptr;
      peer = peers.erase(peer);
    }
    release();
    watch(now);
    if (ending && !endBy) {
      endBy = now + storeTime(graceSeconds);
      for (Peer &peer : peers)
        peer.connection.queue(MessageKind::End);
    }
    if (endBy && (peers.empty() || now > *endBy))
      return;
    changed.notify_all();
  }
}

int64_t StoreServer::strangers() const {
  return std::count_if(peers.begin(), peers.end(),
                       [](const Peer &p) { return p.rank < 0; });
}

void StoreServer::accept() {
  while (strangers() < mostStrangers) {
    Socket socket = acceptFrom(listener);
    if (socket.descriptor() < 0)
      return;
    peers.emplace_back(std::move(socket)).spoken = Clock::now();
  }
}

void StoreServer::refuse(Peer &peer, const std::string &why) {
  peer.connection.queue(MessageKind::Refuse, why);
  peer.leaves = true;
}

void StoreServer::greet(Peer &peer, const Message &message) {
  Greeting said, mine;
  mine.artifact = options.artifact;
  mine.run = checksum(options.run);
  if (message.kind != MessageKind::Hello || !unpack(message.bytes, said) ||
      std::memcmp(said.magic, mine.magic, sizeof(mine.magic)) != 0) {
    // Not even worth an answer.
    peer.leaves = true;
    return;
  }
  if (said.run != mine.run)
    return refuse(peer, "rank 0 belongs to another run");
  if (said.size != int64_t(places.size()) || said.rank < 0 ||
      said.rank >= said.size)
    return refuse(peer, "rank " + std::to_string(said.rank) + " of " +
                            std::to_string(said.size) + ", rank 0 expects " +
                            std::to_string(places.size()) + " ranks");
  RankPlace &place = places[said.rank];
  if (!place.address.empty())
    return refuse(peer, "rank " + std::to_string(said.rank) +
                            " has come already, from " + place.address);
  if (said.artifact != mine.artifact) {
    refuse(peer, "rank 0 runs another artifact");
    fail({Code::InvalidArgument, said.rank,
          "rank " + std::to_string(said.rank) + " at " +
              peer.connection.peer() + " runs another artifact than rank 0"});
    return;
  }
  peer.rank = said.rank;
  place.peer = &peer;
  place.address = peer.connection.peer();
  peer.connection.setLimit(StoreConnection::mostBytes);
  peer.connection.queue(MessageKind::Welcome);
  if (failure)
    peer.connection.queue(MessageKind::Abort, packed(*failure));
}

void StoreServer::lose(Peer &peer, const std::string &why) {
  peer.leaves = true;
  if (peer.rank < 0 || ending)
    return;
  const RankPlace &place = places[peer.rank];
  fail({Code::RankFailed, peer.rank,
        "rank " + std::to_string(peer.rank) + " at " + place.address +
            " was lost, last heard of in " +
            entry.describe(place.state.command) + ": " + why});
}

void StoreServer::fail(const Failure &cause) {
  if (failure)
    return;
  failure = cause;
  for (Peer &peer : peers)
    if (peer.rank >= 0)
      peer.connection.queue(MessageKind::Abort, packed(cause));
}
