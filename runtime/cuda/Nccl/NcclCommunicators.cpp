//===- NcclCommunicators.cpp - the communicators of a rank ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclCommunicators.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

using Clock = std::chrono::steady_clock;

/// Where rank 0 puts NCCL's unique id in its mailbox, after its report.
static constexpr size_t idOffset =
    Transport::mailboxBytes - sizeof(ncclUniqueId);

std::vector<bool> NcclCommunicators::usedGroups() const {
  std::vector<bool> used(entry.groups.size());
  for (const Command &command : entry.program)
    if (const auto *call = std::get_if<CollectiveCommand>(&command.what)) {
      int64_t group = entry.collectives[call->collective].group;
      used[group] = entry.groups[group].size() > 1;
    }
  return used;
}

bool NcclCommunicators::needed() const {
  std::vector<bool> used = usedGroups();
  return std::find(used.begin(), used.end(), true) != used.end();
}

Status NcclCommunicators::connect(int64_t rank) {
  number = rank;
  for (const RankGroup &group : entry.groups) {
    NcclMember &member = members.emplace_back();
    member.ranks = entry.mesh.groupOf(rank, group.axes);
    member.position = positionOf(entry.coordinates(rank), group.axes);
  }
  if (!needed())
    return {};
  std::vector<bool> grouped = usedGroups();
  Status status = connectAll();
  for (size_t i = 0; i < entry.groups.size() && status.ok(); ++i) {
    if (!grouped[i])
      continue;
    std::vector<std::vector<int64_t>> lists =
        entry.mesh.groups(entry.groups[i].axes);
    int64_t color = 0;
    for (size_t list = 0; list < lists.size(); ++list)
      if (lists[list] == members[i].ranks)
        color = list;
    status = split(members[i], color);
    ncclComm_t made = members[i].communicator;
    if (status.ok() && std::find(used.begin(), used.end(), made) == used.end())
      used.push_back(made);
  }
  return status.within("rank " + std::to_string(rank) +
                       " cannot connect to the others");
}

bool NcclCommunicators::release(const std::function<void()> &destroyGraphs,
                                double seconds) {
  // No call of NCCL is made for a communicator whose abort has begun.
  std::vector<ncclComm_t> ending = std::exchange(communicators, {});
  used.clear();
  if (ending.empty()) {
    destroyGraphs();
    return true;
  }
  struct Ended {
    std::mutex mutex;
    std::condition_variable changed;
    size_t count = 0;
  };
  auto ended = std::make_shared<Ended>();
  // These threads may outlive everything but the library's code.
  std::thread([=, abort = nccl->ncclCommAbort] {
    destroyGraphs();
    for (ncclComm_t communicator : ending)
      std::thread([=] {
        (void)abort.code(communicator);
        std::lock_guard lock(ended->mutex);
        ++ended->count;
        ended->changed.notify_all();
      }).detach();
  }).detach();
  std::unique_lock lock(ended->mutex);
  return ended->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                 [&] { return ended->count == ending.size(); });
}

Status NcclCommunicators::exchangeId(ncclUniqueId &id) {
  if (number == 0) {
    if (Status status = nccl->ncclGetUniqueId(&id); !status.ok())
      return status;
    std::memcpy(control.mailbox(0) + idOffset, &id, sizeof(id));
  }
  if (Status status = control.barrier(number, startTimeout); !status.ok())
    return status;
  std::memcpy(&id, control.mailbox(0) + idOffset, sizeof(id));
  return {};
}

/// What would else give wrong data, or a rank that waits for itself.
Status NcclCommunicators::checkExternal() const {
  int size = 0, rank = 0, ordinal = 0;
  Status status = nccl->ncclCommCount(external, &size);
  if (status.ok())
    status = nccl->ncclCommUserRank(external, &rank);
  if (status.ok())
    status = nccl->ncclCommCuDevice(external, &ordinal);
  std::string error;
  if (size != control.size())
    error = std::to_string(size) + " ranks, expected one of all " +
            std::to_string(control.size()) + " ranks of the artifact";
  else if (rank != number)
    error = "rank " + std::to_string(rank) + " here, expected rank " +
            std::to_string(number) + ": one whose ranks have their own numbers";
  else if (ordinal != device.number())
    error = "device " + std::to_string(ordinal) + ", the rank uses device " +
            std::to_string(device.number()) +
            ": choose the communicator's device for the rank";
  if (!status.ok())
    return status.within("the external communicator");
  return error.empty()
             ? Status()
             : invalidArgument("the external communicator has " + error);
}

Status NcclCommunicators::connectAll() {
  Status status = Nccl::open(nccl);
  if (external) {
    if (status.ok())
      status = checkExternal();
    world = external;
    return status;
  }
  // Others must not wait for a rank that lacks the library.
  ncclUniqueId id;
  if (status.ok())
    status = exchangeId(id);
  if (!status.ok())
    return status;
  // The calls come back at once, so that a rank which never comes does not
  // hang the others.
  ncclConfig_t config;
  config.blocking = 0;
  status = settled(nccl->ncclCommInitRankConfig.code(
                       &world, int(control.size()), id, int(number), &config),
                   nccl->ncclCommInitRankConfig, "ncclCommInitRankConfig",
                   world, startTimeout);
  if (world)
    communicators.push_back(world);
  return status;
}

Status NcclCommunicators::split(NcclMember &member, int64_t color) {
  bool everyone = int64_t(member.ranks.size()) == control.size() &&
                  std::is_sorted(member.ranks.begin(), member.ranks.end());
  // All ranks decide alike: with one list of all in order, nobody splits.
  // A communicator of the host program is never used itself.
  if (everyone && !external) {
    member.communicator = world;
    return {};
  }
  ncclConfig_t config;
  config.blocking = 0;
  int result = nccl->ncclCommSplit.code(world, int(color), int(member.position),
                                        &member.communicator, &config);
  Status status = settled(result, nccl->ncclCommSplit, "ncclCommSplit", world,
                          startTimeout);
  if (member.communicator) {
    communicators.push_back(member.communicator);
    if (status.ok())
      status = settle(member.communicator, "ncclCommSplit", startTimeout);
  }
  return status;
}

Status NcclCommunicators::settle(ncclComm_t communicator, const char *symbol,
                                 double seconds) const {
  Clock::time_point begin = Clock::now();
  for (int round = 0;; ++round) {
    ncclResult_t state = ncclSuccess;
    if (Status status = nccl->ncclCommGetAsyncError(communicator, &state);
        !status.ok())
      return status;
    if (state != ncclInProgress)
      return state == ncclSuccess ? Status() : nccl->failed(symbol, state);
    if (std::optional<Failure> cause = control.failure())
      return {Code::RankFailed, cause->message};
    if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds) {
      char text[32];
      std::snprintf(text, sizeof(text), "%g", seconds);
      return {Code::Timeout, std::string(symbol) + " has not ended after " +
                                 text + " s: not all ranks have called it"};
    }
    control.heartbeat(number);
    std::this_thread::sleep_for(
        std::chrono::microseconds(round < 100 ? 20 : 1000));
  }
}

Status NcclCommunicators::asynchronousError() const {
  for (ncclComm_t communicator : communicators) {
    ncclResult_t state = ncclSuccess;
    Status status = nccl->ncclCommGetAsyncError(communicator, &state);
    if (status.ok() && state != ncclSuccess && state != ncclInProgress)
      status = nccl->failed("asynchronous error of NCCL", state);
    if (!status.ok())
      return status;
  }
  return {};
}
