//===- SavedState.h - state from and to a file ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state is an argument that a result of some entry updates. A file of saved
// state has the whole tensors by the keys that --weights looks for too, so that
// it does not depend on the mesh. A folder of saved state is a checkpoint,
// which has the parameters that no result updates too.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_SAVEDSTATE_H
#define TP_TOOLS_TP_RUN_DATA_SAVEDSTATE_H

#include "InputLoader.h"
#include "tp/Runtime/SafeTensors.h"
#include "tp/Runtime/Transport.h"
#include <map>

namespace tp::run {

/// The arguments of an entry that are states and that a rank holds, by their
/// keys in files.
runtime::Status statesOf(const runtime::EntryView &entry,
                         std::map<std::string, int64_t> &states);

/// The parameters that a rank holds and no result updates, by their keys.
std::map<std::string, int64_t> keptParameters(const runtime::EntryView &entry);

/// What --load-state names.
struct LoadedState {
  /// By argument of the entry.
  std::map<int64_t, runtime::ArraySource> arguments;
  /// By key: what other entries of the artifact have.
  std::map<std::string, runtime::ArraySource> others;

  /// Every state of the entry is there, and nothing that is no state of any.
  /// With `compares` the checksums of a folder are compared.
  static runtime::Status open(const std::string &path, bool compares,
                              const runtime::EntryView &entry,
                              LoadedState &state);
};

/// What --save-state asks for, checked before anything runs.
class StateToSave {
public:
  static runtime::Status open(const Options &options,
                              const runtime::EntryView &entry,
                              StateToSave &state);

  /// The numbers of the results that are next values.
  std::vector<int64_t> results() const;

  /// Writes what the ranks have after the last step, and of states that the
  /// entry does not update what was loaded.
  runtime::Status write(const runtime::EntryView &entry,
                        const InputLoader &loader,
                        runtime::Transport &transport) const;

private:
  /// The elements of an argument after the last step.
  runtime::Status elements(const runtime::EntryView &entry, int64_t argument,
                           const InputLoader &loader,
                           runtime::Transport &transport,
                           runtime::Array &array) const;

  /// Empty: nothing is saved.
  std::string path;
  std::map<std::string, int64_t> states;
  /// By argument: the result that updates it.
  std::map<int64_t, int64_t> updates;
};

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_SAVEDSTATE_H
