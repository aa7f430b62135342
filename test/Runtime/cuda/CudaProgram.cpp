//===- CudaProgram.cpp - small artifacts for devices ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaProgram.h"

using namespace tp::test;
using namespace tp::runtime;

CudaProgram::CudaProgram(std::vector<std::pair<std::string, int64_t>> axes)
    : TestProgram(std::move(axes)) {
  manifest["target"] = {{"kind", "cuda"}, {"chips", {"host"}}};
}

bool tp::test::onRealDevice() { return std::getenv("TP_TEST_PTX"); }

void CudaProgram::addLaunch(const std::string &function,
                            const std::vector<json> &buffers,
                            int64_t elements) {
  manifest["program"].push_back({{"command", "kernel"},
                                 {"function", function},
                                 {"grid", {(elements + 127) / 128, 1, 1}},
                                 {"block", {128, 1, 1}},
                                 {"shared_bytes", 0},
                                 {"flops", elements},
                                 {"bytes", 8 * elements},
                                 {"buffers", buffers},
                                 {"module", "mlp"},
                                 {"location", function + "_loc"}});
  hostCode = readFile(builtFile(TP_TEST_CUDA_KERNELS));
}

void CudaProgram::addGemm(const std::string &dtype, int64_t m, int64_t n,
                          int64_t k, const json &a, const json &b,
                          const json &c) {
  manifest["program"].push_back({{"command", "gemm"},
                                 {"dtype", dtype},
                                 {"m", m},
                                 {"n", n},
                                 {"k", k},
                                 {"a", {{"buffer", a}, {"ld", k}}},
                                 {"b", {{"buffer", b}, {"ld", n}}},
                                 {"c", {{"buffer", c}, {"ld", n}}},
                                 {"module", "mlp"},
                                 {"location", "linear"}});
}

static bool isCollective(const json &command) {
  return command.contains("command") && command["command"] == "collective";
}

/// Puts collectives into their queue.
static void nameQueues(json &program) {
  for (json &command : program)
    if (isCollective(command))
      command["queue"] = "communication";
}

void CudaProgram::inQueues(
    const std::vector<std::pair<int64_t, int64_t>> &waits) {
  nameQueues(manifest["program"]);
  for (auto [command, awaited] : waits)
    manifest["program"][command]["wait_for"] = awaited;
}

json tp::test::inQueues(json manifest) {
  json &program = manifest["program"];
  for (const json &command : program)
    if (command.contains("queue"))
      return manifest;
  nameQueues(program);
  // By queue: its last command, and the last that the other one has waited for.
  int64_t last[2] = {-1, -1}, known[2] = {-1, -1};
  for (size_t i = 0; i < program.size(); ++i) {
    int own = isCollective(program[i]), other = 1 - own;
    if (last[other] > known[other])
      program[i]["wait_for"] = known[other] = last[other];
    last[own] = i;
  }
  if (last[1] > known[1])
    manifest["end_waits_for"] = last[1];
  return manifest;
}

std::string CudaProgram::write(const std::string &path) const {
  json written = tp::test::inQueues(manifest);
  for (json &row : written["collectives"])
    row["order"] = "library";
  ArtifactWriter writer;
  writer.addSection("manifest", document(written).dump());
  if (!hostCode.empty())
    writer.addSection("cubin.host", hostCode);
  if (onRealDevice() && !hostCode.empty())
    writer.addSection("ptx", readFile(std::getenv("TP_TEST_PTX")));
  for (const auto &[name, bytes] : sections)
    writer.addSection(name, bytes);
  if (!constants.empty())
    writer.addSection("constants", constants);
  EXPECT_OK(writer.write(path));
  return path;
}

json tp::test::accessed(json buffer, int64_t bytes, const char *access) {
  buffer["bytes"] = bytes;
  buffer["access"] = access;
  return buffer;
}
