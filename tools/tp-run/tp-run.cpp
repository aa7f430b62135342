//===- tp-run.cpp - runs a compiled program on N ranks --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/InputLoader.h"
#include "Data/Results.h"
#include "Data/SavedState.h"
#include "Report/Summary.h"
#include "RunWork.h"
#include "TemporaryArtifact.h"
#include "tp/Runtime/Arrays/Checkpoint.h"
#include "tp/Runtime/Launch/AddressSpace.h"
#include "tp/Runtime/Launch/HostProgram.h"
#include "tp/Runtime/Launch/Interrupts.h"
#include "tp/Runtime/Launch/LaunchRanks.h"
#include "tp/Runtime/Launch/Launcher.h"
#include "tp/Runtime/Linked/LinkedOps.h"
#include "tp/Runtime/MappedFile.h"
#include "tp/Runtime/OutputFile.h"
#include "tp/Runtime/SafeTensors.h"
#include "tp/Runtime/Version.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <set>

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

bool isLaunchedRank(const Options &options, const EntryView &entry) {
  return isLaunched(options.launchOptions(), options.storeLocation(), entry);
}

/// Each process that a launcher starts would run all ranks.
Status checkNotLaunched(const Options &options, const EntryView &entry) {
  std::optional<LauncherInfo> launched = findLauncher();
  if (!launched || launched->size < 2 || options.onlyRank ||
      isLaunchedRank(options, entry))
    return {};
  return invalidArgument(
      launched->by + " started " + std::to_string(launched->size) +
      " processes, and each of them would run all " +
      std::to_string(entry.numRanks()) +
      " ranks: give --store=FOLDER, an empty folder, so that each is one rank, "
      "or start tp-run without " +
      launched->by);
}

std::string describeRanks(const Options &options, const EntryView &entry) {
  int64_t size = entry.numRanks();
  if (options.onlyRank)
    return "rank " + std::to_string(*options.onlyRank) + " of " +
           std::to_string(size);
  return std::to_string(size) + (size == 1 ? " rank" : " ranks");
}

/// Results that are an argument's next value, and are not fed back.
std::vector<std::string> notesOfUpdates(const Options &options,
                                        const EntryView &entry) {
  std::vector<std::string> notes;
  if (options.repeat == 1)
    return notes;
  bool counts = std::any_of(entry.results.begin(), entry.results.end(),
                            [](const Port &result) {
                              return result.update && !isFloat(result.dtype);
                            });
  if (options.isUnreal() && counts)
    notes.push_back(
        std::string("with ") +
        (options.randomSeed ? "--random-data" : "--skip-collectives") +
        " integers that steps update are set anew before every step");
  for (size_t i = 0; i < entry.results.size(); ++i)
    if (entry.results[i].kind.starts_with("new_") && !entry.results[i].update)
      notes.push_back(
          "result '" + portName(entry.results, int64_t(i)) +
          "' is not fed back: no argument of its name has its "
          "shape, dtype and layout; every step has the first one's");
  return notes;
}

/// Every file that the options write must be one that can be written, and not
/// one that is read or written too.
Status checkWritten(const Options &options) {
  std::vector<std::string> read = options.weights, written;
  read.push_back(options.artifact);
  if (!options.loadState.empty() && options.loadState != options.saveState)
    read.push_back(options.loadState);
  for (const auto *files : {&options.inputs, &options.expected})
    for (const NamedFile &file : *files) {
      if (!file.literal)
        read.push_back(file.path);
      read.insert(read.end(), file.steps.begin(), file.steps.end());
    }
  // One .safetensors file takes several results.
  std::set<std::string> outputs;
  for (const NamedFile &file : options.outputs)
    if (outputs.insert(file.path).second ||
        !file.path.ends_with(".safetensors"))
      written.push_back(file.path);
  bool isFolder =
      !options.saveState.empty() && isCheckpointPath(options.saveState);
  for (const std::string &path :
       {isFolder ? "" : options.saveState, options.trace, options.commandTimes})
    if (!path.empty())
      written.push_back(path);
  // Of ranks that a launcher starts, on several hosts perhaps, the first one
  // writes.
  std::optional<LauncherInfo> launched = findLauncher();
  if (!options.store.empty() && launched && launched->rank > 0)
    return {};
  OutputPlace place;
  if (!options.saveState.empty())
    if (Status status = isFolder ? checkCheckpointPlace(options.saveState)
                                 : findDurablePlace(options.saveState, place);
        !status.ok())
      return status;
  return checkOutputs(written, read);
}

/// One of the processes that runProcesses starts.
Status runRankProcess(const Options &options, const Artifact &artifact) {
  if (Status status = options.process->check(artifact); !status.ok())
    return status;
  InputLoader loader;
  if (Status status = InputLoader::open(options, artifact.entry(), loader);
      !status.ok())
    return status;
  return runAsProcess(options.launchOptions(), artifact, *options.process,
                      RunWork(options, loader));
}

/// trace.rank2.json
std::string ownTrace(const Options &options, int64_t rank) {
  std::filesystem::path path = options.trace;
  path.replace_extension(".rank" + std::to_string(rank) +
                         path.extension().string());
  return path;
}

Status checkOptions(const Options &options, const EntryView &entry) {
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
  return {};
}

/// Everything the user gave is checked before a rank starts.
Status prepare(const Options &options, const EntryView &entry,
               ResultRequests &requests, StateToSave &state,
               InputLoader &loader) {
  if (Status status = checkOptions(options, entry); !status.ok())
    return status;
  bool isProcess =
      options.rankMode == RankMode::Process || isLaunchedRank(options, entry);
  int64_t ranks = entry.numRanks();
  if (Status status =
          checkAddressSpace(entry, isProcess || options.onlyRank ? 1 : ranks,
                            isProcess ? 1 : ranks);
      !status.ok())
    return status;
  if (Status status = checkNotLaunched(options, entry); !status.ok())
    return status;
  if (Status status = checkWritten(options); !status.ok())
    return status;
  if (Status status = ResultRequests::open(options, entry, requests);
      !status.ok())
    return status;
  if (Status status = StateToSave::open(options, entry, state); !status.ok())
    return status;
  return InputLoader::open(options, entry, loader);
}

/// Of this process, before its rank has joined the others of a folder. They may
/// come late, so the user reads it first.
Status failEarly(const Options &options, const Status &status) {
  if (options.process || options.store.empty() || options.storeAddress)
    return status;
  printError(status.message());
  tellOthers(options.launchOptions(), options.storeLocation(), status);
  return {status.code(), ""};
}

Status run(const Options &options, const Artifact &artifact, char **argv) {
  const EntryView &entry = artifact.entry();
  if (options.process) {
    if (Status status = checkOptions(options, entry); !status.ok())
      return status;
    return runRankProcess(options, artifact);
  }
  ResultRequests requests;
  StateToSave state;
  InputLoader loader;
  if (Status status = prepare(options, entry, requests, state, loader);
      !status.ok())
    return failEarly(options, status);
  std::optional<LauncherInfo> launched = findLauncher();
  bool launchedRank = isLaunchedRank(options, entry);
  if (!options.quiet && (!launchedRank || !launched || launched->rank == 0)) {
    for (const std::string &note : loader.notes())
      printNote(note);
    for (const std::string &note : notesOfUpdates(options, entry))
      printNote(note);
  }
  RunWork work(options, loader);
  FinishedRun finished;
  int64_t rank = 0;
  std::set<int64_t> needed;
  for (const std::vector<int64_t> &some : {requests.results(), state.results()})
    needed.insert(some.begin(), some.end());
  Status status =
      launchedRank ? runLaunched(options.launchOptions(),
                                 options.storeLocation(), artifact, work,
                                 {needed.begin(), needed.end()}, finished, rank)
      : options.rankMode == RankMode::Process
          ? runProcesses(options.launchOptions(), artifact, argv, finished)
          : runThreads(options.launchOptions(), artifact, work, finished);
  // Hosts have clocks of their own: each rank writes its own trace.
  if (status.ok() && finished.store && !options.trace.empty())
    status = writeTrace(ownTrace(options, rank), entry, finished.times);
  if (!status.ok() || rank != 0)
    return status;
  if (Status unchanged =
          MappedFile::checkAllUnchanged(options.rankMode == RankMode::Process);
      !unchanged.ok())
    return unchanged;
  if (!options.trace.empty() && !finished.store)
    if (Status traced = writeTrace(options.trace, entry, finished.times);
        !traced.ok())
      return traced;
  if (Status saved = state.write(entry, loader, *finished.transport);
      !saved.ok())
    return saved;
  Status compared = requests.finish(options, entry, *finished.transport);
  if (options.stats)
    std::fputs(describeRun(options, artifact, *finished.transport).c_str(),
               stdout);
  if (options.stats && entry.isCuda() && !finished.times.empty())
    std::fputs(describeQueues(entry, finished.times).c_str(), stdout);
  if (compared.ok() && requests.printsNothing(options))
    std::printf("ran %lld step%s on %s\n", (long long)options.repeat,
                options.repeat == 1 ? "" : "s",
                describeRanks(options, entry).c_str());
  return compared;
}

/// What the user names; nothing without a name.
Status findEntry(const Options &options, const Artifact &artifact,
                 std::optional<int64_t> &index) {
  if (options.entry.empty())
    return {};
  Status status = artifact.findEntry(options.entry, index.emplace());
  return status.within("--entry");
}

/// One step is one entry's; which one of several, the user says.
Status selectEntry(const Options &options, Artifact &artifact) {
  std::optional<int64_t> named;
  if (Status status = findEntry(options, artifact, named); !status.ok())
    return status;
  int64_t index = named.value_or(0);
  if (!named && artifact.numHostEntries() > 1) {
    std::string names;
    for (const EntryView &entry : artifact.entries())
      if (!entry.part)
        names += (names.empty() ? "--entry=" : " or --entry=") + entry.name;
    return invalidArgument("the artifact has " +
                           std::to_string(artifact.numHostEntries()) +
                           " entries, expected " + names);
  }
  artifact.select(index);
  if (!options.trace.empty() && !artifact.manifest().partsOf(index).empty())
    return unsupported(
        "--trace: @" + artifact.entry().name +
        " keeps loops, whose commands run many times: expected "
        "a program without, compile with a larger --unroll-limit");
  return {};
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
  if (Status status = findStepFiles(options); !status.ok())
    return status;
  for (std::string &path : options.weights)
    if (Status status = findWeightFile(path); !status.ok())
      return failEarly(options, status);
  if (!options.process)
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
  } else if (!options.process &&
             !(options.plan + options.mesh + options.target + options.chip)
                  .empty()) {
    return invalidArgument("--plan, --mesh, --target and --chip are for a "
                           ".mlir file: an artifact is compiled already");
  }
  words.push_back(nullptr);
  std::unique_ptr<Artifact> artifact;
  bool onlyDrawn = !options.shardings.empty() && !options.process;
  bool onlyListed = (options.info || onlyDrawn) && !options.process;
  for (const std::string &library : options.links)
    if (Status status = linkLibrary(library); !status.ok())
      return failEarly(options, status.within("--link"));
  if (Status status =
          Artifact::open(options.artifact, artifact,
                         onlyListed ? Artifact::Contents::ManifestOnly
                                    : Artifact::Contents::All);
      !status.ok())
    return failEarly(options, status);
  if (onlyDrawn) {
    std::string shown;
    Status status = selectEntry(options, *artifact);
    if (status.ok())
      status = showShardings(options, artifact->entry(), shown);
    if (status.ok())
      std::fputs(shown.c_str(), stdout);
    return status;
  }
  if (onlyListed) {
    std::optional<int64_t> entry;
    if (Status status = findEntry(options, *artifact, entry); !status.ok())
      return status;
    std::fputs(options.json
                   ? (writeManifest(artifact->manifest()) + "\n").c_str()
                   : describeArtifact(*artifact, entry).c_str(),
               stdout);
    return {};
  }
  if (Status status = selectEntry(options, *artifact); !status.ok())
    return failEarly(options, status);
  // A rank on a device is a process: one that hangs there can be ended.
  if (artifact->entry().isCuda() && !options.process)
    options.rankMode = RankMode::Process;
  return run(options, *artifact, words.data());
}

} // namespace

int main(int argc, char **argv) {
  setHostProgram({"tp-run", TemporaryArtifact::removeAll});
  prepareStreams();
  reportShortFiles();
  Options options;
  Status status;
  try {
    status = runTool(argc, argv, options);
  } catch (const std::bad_alloc &) {
    status = systemError("out of memory");
  }
  if (status.ok() && (std::fflush(stdout) != 0 || std::ferror(stdout)) &&
      !isOutputClosed())
    status = fileError("cannot write to the standard output");
  if (status.ok())
    return 0;
  // A rank's process leaves its message to the parent, which shows the first
  // one of all ranks.
  if (options.process)
    abortProcesses(options.process->segmentFile,
                   {status.code(), options.process->rank, status.message()});
  else if (!status.message().empty())
    printError(status.message());
  // Without the destructors of libraries: one whose threads cannot get memory
  // waits for them forever.
  std::fflush(nullptr);
  std::_Exit(1);
}
