//===- FolderStore.h - ranks of one host find each other --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FOLDERSTORE_H
#define TP_RUNTIME_FOLDERSTORE_H

#include "tp/Runtime/Transport.h"

namespace tp::runtime {

struct FolderOptions {
  std::string folder;
  /// Ranks that name another artifact are refused; its path, for messages.
  uint64_t artifact = 0;
  std::string program;
  /// How long to wait for rank 0, and without a heartbeat for the others.
  double startTimeout = 300;
};

/// For ranks of one host that a launcher starts. Rank 0 makes the ranks' memory
/// and writes into a file of the folder where it can be opened; it removes the
/// file when all have. Comes back when all ranks are there.
Status joinFolder(const EntryView &entry, const FolderOptions &options,
                  int64_t rank, std::unique_ptr<Transport> &transport);

} // namespace tp::runtime

#endif // TP_RUNTIME_FOLDERSTORE_H
