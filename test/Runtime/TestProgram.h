//===- TestProgram.h - small artifacts made by hand -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_TESTPROGRAM_H
#define TP_TEST_RUNTIME_TESTPROGRAM_H

#include "tp/Runtime/Artifact.h"
#include "tp/Runtime/CreateRank.h"
#include "tp/Runtime/FaultTransport.h"
#include "tp/Runtime/Transport.h"
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace tp::test {

using nlohmann::json;

/// A folder that is removed with all it holds.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  std::string file(const std::string &name) const { return path + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const;
  const std::string path;
};

std::string readFile(const std::string &path);
/// A file that the build made, where it lies now: TP_TEST_FILES is the folder
/// to which it was brought to run elsewhere.
std::string builtFile(const std::string &path);

/// Builds a manifest piece by piece. Ports are one-dimensional and different
/// on every rank unless said otherwise.
struct TestProgram {
  explicit TestProgram(std::vector<std::pair<std::string, int64_t>> axes);
  virtual ~TestProgram() = default;

  int64_t ranks() const;
  /// Every rank holds `local` elements of a global array of ranks * local, in
  /// the order of the mesh.
  int64_t addArgument(const std::string &name, const std::string &dtype,
                      int64_t local);
  int64_t addResult(const std::string &name, const std::string &dtype,
                    int64_t local);
  /// The result "next_..." that is the argument's next value.
  int64_t addNext(const std::string &argument, const std::string &dtype,
                  int64_t local, bool inPlace = true);
  /// All ranks hold the whole array.
  int64_t addReplicated(const char *side, const std::string &name,
                        const std::string &dtype,
                        const std::vector<int64_t> &shape);
  /// Over the axes along which the mesh, with its device order, has these
  /// groups.
  int64_t addGroup(const std::vector<std::vector<int64_t>> &ranks);
  /// Adds the row and the command; `members` is the group's size.
  int64_t addCollective(const std::string &kind, const std::string &dtype,
                        const std::string &reduction, int64_t group,
                        int64_t members, const json &input, const json &output,
                        int64_t outer, int64_t block);
  void addKernel(const std::string &function, const std::vector<json> &buffers);
  /// The entry of another program as a further one of this. They share weights,
  /// which both have in the same order.
  void addEntry(const TestProgram &other);

  void setConstants(const std::vector<float> &numbers);

  /// Writes and opens it.
  std::unique_ptr<runtime::Artifact> open() const;
  virtual std::string write(const std::string &path) const;

  /// A manifest of one entry, flat: see `document`.
  json manifest;
  /// Each as it is in the document.
  json furtherEntries = json::array();
  std::string code, constants;
  std::shared_ptr<TemporaryFolder> folder = std::make_shared<TemporaryFolder>();
};

/// The manifest of which `flat` says everything at the top level: what belongs
/// to its one entry ("name", "results", "collectives", "memory", "program" and
/// "end_waits_for"), and in "arguments" weights and inputs in the order of the
/// signature.
json document(const json &flat);

/// The only entry of a manifest.
inline runtime::EntryView entryOf(const runtime::Manifest &manifest) {
  return {manifest, manifest.entries.front()};
}

json argumentBuffer(int64_t index, int64_t offset = 0);
json resultBuffer(int64_t index, int64_t offset = 0);
json arenaBuffer(int64_t offset);
json constantBuffer(int64_t offset);

/// LimitedProcesses have a limit of the address space, so that none maps
/// another's memory.
enum class Mode { Threads, Processes, LimitedProcesses };
inline const char *nameOf(Mode mode) {
  return mode == Mode::Threads     ? "Threads"
         : mode == Mode::Processes ? "Processes"
                                   : "LimitedProcesses";
}

/// What became of a run: one status per rank, and the memory it left.
struct TestRun {
  std::unique_ptr<runtime::Transport> transport;
  std::vector<runtime::Status> statuses;
  std::unique_ptr<runtime::RankMemory> layout;

  template <typename T> const T *result(int64_t rank, int64_t index) const {
    return reinterpret_cast<const T *>(transport->memory(rank) +
                                       layout->results[index]);
  }
};

/// Calls `body` for each rank in a thread or process of its own, after filling
/// the arguments by `fill`. A process's status is in its mailbox. The fault is
/// one of a thread.
TestRun
runRanks(const runtime::Artifact &artifact, Mode mode,
         const std::function<void(runtime::Rank &)> &fill,
         const std::function<runtime::RankOptions(int64_t)> &options = {},
         int64_t steps = 1, const std::optional<runtime::Fault> &fault = {});

#define EXPECT_OK(expression)                                                  \
  do {                                                                         \
    ::tp::runtime::Status status_ = (expression);                              \
    EXPECT_TRUE(status_.ok()) << status_.message();                            \
  } while (false)
#define ASSERT_OK(expression)                                                  \
  do {                                                                         \
    ::tp::runtime::Status status_ = (expression);                              \
    ASSERT_TRUE(status_.ok()) << status_.message();                            \
  } while (false)

/// The status is an error whose message holds `part`.
void expectError(const runtime::Status &status, const std::string &part);

} // namespace tp::test

#endif // TP_TEST_RUNTIME_TESTPROGRAM_H
