//===- InputLoader.h - where arguments come from ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_INPUTLOADER_H
#define TP_TOOLS_TP_RUN_DATA_INPUTLOADER_H

#include "Options.h"
#include "tp/Runtime/Array.h"
#include "tp/Runtime/Artifact.h"
#include <map>

namespace tp::run {

/// Where every argument comes from. Weights are mapped one by one, each while a
/// rank takes its slice, and a rank reads its slices only.
class InputLoader {
public:
  /// Finds and checks all arguments: present, dtype, shape.
  static runtime::Status open(const Options &options,
                              const runtime::EntryView &entry,
                              InputLoader &loader);

  /// Writes a rank's slice of argument `index`, or a part of that, into
  /// `buffer`, which has the local shape of `slice`. Fails where a weight is
  /// rounded and has an element that is too large for that.
  runtime::Status fillPart(int64_t index, const runtime::RankSlice &slice,
                           char *buffer) const;

  /// Loads the rank's slices of all arguments.
  runtime::Status fill(runtime::Rank &rank) const;
  /// The same of those that have a file per step.
  runtime::Status fillStep(runtime::Rank &rank, int64_t step) const;

  /// The same of integers that steps update: a position that grows from step to
  /// step would leave the tensors that it is an index of.
  runtime::Status fillCounters(runtime::Rank &rank) const;

  /// By key: of --load-state what only other entries of the artifact have.
  const std::map<std::string, runtime::ArraySource> &statesOfOthers() const {
    return loadedOfOthers;
  }

  /// What users may want to know of what they gave.
  const std::vector<std::string> &notes() const { return toldNotes; }

private:
  /// A tensor of a file, and where in its argument the first element stands.
  struct Part {
    runtime::ArraySource array;
    std::vector<int64_t> offset;
  };

  static runtime::Status
  fillFrom(const Part &part, const runtime::RankSlice &slice, char *buffer);
  void setWhole(int64_t index, runtime::ArraySource array);
  runtime::Status loadState(const Options &options,
                            const runtime::EntryView &entry);
  runtime::Status bindInputs(const Options &options,
                             const runtime::EntryView &entry);
  runtime::Status fillArgument(runtime::Rank &rank, int64_t index) const;
  runtime::Status bindWeights(const Options &options,
                              const runtime::EntryView &entry);

  std::optional<uint64_t> randomSeed;
  /// By argument: one, or those of a weight that is joined; none for random
  /// data and dead arguments.
  std::vector<std::vector<Part>> parts;
  /// By argument; of those with a file per step the arrays of all steps.
  std::map<int64_t, std::vector<runtime::Array>> arraysOfSteps;
  std::vector<int64_t> ofSteps;
  std::map<std::string, runtime::ArraySource> loadedOfOthers;
  std::vector<std::string> toldNotes;
};

/// The keys of an argument in a file of several tensors: those of a weight that
/// is one tensor, then its name.
std::vector<std::string> tensorKeys(const runtime::Port &port);

/// Fails unless `array`, which `place` names, may be the argument `port`, or a
/// part of `shape` of it.
runtime::Status checkArray(const runtime::Port &port,
                           const std::vector<int64_t> &shape,
                           const runtime::ArraySource &array,
                           const std::string &place);

/// Reads an array from a .npy or .safetensors file: there, the only tensor, or
/// the one of the first key that the file has.
runtime::Status readArrayFile(const std::string &path,
                              const std::vector<std::string> &keys,
                              std::optional<runtime::DataType> rawType,
                              runtime::Array &array);

/// Gives every file the index of a port: by name, or of those in `order` that
/// no name took, the next one. `option` is for messages.
runtime::Status bindFiles(const std::vector<NamedFile> &files,
                          const std::vector<runtime::Port> &ports,
                          const std::vector<int64_t> &order, const char *option,
                          const char *side, std::vector<int64_t> &indices);

/// Fills a rank's slice of an argument with values that depend on the seed, the
/// argument and the global element index alone.
void fillRandom(const runtime::RankSlice &slice, int64_t argument,
                uint64_t seed, char *buffer);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_INPUTLOADER_H
