//===- StoreServerState.cpp - what the ranks have told rank 0 -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoreServer.h"
#include "tp/Runtime/Transport/AbsentRanks.h"
#include <algorithm>

using namespace tp::runtime;

bool StoreServer::keep(int64_t rank, std::string_view bytes) {
  int64_t offset = 0, size = RankMemory(entry).bytes;
  if (wanted.empty() || !take(bytes, offset) || offset < 0 || offset > size ||
      int64_t(bytes.size()) > size - offset)
    return false;
  std::memcpy(memory[rank] + offset, bytes.data(), bytes.size());
  kept += bytes.size();
  return true;
}

void StoreServer::handle(Peer &peer, const Message &message) {
  if (peer.rank < 0)
    return greet(peer, message);
  RankPlace &place = places[peer.rank];
  bool good = true;
  Failure reported;
  switch (message.kind) {
  case MessageKind::State:
    good = unpack(message.bytes, place.state);
    break;
  case MessageKind::Arrive:
    good = !place.arrived && unpack(message.bytes, place.arrival);
    place.arrived = good;
    place.state = place.arrival.state;
    place.mailbox.assign(place.arrival.mailbox, Transport::mailboxBytes);
    place.deadline = Clock::now() + storeTime(place.arrival.timeoutSeconds);
    place.heartbeats = heartbeats();
    break;
  case MessageKind::Where: {
    std::string commands;
    for (const RankPlace &other : places)
      commands += packed(other.state.command);
    peer.connection.queue(MessageKind::Here, commands);
    break;
  }
  case MessageKind::Fail:
    if ((good = unpack(message.bytes, reported)))
      fail(reported);
    break;
  case MessageKind::Report:
    good = message.bytes.size() == Transport::mailboxBytes;
    place.mailbox = message.bytes;
    place.reported = good;
    break;
  case MessageKind::Results:
    good = keep(peer.rank, message.bytes);
    break;
  case MessageKind::ResultsEnd:
    place.gathered = true;
    break;
  case MessageKind::Leave:
    peer.leaves = true;
    break;
  default:
    good = false;
  }
  if (!good)
    lose(peer, "it sent what no rank sends");
}

std::string StoreServer::describe(int64_t rank) const {
  const RankPlace &place = places[rank];
  std::string text = "rank " + std::to_string(rank);
  if (place.address.empty())
    return text + " has not come to " + options.address.text();
  return text + " at " + place.address + " is in " +
         entry.describe(place.state.command);
}

/// When all have come.
void StoreServer::release() {
  if (failure || !std::all_of(places.begin(), places.end(),
                              [](const RankPlace &p) { return p.arrived; }))
    return;
  ReleasedMessage answer;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    RankPlace &place = places[rank];
    place.arrived = false;
    if (place.arrival.loading != places[0].arrival.loading)
      return fail({Code::RankFailed, int64_t(rank),
                   "the ranks diverged: rank 0 is in " +
                       entry.describe(places[0].state.command) + ", " +
                       describe(rank)});
    if (answer.agreed == 0)
      answer.agreed = place.arrival.value;
  }
  std::memcpy(answer.mailbox, places[0].arrival.mailbox,
              sizeof(answer.mailbox));
  for (RankPlace &place : places)
    if (place.peer)
      place.peer->connection.queue(MessageKind::Released, packed(answer));
}

uint64_t StoreServer::heartbeats() const {
  uint64_t sum = 0;
  for (const RankPlace &place : places)
    // To have come is a sign too.
    sum += place.state.heartbeats + !place.address.empty();
  return sum;
}

void StoreServer::notJoined(int64_t rank) {
  std::string missing;
  int count = 0;
  bool areAllThere = true;
  for (size_t other = 0; other < places.size(); ++other)
    if (!places[other].arrived) {
      areAllThere &= !places[other].address.empty();
      missing += (count++ ? "; " : "") + describe(other);
    }
  if (!areAllThere)
    missing += adviceOnAbsentRanks;
  char waited[32];
  std::snprintf(waited, sizeof(waited), "%g",
                places[rank].arrival.timeoutSeconds);
  fail({Code::Timeout, rank,
        "rank " + std::to_string(rank) + " waited " + waited + " s in " +
            entry.describe(places[rank].state.command) + " for " +
            std::to_string(count) + " of " + std::to_string(places.size()) +
            " ranks that did not join: " + missing});
}

void StoreServer::watch(Clock::time_point now) {
  for (size_t rank = 0; rank < places.size() && !failure; ++rank) {
    RankPlace &place = places[rank];
    if (place.arrived && now > place.deadline) {
      if (place.arrival.loading && place.heartbeats != heartbeats()) {
        place.heartbeats = heartbeats();
        place.deadline = now + storeTime(place.arrival.timeoutSeconds);
      } else {
        notJoined(rank);
      }
    }
    if (place.peer && !ending &&
        now - place.peer->connection.heard() > storeTime(options.timeout)) {
      char silent[64];
      std::snprintf(silent, sizeof(silent), "nothing was heard of it for %g s",
                    options.timeout);
      lose(*place.peer, silent);
    }
  }
  for (Peer &peer : peers)
    if (peer.rank >= 0 &&
        now - peer.spoken >
            std::min(storeTime(1), storeTime(options.timeout / 4))) {
      peer.spoken = now;
      peer.connection.queue(MessageKind::Pulse);
    }
}

template <typename Done>
Status StoreServer::await(double limit, const Done &done) {
  std::unique_lock lock(mutex);
  auto deadline = Clock::now() + storeTime(limit);
  for (uint64_t had = kept; !failure;) {
    std::string missing;
    for (size_t rank = 0; rank < places.size() && missing.empty(); ++rank)
      if (!done(places[rank]))
        missing = describe(rank);
    if (missing.empty())
      return {};
    // Large results take as long as they take.
    if (had != kept)
      deadline = Clock::now() + storeTime(limit);
    had = kept;
    if (Clock::now() > deadline) {
      fail({Code::Timeout, 0,
            "a rank has not come to its end in time: " + missing});
      break;
    }
    changed.wait_until(lock, deadline + std::chrono::milliseconds(1));
  }
  return {failure->code, failure->message};
}

Status StoreServer::awaitReports(double limit) {
  return await(limit, [](const RankPlace &place) { return place.reported; });
}

Status StoreServer::gather(const std::vector<int64_t> &results, double limit) {
  {
    std::lock_guard lock(mutex);
    if (results.empty()) {
      complete = true;
      return {};
    }
    wanted = results;
    std::string numbers;
    for (int64_t result : results)
      numbers += packed(result);
    // Rank 0's own lie where they belong.
    places[0].gathered = true;
    for (RankPlace &place : places)
      if (place.peer && !place.gathered)
        place.peer->connection.queue(MessageKind::Want, numbers);
  }
  Status status =
      await(limit, [](const RankPlace &place) { return place.gathered; });
  std::lock_guard lock(mutex);
  complete = status.ok();
  return status;
}

std::string StoreServer::mailbox(int64_t rank) {
  std::lock_guard lock(mutex);
  return places[rank].mailbox;
}
