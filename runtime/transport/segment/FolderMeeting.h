//===- FolderMeeting.h - how a rank finds the others ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 makes the segment and writes the file "tp-ranks" into the folder,
// which names its process and descriptor. The others open the segment there,
// and rank 0 removes the file when all have. Every rank claims its number in
// the segment, once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_SEGMENT_FOLDERMEETING_H
#define TP_RUNTIME_TRANSPORT_SEGMENT_FOLDERMEETING_H

#include "SharedSegment.h"
#include "tp/Runtime/Transport/FolderStore.h"

namespace tp::runtime {

/// What the file says.
struct FolderFile {
  uint64_t segment = 0;
  ProcessIdentity process;
  int descriptor = -1;

  std::string text() const;
  static std::optional<FolderFile> parse(const std::string &text);
};

/// One rank's part in the start of a run.
class FolderMeeting {
public:
  FolderMeeting(const FolderOptions &options, int64_t rank, int64_t size);
  ~FolderMeeting();

  /// Rank 0: makes the memory file behind `descriptor` that of this run, claims
  /// its number, and writes the file, which must not exist.
  Status invite(int descriptor);
  /// The others: wait for the file and open what it names.
  Status find();
  /// The others, then: claim their number in a run of this name.
  Status claim();
  /// An error, which all ranks get, unless they run the same program on the
  /// same data.
  Status checkEqual();
  void fail(const Failure &failure) { head.control().fail(failure); }
  std::optional<Failure> failure() const { return head.control().failure(); }
  /// Rank 0, after a failure: waits until every rank has claimed its number
  /// and so sees it, up to the start time-out.
  void awaitClaims() const;
  /// Rank 0: removes the file.
  void withdraw();

  /// The memory file of rank 0, on the others.
  int descriptor() const { return opened; }

private:
  using Clock = std::chrono::steady_clock;

  bool isLate() const;
  Status checkFolder() const;
  /// Nothing if there is none yet.
  Status read(std::optional<FolderFile> &file) const;
  Status open(const FolderFile &file);
  Status leftOver(const FolderFile &file) const;
  Status taken(const FolderFile &file) const;
  Status cannotMeet(const std::string &why) const;

  const FolderOptions &options;
  int64_t rank;
  std::string path;
  Clock::time_point begin = Clock::now();
  SegmentHead head;
  int opened = -1;
  /// What rank 0 has written; empty if it has not.
  std::string written;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_SEGMENT_FOLDERMEETING_H
