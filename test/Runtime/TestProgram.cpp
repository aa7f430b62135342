//===- TestProgram.cpp - small artifacts made by hand ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "Patience.h"
#include "tp/Runtime/Processor.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sys/resource.h>
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
  manifest = {{"version", 2},
              {"producer", "test"},
              {"target",
               {{"kind", "cpu"},
                {"triple", Processor::current().architecture + "-test"},
                {"features", json::array()}}},
              {"name", "main"},
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

static bool isWeight(const json &port) {
  return port.is_object() && port.contains("kind") &&
         port["kind"].is_string() &&
         roleOf(port["kind"].get_ref<const std::string &>()) != PortRole::Input;
}

json tp::test::document(const json &flat) {
  json whole = flat, entry = json::object();
  for (const char *key : {"name", "results", "collectives", "memory", "program",
                          "end_waits_for", "agree_at"})
    if (whole.contains(key)) {
      entry[key] = whole[key];
      whole.erase(key);
    }
  entry["inputs"] = json::array();
  if (whole.contains("arguments") && whole["arguments"].is_array()) {
    json weights = json::array(), signature = json::array();
    int64_t numWeights = 0;
    for (const json &port : whole["arguments"])
      numWeights += isWeight(port);
    for (const json &port : whole["arguments"]) {
      json &list = isWeight(port) ? weights : entry["inputs"];
      signature.push_back(list.size() + (isWeight(port) ? 0 : numWeights));
      list.push_back(port);
    }
    entry["signature"] = signature;
    whole["arguments"] = weights;
  }
  whole["entries"] = json::array({entry});
  return whole;
}

int64_t TestProgram::ranks() const {
  int64_t ranks = 1;
  for (const json &axis : manifest["mesh"]["axes"])
    ranks *= axis["size"].get<int64_t>();
  return ranks;
}

/// Sharded over all axes, the first one major.
static json shardedPort(const json &mesh, const std::string &name,
                        const std::string &kind, const std::string &dtype,
                        int64_t size) {
  json layout = json::array();
  for (size_t i = 0; i < mesh["axes"].size(); ++i)
    layout.push_back({{"shard", 0}});
  return {{"name", name},
          {"kind", kind},
          {"dtype", dtype},
          {"shape", {size}},
          {"layout", layout}};
}

int64_t TestProgram::addArgument(const std::string &name,
                                 const std::string &dtype, int64_t local) {
  manifest["arguments"].push_back(shardedPort(
      manifest["mesh"], name, "user_input", dtype, ranks() * local));
  return manifest["arguments"].size() - 1;
}

int64_t TestProgram::addResult(const std::string &name,
                               const std::string &dtype, int64_t local) {
  manifest["results"].push_back(shardedPort(
      manifest["mesh"], name, "user_output", dtype, ranks() * local));
  return manifest["results"].size() - 1;
}

int64_t TestProgram::addNext(const std::string &argument,
                             const std::string &dtype, int64_t local,
                             bool inPlace) {
  int64_t index = addResult("next_" + argument, dtype, local);
  manifest["results"][index]["updates"] = argument;
  if (inPlace)
    manifest["results"][index]["in_place"] = true;
  return index;
}

int64_t TestProgram::addReplicated(const char *side, const std::string &name,
                                   const std::string &dtype,
                                   const std::vector<int64_t> &shape) {
  bool argument = side == std::string("arguments");
  manifest[side].push_back({{"name", name},
                            {"kind", argument ? "user_input" : "user_output"},
                            {"dtype", dtype},
                            {"shape", shape}});
  return manifest[side].size() - 1;
}

/// Axes over which the mesh has groups of these ranks, each in this order; the
/// groups in any.
static std::optional<json> axesOf(const json &described,
                                  std::vector<std::vector<int64_t>> ranks) {
  Mesh mesh;
  for (const json &axis : described["axes"])
    mesh.axes.push_back({axis["name"], axis["size"]});
  if (described["device_order"].is_array())
    mesh.deviceOrder = described["device_order"].get<std::vector<int64_t>>();
  std::sort(ranks.begin(), ranks.end());
  std::vector<size_t> order(mesh.axes.size());
  std::iota(order.begin(), order.end(), 0);
  do
    for (size_t count = 0; count <= order.size(); ++count) {
      AxisParts parts;
      json axes = json::array();
      for (size_t i = 0; i < count; ++i) {
        parts.push_back(mesh.whole(order[i]));
        axes.push_back(mesh.axes[order[i]].name);
      }
      auto groups = mesh.groups(parts);
      std::sort(groups.begin(), groups.end());
      if (groups == ranks)
        return axes;
    }
  while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

int64_t TestProgram::addGroup(const std::vector<std::vector<int64_t>> &ranks) {
  int64_t id = manifest["groups"].size();
  std::optional<json> axes = axesOf(manifest["mesh"], ranks);
  EXPECT_TRUE(axes) << "the mesh has no such groups";
  manifest["groups"].push_back(
      {{"id", id}, {"axes", axes.value_or(json::array())}});
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

void TestProgram::addEntry(const TestProgram &other) {
  json document = test::document(other.manifest);
  EXPECT_EQ(document["arguments"], test::document(manifest)["arguments"]);
  furtherEntries.push_back(document["entries"][0]);
}

void TestProgram::setConstants(const std::vector<float> &numbers) {
  constants.assign(reinterpret_cast<const char *>(numbers.data()),
                   numbers.size() * sizeof(float));
}

std::string TestProgram::write(const std::string &path) const {
  json whole = document(manifest);
  for (const json &entry : furtherEntries)
    whole["entries"].push_back(entry);
  ArtifactWriter writer;
  writer.addSection("manifest", whole.dump());
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
                     int64_t steps, const std::optional<Fault> &fault) {
  RankOptions chosen;
  chosen.timeoutSeconds = patience();
  if (options)
    chosen = options(number);
  chosen.fault = fault;
  std::unique_ptr<Rank> rank;
  if (Status status = createRank(artifact, transport, number, chosen, rank);
      !status.ok())
    return status;
  if (fill)
    fill(*rank);
  if (Status status = rank->barrier(chosen.timeoutSeconds); !status.ok())
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
  int64_t ranks = artifact.entry().numRanks();
  run.statuses.resize(ranks);
  run.layout = std::make_unique<RankMemory>(artifact.entry());
  if (mode == Mode::Threads) {
    EXPECT_OK(createThreadTransport(artifact.entry(), run.transport));
    std::vector<std::thread> threads;
    for (int64_t r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        run.statuses[r] =
            runOne(artifact, *run.transport, r, fill, options, steps, fault);
      });
    for (std::thread &thread : threads)
      thread.join();
    return run;
  }
  int descriptor = -1;
  EXPECT_OK(
      createProcessTransport(artifact.entry(), run.transport, descriptor));
  std::vector<pid_t> children;
  for (int64_t r = 0; r < ranks; ++r) {
    pid_t child = fork();
    if (child == 0) {
      // That there is one counts, not what it is.
      rlimit space = {RLIM_INFINITY - 1, RLIM_INFINITY - 1};
      if (mode == Mode::LimitedProcesses)
        setrlimit(RLIMIT_AS, &space);
      std::unique_ptr<Transport> attached;
      Status status =
          attachProcessTransport(artifact.entry(), descriptor, attached);
      if (status.ok())
        status = runOne(artifact, *attached, r, fill, options, steps,
                        /*fault=*/std::nullopt);
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
