//===- Results.h - results to files and comparisons -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_RESULTS_H
#define TP_TOOLS_TP_RUN_DATA_RESULTS_H

#include "Options.h"
#include "tp/Runtime/Array.h"
#include "tp/Runtime/Transport.h"

namespace tp::run {

/// What --output and --expected-output ask for, checked against the manifest
/// before anything runs.
class ResultRequests {
public:
  static runtime::Status open(const Options &options,
                              const runtime::EntryView &entry,
                              ResultRequests &requests);

  /// The numbers of the results that are asked for.
  std::vector<int64_t> results() const;

  /// Writes and compares the results in the ranks' memory. Prints a line per
  /// comparison; a mismatch is an error.
  runtime::Status finish(const Options &options,
                         const runtime::EntryView &entry,
                         runtime::Transport &transport) const;

  /// Whether `finish` prints nothing, nor does --stats.
  bool printsNothing(const Options &options) const;

private:
  runtime::Status write(const Options &options, const runtime::EntryView &entry,
                        runtime::Transport &transport) const;

  std::vector<int64_t> outputs, compared, summarised;
  std::vector<runtime::Array> expected;
};

/// The whole of a result, of which every element is held by some rank.
runtime::Status gatherResult(const runtime::EntryView &entry, int64_t result,
                             runtime::Transport &transport,
                             runtime::Array &array);

/// How far a result is from what was expected.
struct Comparison {
  int64_t elements = 0;
  int64_t different = 0;
  double maxError = 0;
  /// The element that exceeds its tolerance most, if one does.
  int64_t worstIndex = -1;
  int64_t worstRank = -1;
  double worstGot = 0, worstExpected = 0;
  /// Its error minus what is allowed; infinite for NaN.
  double worstExcess = -1;

  /// |got - expected| <= atol + rtol * |expected|; NaN equals nothing.
  void add(double got, double expected, double atol, double rtol, int64_t index,
           int64_t rank);
};

/// Compares the elements that `rank` holds of a result.
void compareRank(const runtime::RankSlice &slice, int64_t rank,
                 const char *buffer, const runtime::Array &expected,
                 double atol, double rtol, Comparison &comparison);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_RESULTS_H
