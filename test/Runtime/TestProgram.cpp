//===- TestProgram.cpp - small artifacts made by hand ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "Patience.h"
#include "tp/Runtime/Processor.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {
std::string makeFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "tp-test-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    abort();
  return pattern;
}
} // namespace

TemporaryFolder::TemporaryFolder() : path(makeFolder()) {}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string TemporaryFolder::write(const std::string &name,
                                   const std::string &bytes) const {
  std::ofstream(file(name), std::ios::binary) << bytes;
  return file(name);
}

std::string tp::test::builtFile(const std::string &path) {
  const char *folder = std::getenv("TP_TEST_FILES");
  return folder ? folder + path.substr(path.rfind('/')) : path;
}

std::string tp::test::readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TestProgram::TestProgram(std::vector<std::pair<std::string, int64_t>> axes) {
  manifest = {{"version", 1},
              {"producer", "test"},
              {"target",
               {{"kind", "cpu"},
                {"triple", Processor::current().architecture + "-test"},
                {"features", json::array()}}},
              {"entry", "main"},
              {"mesh", {{"axes", json::array()}, {"device_order", {}}}},
              {"arguments", json::array()},
              {"results", json::array()},
              {"groups", json::array()},
              {"collectives", json::array()},
              {"asserts", json::array()},
              {"memory", {{"arena_bytes", 0}, {"scratch_bytes", 0}}},
              {"program", json::array()}};
  for (const auto &[name, size] : axes)
    manifest["mesh"]["axes"].push_back({{"name", name}, {"size", size}});
}

int64_t TestProgram::ranks() const {
  int64_t ranks = 1;
  for (const json &axis : manifest["mesh"]["axes"])
    ranks *= axis["size"].get<int64_t>();
  return ranks;
}

static json shardedPort(const std::string &name, const std::string &kind,
                        const std::string &dtype, int64_t local,
                        int64_t ranks) {
  json parts = json::array();
  for (int64_t r = 0; r < ranks; ++r)
    parts.push_back(json::array(
        {{{"global", {r * local}}, {"local", {0}}, {"size", {local}}}}));
  return {{"name", name},   {"kind", kind},
          {"dtype", dtype}, {"shape", {ranks * local}},
          {"parts", parts}, {"local_shape", {local}}};
}

int64_t TestProgram::addArgument(const std::string &name,
                                 const std::string &dtype, int64_t local) {
  manifest["arguments"].push_back(
      shardedPort(name, "user_input", dtype, local, ranks()));
  return manifest["arguments"].size() - 1;
}

int64_t TestProgram::addResult(const std::string &name,
                               const std::string &dtype, int64_t local) {
  manifest["results"].push_back(
      shardedPort(name, "user_output", dtype, local, ranks()));
  return manifest["results"].size() - 1;
}

int64_t TestProgram::addReplicated(const char *side, const std::string &name,
                                   const std::string &dtype,
                                   const std::vector<int64_t> &shape) {
  json zeros = json::array(), parts = json::array();
  for (size_t i = 0; i < shape.size(); ++i)
    zeros.push_back(0);
  for (int64_t r = 0; r < ranks(); ++r)
    parts.push_back(
        json::array({{{"global", zeros}, {"local", zeros}, {"size", shape}}}));
  bool argument = side == std::string("arguments");
  manifest[side].push_back({{"name", name},
                            {"kind", argument ? "user_input" : "user_output"},
                            {"dtype", dtype},
                            {"shape", shape},
                            {"local_shape", shape},
                            {"parts", parts}});
  return manifest[side].size() - 1;
}

int64_t TestProgram::addGroup(const std::vector<std::vector<int64_t>> &ranks) {
  int64_t id = manifest["groups"].size();
  manifest["groups"].push_back({{"id", id}, {"ranks", ranks}});
  return id;
}

int64_t TestProgram::addCollective(const std::string &kind,
                                   const std::string &dtype,
                                   const std::string &reduction, int64_t group,
                                   int64_t members, const json &input,
                                   const json &output, int64_t outer,
                                   int64_t block) {
  int64_t id = manifest["collectives"].size();
  bool wide = kind != "all_reduce" && kind != "permute";
  int64_t bytes =
      outer * block * byteSize(*parseDataType(dtype)) * (wide ? members : 1);
  manifest["collectives"].push_back(
      {{"id", id},
       {"kind", kind},
       {"group", group},
       {"dtype", dtype},
       {"reduction", reduction},
       {"order", "rank"},
       {"payload_bytes", bytes},
       {"wire_bytes", bytes},
       {"ring_bytes_per_rank", 0},
       {"module", "layer." + std::to_string(id)},
       {"location", kind + "_" + std::to_string(id)}});
  manifest["program"].push_back({{"command", "collective"},
                                 {"id", id},
                                 {"input", input},
                                 {"output", output},
                                 {"outer", outer},
                                 {"block", block}});
  return id;
}

void TestProgram::addKernel(const std::string &function,
                            const std::vector<json> &buffers) {
  manifest["program"].push_back({{"command", "kernel"},
                                 {"function", function},
                                 {"buffers", buffers},
                                 {"module", "mlp"},
                                 {"location", function + "_loc"}});
  code = readFile(builtFile(TP_TEST_KERNELS));
}

std::string TestProgram::write(const std::string &path) const {
  ArtifactWriter writer;
  writer.addSection("manifest", manifest.dump());
  if (!code.empty())
    writer.addSection("code", code);
  if (!constants.empty())
    writer.addSection("constants", constants);
  EXPECT_OK(writer.write(path));
  return path;
}

std::unique_ptr<Artifact> TestProgram::open() const {
  std::unique_ptr<Artifact> artifact;
  EXPECT_OK(Artifact::open(write(folder->file("program.tp")), artifact));
  return artifact;
}

json tp::test::argumentBuffer(int64_t index, int64_t offset) {
  return {{"space", "argument"}, {"index", index}, {"offset", offset}};
}
json tp::test::resultBuffer(int64_t index, int64_t offset) {
  return {{"space", "result"}, {"index", index}, {"offset", offset}};
}
json tp::test::arenaBuffer(int64_t offset) {
  return {{"space", "arena"}, {"offset", offset}};
}
json tp::test::constantBuffer(int64_t offset) {
  return {{"space", "constant"}, {"offset", offset}};
}

static Status runOne(const Artifact &artifact, Transport &transport,
                     int64_t number, const std::function<void(Rank &)> &fill,
                     const std::function<RankOptions(int64_t)> &options,
                     int64_t steps) {
  RankOptions chosen;
  chosen.timeoutSeconds = patience();
  if (options)
    chosen = options(number);
  std::unique_ptr<Rank> rank;
  if (Status status = Rank::create(artifact, transport, number, chosen, rank);
      !status.ok())
    return status;
  if (fill)
    fill(*rank);
  if (Status status = transport.barrier(number, chosen.timeoutSeconds);
      !status.ok())
    return status;
  for (int64_t i = 0; i < steps; ++i)
    if (Status status = rank->step(); !status.ok())
      return status;
  return {};
}

TestRun tp::test::runRanks(const Artifact &artifact, Mode mode,
                           const std::function<void(Rank &)> &fill,
                           const std::function<RankOptions(int64_t)> &options,
                           int64_t steps, const std::optional<Fault> &fault) {
  TestRun run;
  int64_t ranks = artifact.manifest().numRanks();
  run.statuses.resize(ranks);
  run.layout = std::make_unique<RankMemory>(artifact.manifest());
  if (mode == Mode::Threads) {
    EXPECT_OK(createThreadTransport(artifact.manifest(), run.transport));
    if (fault)
      run.transport =
          injectFault(std::move(run.transport), artifact.manifest(), *fault,
                      /*processes=*/false);
    std::vector<std::thread> threads;
    for (int64_t r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        run.statuses[r] =
            runOne(artifact, *run.transport, r, fill, options, steps);
      });
    for (std::thread &thread : threads)
      thread.join();
    return run;
  }
  int descriptor = -1;
  EXPECT_OK(
      createProcessTransport(artifact.manifest(), run.transport, descriptor));
  std::vector<pid_t> children;
  for (int64_t r = 0; r < ranks; ++r) {
    pid_t child = fork();
    if (child == 0) {
      std::unique_ptr<Transport> attached;
      Status status =
          attachProcessTransport(artifact.manifest(), descriptor, attached);
      if (status.ok())
        status = runOne(artifact, *attached, r, fill, options, steps);
      std::strncpy(attached->mailbox(r), status.message().c_str(),
                   Transport::mailboxBytes - 1);
      _exit(int(status.code()));
    }
    children.push_back(child);
  }
  for (int64_t r = 0; r < ranks; ++r) {
    int ended = 0;
    waitpid(children[r], &ended, 0);
    Code code = WIFEXITED(ended) ? Code(WEXITSTATUS(ended)) : Code::System;
    if (code != Code::Ok)
      run.statuses[r] = Status(code, run.transport->mailbox(r));
  }
  return run;
}

void tp::test::expectError(const Status &status, const std::string &part) {
  EXPECT_FALSE(status.ok()) << "expected an error with '" << part << "'";
  EXPECT_NE(status.message().find(part), std::string::npos)
      << "'" << status.message() << "' does not hold '" << part << "'";
}
