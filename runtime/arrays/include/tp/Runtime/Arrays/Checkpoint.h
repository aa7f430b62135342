//===- Checkpoint.h - folders of checkpoints --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of .safetensors files with an index, model.safetensors.index.json
// (docs/training.md). The index is renamed into its place when all files are on
// the disk, so that at every moment the folder is the old checkpoint or the new
// one. python/tp/ranks/checkpoint_folder.py reads and writes the same.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_ARRAYS_CHECKPOINT_H
#define TP_RUNTIME_ARRAYS_CHECKPOINT_H

#include "tp/Runtime/SafeTensors.h"

namespace tp::runtime {

/// Whether a path that --save-state or --load-state names is a checkpoint: a
/// folder, or a free name that does not end in .safetensors.
bool isCheckpointPath(const std::string &path);

/// A checkpoint whose files are open.
class Checkpoint {
public:
  /// With `compares` all checksums have been compared.
  static Status open(const std::string &folder, bool compares,
                     Checkpoint &checkpoint);

  /// Of parameters and buffers, then of all else.
  const std::vector<std::string> &keys() const { return names; }
  Status source(const std::string &key, ArraySource &source) const;

private:
  std::map<std::string, SafeTensors> files;
  std::map<std::string, std::string> places;
  std::vector<std::string> names;
};

/// Fails where no checkpoint could be written.
Status checkCheckpointPlace(const std::string &folder);

/// Writes a checkpoint with one tensor at a time in memory, in files of up to
/// `mostBytes`. A failure leaves the old checkpoint.
Status writeCheckpoint(const std::string &folder,
                       const std::map<std::string, ArraySource> &model,
                       const std::map<std::string, ArraySource> &state,
                       int64_t mostBytes);

/// The name of the index.
inline constexpr const char *checkpointIndex = "model.safetensors.index.json";
/// Of the index's form.
inline constexpr int64_t checkpointVersion = 1;
/// Whether a file of the folder is one that a checkpoint has written.
bool isCheckpointFile(const std::string &name);

} // namespace tp::runtime

#endif // TP_RUNTIME_ARRAYS_CHECKPOINT_H
