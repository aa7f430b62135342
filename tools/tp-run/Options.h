//===- Options.h - the command line of tp-run -------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_OPTIONS_H
#define TP_TOOLS_TP_RUN_OPTIONS_H

#include "Data/Literal.h"
#include "tp/Runtime/DataType.h"
#include "tp/Runtime/Launch/LaunchRanks.h"
#include <optional>
#include <string>
#include <vector>

namespace tp::run {

/// `name=@path`, or `@path` for the next one in order.
struct NamedFile {
  std::string name;
  std::string path;
  /// Of an input, in place of a path: the array itself.
  std::optional<Literal> literal;
  /// Of an input whose path is a pattern: the files of the steps, in order, of
  /// which `path` is the first.
  std::vector<std::string> steps;

  /// As the user wrote it, behind `--input=`.
  std::string text() const;
};

enum class RankMode { Thread, Process };

struct Options {
  std::string artifact;
  std::optional<int64_t> ranks;
  std::vector<std::string> weights;
  std::vector<NamedFile> inputs, expected, outputs;
  /// Ports to draw; those without a path as text.
  std::vector<NamedFile> shardings;
  /// Files of states; empty: none.
  std::string loadState, saveState;
  /// What raw elements of .npy files are.
  std::optional<runtime::DataType> rawType;
  double atol = 1e-5, rtol = 1e-4;
  int64_t repeat = 1;
  /// Whether --repeat says so.
  bool repeatIsGiven = false;
  /// What the keys of weight files have before the names of weights, or, behind
  /// a `-`, lack.
  std::string weightsPrefix;
  bool stats = false, info = false, json = false, quiet = false, help = false,
       version = false;
  RankMode rankMode = RankMode::Thread;
  /// Whether --transport says so.
  bool transportIsGiven = false;
  double timeout = 300, startTimeout = 300;
  bool poison = false;
  std::optional<int64_t> onlyRank;
  bool skipCollectives = false;
  std::optional<uint64_t> randomSeed;
  std::string trace, commandTimes;
  /// A folder in which ranks that a launcher starts find each other, or where
  /// rank 0 serves them.
  std::string store;
  std::optional<runtime::StoreAddress> storeAddress;
  /// For a .mlir file: handed to tp-compile.
  std::string plan, mesh, target, chip;
  /// Libraries that compute ops.
  std::vector<std::string> links;
  /// The function that ranks run; empty: the only one.
  std::string entry;

  std::optional<runtime::Fault> fault;

  /// Of a rank's process: who it is.
  std::optional<runtime::ProcessRank> process;

  runtime::LaunchOptions launchOptions() const;
  runtime::StoreLocation storeLocation() const;
  /// Whether the numbers that steps compute mean nothing.
  bool isUnreal() const { return randomSeed || skipCollectives; }
};

/// Reads the command line; checks what can be checked without the artifact.
runtime::Status parseOptions(int argc, char **argv, Options &options);

/// Finds the files of inputs whose path is a pattern: as many as there are
/// steps.
runtime::Status findStepFiles(Options &options);

const char *usage();

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_OPTIONS_H
