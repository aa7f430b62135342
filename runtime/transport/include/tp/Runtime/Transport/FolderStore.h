//===- FolderStore.h - ranks of one host find each other --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_FOLDERSTORE_H
#define TP_RUNTIME_TRANSPORT_FOLDERSTORE_H

#include "tp/Runtime/Transport.h"

namespace tp::runtime {

struct FolderOptions {
  /// It has to exist.
  std::string folder;
  /// Ranks of a run of another name are refused.
  std::string run;
  /// The run fails if a rank names another artifact, or a checksum of other
  /// data that the ranks are given, than rank 0.
  uint64_t artifact = 0, data = 0;
  /// How long to wait for rank 0, and without a heartbeat for the others.
  double startTimeout = 300;
};

/// For ranks of one host that a launcher starts. Rank 0 makes the ranks' memory
/// and writes into a file of the folder where it can be opened; it removes the
/// file when all have. Comes back when all ranks are there.
///
/// Each rank joins once: a second process of its number is refused. From then
/// on the others' waits end when its process ends. A file that another run has
/// left, or uses to start, is an error.
Status joinFolder(const EntryView &entry, const FolderOptions &options,
                  int64_t rank, std::unique_ptr<Transport> &transport);

/// For a rank of `size` that fails before it can join: the others' joinFolder
/// ends with its failure. Comes back when the others know it, or after the
/// start time-out.
void failFolder(const FolderOptions &options, int64_t rank, int64_t size,
                const Failure &failure);

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_FOLDERSTORE_H
