//===- tp-run.cpp - runs a compiled program on N ranks --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/Results.h"
#include "ErrorMessage.h"
#include "Launch/AddressSpace.h"
#include "Launch/CrashReport.h"
#include "Launch/Interrupts.h"
#include "Launch/Launch.h"
#include "Launch/Launcher.h"
#include "Launch/TemporaryArtifact.h"
#include "Report/Summary.h"
#include "tp/Runtime/MappedFile.h"
#include "tp/Runtime/OutputFile.h"
#include "tp/Runtime/Version.h"
#include <cstdio>
#include <cstdlib>
#include <new>

using namespace tp::run;
using namespace tp::runtime;

namespace {

Status checkRanks(const Options &options, const EntryView &entry) {
  int64_t size = entry.numRanks();
  if (options.ranks && *options.ranks != size)
    return invalidArgument("--ranks=" + std::to_string(*options.ranks) +
                           ": the artifact is for " + std::to_string(size) +
                           " ranks (mesh " + entry.mesh.text() + ")");
  if (options.onlyRank && *options.onlyRank >= size)
    return invalidArgument("--only-rank=" + std::to_string(*options.onlyRank) +
                           ": the artifact is for " + std::to_string(size) +
                           " ranks (mesh " + entry.mesh.text() + ")");
  return {};
}

/// Every file that the options write must be one that can be written, and not
/// one that is read or written too.
Status checkWritten(const Options &options) {
  std::vector<std::string> read = options.weights, written;
  read.push_back(options.artifact);
  for (const auto *files : {&options.inputs, &options.expected})
    for (const NamedFile &file : *files)
      read.push_back(file.path);
  for (const NamedFile &file : options.outputs)
    written.push_back(file.path);
  for (const std::string &path : {options.trace, options.commandTimes})
    if (!path.empty())
      written.push_back(path);
  // Of ranks that a launcher starts, on several hosts perhaps, the first one
  // writes.
  std::optional<LauncherInfo> launched = findLauncher();
  if (!options.store.empty() && launched && launched->rank > 0)
    return {};
  return checkOutputs(written, read);
}

Status run(const Options &options, const Artifact &artifact, char **argv) {
  const EntryView &entry = artifact.entry();
  if (Status status = checkRanks(options, entry); !status.ok())
    return status;
  if (options.fault)
    if (Status status = checkFault(entry, *options.fault); !status.ok())
      return status;
  if (!options.commandTimes.empty() && !entry.isCuda())
    return invalidArgument(std::string("--time-commands: the artifact is for "
                                       "target '") +
                           spelling(entry.manifest.target) +
                           "', expected 'cuda'");
  if (options.processRank)
    return runAsChild(options, artifact);
  bool oneRank = options.onlyRank || options.rankMode == RankMode::Process;
  if (Status status = checkAddressSpace(entry, oneRank ? 1 : entry.numRanks());
      !status.ok())
    return status;
  // Everything the user gave is checked before a rank starts.
  if (Status status = checkWritten(options); !status.ok())
    return status;
  ResultRequests requests;
  if (Status status = ResultRequests::open(options, entry, requests);
      !status.ok())
    return status;
  InputLoader loader;
  if (Status status = InputLoader::open(options, entry, loader); !status.ok())
    return status;
  FinishedRun finished;
  bool first = true;
  Status status = isLaunched(options, entry)
                      ? runLaunched(options, artifact, loader,
                                    requests.results(), finished, first)
                  : options.rankMode == RankMode::Process
                      ? runProcesses(options, artifact, argv, finished)
                      : runThreads(options, artifact, loader, finished);
  if (!status.ok() || !first)
    return status;
  if (Status unchanged =
          MappedFile::checkAllUnchanged(options.rankMode == RankMode::Process);
      !unchanged.ok())
    return unchanged;
  // Ranks of several hosts have written their own.
  if (!options.trace.empty() && !finished.store)
    if (Status traced = writeTrace(options.trace, entry, finished.times);
        !traced.ok())
      return traced;
  Status compared = requests.finish(options, entry, *finished.transport);
  if (options.stats)
    std::fputs(describeRun(options, artifact, *finished.transport).c_str(),
               stdout);
  if (options.stats && entry.isCuda() && !finished.times.empty())
    std::fputs(describeQueues(entry, finished.times).c_str(), stdout);
  return compared;
}

Status runTool(int argc, char **argv, Options &options) {
  if (Status status = parseOptions(argc, argv, options); !status.ok())
    return status;
  if (options.help) {
    std::fputs(usage(), stdout);
    return {};
  }
  if (options.version) {
    std::puts("tp " TP_VERSION);
    return {};
  }
  if (!options.processRank)
    handleInterrupts();
  TemporaryArtifact compiled;
  std::vector<char *> words(argv, argv + argc);
  std::string path;
  if (options.artifact.ends_with(".mlir")) {
    const std::string model = options.artifact;
    if (Status status = compiled.compile(options); !status.ok())
      return status;
    // Processes of ranks are given the artifact, not the model again.
    path = options.artifact;
    for (char *&word : words)
      if (word == model)
        word = path.data();
  } else if (!options.processRank &&
             !(options.plan + options.mesh + options.target + options.chip)
                  .empty()) {
    return invalidArgument("--plan, --mesh, --target and --chip are for a "
                           ".mlir file: an artifact is compiled already");
  }
  words.push_back(nullptr);
  std::unique_ptr<Artifact> artifact;
  bool onlyListed = options.info && !options.processRank;
  if (Status status =
          Artifact::open(options.artifact, artifact,
                         onlyListed ? Artifact::Contents::ManifestOnly
                                    : Artifact::Contents::All);
      !status.ok())
    return status;
  if (onlyListed) {
    std::fputs(describeArtifact(*artifact).c_str(), stdout);
    return {};
  }
  // A rank on a device is a process: one that hangs there can be ended.
  if (artifact->entry().isCuda() && !options.processRank)
    options.rankMode = RankMode::Process;
  return run(options, *artifact, words.data());
}

} // namespace

int main(int argc, char **argv) {
  prepareStreams();
  reportShortFiles();
  Options options;
  Status status;
  try {
    status = runTool(argc, argv, options);
  } catch (const std::bad_alloc &) {
    status = systemError("out of memory");
  }
  if (status.ok() && (std::fflush(stdout) != 0 || std::ferror(stdout)))
    status = fileError("cannot write to the standard output");
  if (status.ok())
    return 0;
  // A rank's process leaves its message to the parent, which shows the first
  // one of all ranks.
  if (options.processRank)
    abortProcesses(options.segmentFile,
                   {status.code(), *options.processRank, status.message()});
  else
    printError(status.message());
  // Without the destructors of libraries: one whose threads cannot get memory
  // waits for them forever.
  std::fflush(nullptr);
  std::_Exit(1);
}
