//===- FolderStore.cpp - ranks of one host find each other ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FolderMeeting.h"
#include "SegmentTransport.h"
#include <unistd.h>

using namespace tp::runtime;

/// Of a run that has failed before it started.
static Status failed(const Failure &failure, int64_t rank) {
  return {failure.rank == rank ? failure.code : Code::RankFailed,
          failure.message};
}

/// Rank 0 makes the memory, the others open it.
static Status openMemory(FolderMeeting &meeting, int64_t rank,
                         SharedSegment &memory) {
  if (rank == 0) {
    if (Status status = memory.mapNewFile(); !status.ok())
      return status;
    return meeting.invite(memory.descriptor());
  }
  if (Status status = meeting.find(); !status.ok())
    return status;
  if (Status status = meeting.claim(); !status.ok())
    return status;
  // The memory of a run that has failed may have no more than a head.
  if (std::optional<Failure> failure = meeting.failure())
    return failed(*failure, rank);
  if (Status status = meeting.checkEqual(); !status.ok())
    return status;
  return memory.mapFile(meeting.descriptor());
}

Status tp::runtime::joinFolder(const EntryView &entry,
                               const FolderOptions &options, int64_t rank,
                               std::unique_ptr<Transport> &transport) {
  FolderMeeting meeting(options, rank, entry.numRanks());
  auto made = std::make_unique<SegmentTransport>(entry);
  if (Status status = openMemory(meeting, rank, made->memorySegment());
      !status.ok())
    return status;
  made->watchPeersOf(rank);
  Status status = made->attach(rank);
  if (status.ok())
    status = made->barrier(rank, options.startTimeout);
  if (status.ok()) {
    transport = std::move(made);
    return status;
  }
  // A rank that comes later finds the memory only as long as rank 0 is there.
  if (rank == 0)
    meeting.awaitClaims();
  meeting.withdraw();
  std::optional<Failure> failure = made->failure();
  return failure ? failed(*failure, rank) : status;
}

void tp::runtime::failFolder(const FolderOptions &options, int64_t rank,
                             int64_t size, const Failure &failure) {
  FolderMeeting meeting(options, rank, size);
  if (rank != 0) {
    if (meeting.find().ok() && meeting.claim().ok())
      meeting.fail(failure);
    return;
  }
  int descriptor = -1;
  if (!SharedSegment::makeFile(SegmentHead(size).bytes(), descriptor).ok())
    return;
  SharedSegment::failIn(descriptor, failure);
  if (meeting.invite(descriptor).ok())
    meeting.awaitClaims();
  meeting.withdraw();
  close(descriptor);
}
