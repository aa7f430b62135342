//===- WrittenBuffers.h - what commands have written ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_WRITTENBUFFERS_H
#define TP_RUNTIME_WRITTENBUFFERS_H

#include "tp/Runtime/Manifest.h"
#include <map>

namespace tp::runtime {

/// The bytes of results and of the arena that the commands so far may have
/// written. Arguments and constants hold something from the start.
class WrittenBuffers {
public:
  explicit WrittenBuffers(const Manifest &manifest)
      : spaces(manifest.results.size() + 1) {}

  /// `bytes` from the buffer's offset on are written; nothing: some are, of a
  /// number that the manifest does not say.
  void write(const BufferRef &buffer, std::optional<int64_t> bytes);
  /// True if a command may have written one of `bytes` from the buffer's offset
  /// on, or where there are none.
  bool mayHold(const BufferRef &buffer, int64_t bytes) const;

private:
  struct Bytes {
    /// Begin to end, apart from each other.
    std::map<int64_t, int64_t> ranges;
    /// From here on anything may be written.
    std::optional<int64_t> openFrom;
  };
  /// Nothing for what holds something from the start.
  std::optional<size_t> spaceOf(const BufferRef &buffer) const;

  /// The results, then the arena.
  std::vector<Bytes> spaces;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_WRITTENBUFFERS_H
