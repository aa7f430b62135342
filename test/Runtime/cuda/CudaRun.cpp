//===- CudaRun.cpp - tp-run on devices that are the host ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "Patience.h"
#include <cstdlib>
#include <sys/wait.h>

using namespace tp::test;
using namespace tp::runtime;

CudaOutcome CudaRun::run(const std::string &arguments,
                         const std::string &environment,
                         const std::string &streams) {
  std::string out = "out" + streams + ".txt", err = "err" + streams + ".txt";
  const char *tool = std::getenv("TP_TEST_RUN");
  std::string command = "cd " + folder.path + " && env TMPDIR=" + folder.path +
                        " TP_CUDA_CACHE=" + folder.path;
  if (!onRealDevice())
    command += " TP_CUDA_DRIVER=" TP_FAKE_CUDA " TP_NCCL=" TP_FAKE_NCCL
               " TP_CUBLASLT=" TP_FAKE_CUBLASLT " TP_CUDNN=" TP_FAKE_CUDNN;
  command += " " + environment + " timeout " + secondsText(patience()) + " " +
             (tool ? tool : TP_RUN) + " " + arguments + " >" + out + " 2>" +
             err;
  int status = std::system(command.c_str());
  CudaOutcome outcome;
  outcome.exitStatus = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.out = readFile(folder.file(out));
  outcome.err = readFile(folder.file(err));
  return outcome;
}

void tp::test::addEverything(
    TestProgram &program, int64_t ranks,
    const std::function<void(const char *function, const json &from,
                             const json &to)> &launch) {
  int64_t x = program.addArgument("x", "f32", 64);
  int64_t wide = ranks * 64;
  int64_t y = program.addArgument("y", "f32", wide);
  program.addResult("r0", "f32", wide);
  program.addResult("r1", "f32", 64);
  program.addResult("r2", "f32", wide);
  program.addResult("r3", "f32", 64);
  program.addResult("r4", "f32", 64);
  program.manifest["memory"]["arena_bytes"] = 8192;
  std::vector<int64_t> all, ring;
  for (int64_t r = 0; r < ranks; ++r) {
    all.push_back(r);
    ring.push_back((r + 1) % ranks);
  }
  int64_t group = program.addGroup({all});
  json a = arenaBuffer(0), b = arenaBuffer(256), c = arenaBuffer(512),
       d = arenaBuffer(768), e = arenaBuffer(1024);
  launch("scale", argumentBuffer(x), a);
  program.addCollective("all_reduce", "f32", "sum", group, ranks, a, b, 1, 64);
  // Beside the collective, which it does not touch.
  launch("scale", a, c);
  // Writes what the collective reads, then reads what it writes.
  launch("scale", c, a);
  launch("scale", b, d);
  json product = {{"command", "gemm"},
                  {"dtype", "f32"},
                  {"m", 8},
                  {"n", 8},
                  {"k", 8},
                  {"a", {{"buffer", d}, {"ld", 8}}},
                  {"b", {{"buffer", a}, {"ld", 8}, {"transpose", true}}},
                  {"c", {{"buffer", e}, {"ld", 8}}},
                  {"module", "mlp"},
                  {"location", "linear"}};
  program.manifest["program"].push_back(product);
  program.addCollective("all_gather", "f32", "", group, ranks, e,
                        resultBuffer(0), 2, 32);
  program.addCollective("reduce_scatter", "f32", "max", group, ranks,
                        argumentBuffer(y), resultBuffer(1), 2, 32);
  program.addCollective("all_to_all", "f32", "", group, ranks,
                        argumentBuffer(y), resultBuffer(2), 2, 32);
  program.addCollective("permute", "f32", "", group, ranks, e, resultBuffer(3),
                        1, 64);
  program.manifest["program"].back()["sources"] = ring;
  launch("scale", resultBuffer(3), resultBuffer(4));
}

TestProgram tp::test::everythingOnHost(int64_t ranks) {
  TestProgram program({{"tp", ranks}});
  addEverything(program, ranks,
                [&](const char *function, const json &from, const json &to) {
                  program.addKernel(function, {from, to});
                });
  return program;
}

CudaProgram tp::test::everythingOnDevice(int64_t ranks, bool known) {
  CudaProgram program({{"tp", ranks}});
  addEverything(program, ranks,
                [&](const char *function, const json &from, const json &to) {
                  program.addLaunch(function,
                                    {known ? accessed(from, 256, "read") : from,
                                     known ? accessed(to, 256, "write") : to},
                                    64);
                });
  // The kernel 2 runs beside the all_reduce 1. The commands 3 and 4 come behind
  // that, the all_gather 6 behind the product, the last kernel behind permute.
  if (known)
    program.inQueues({{1, 0}, {3, 1}, {6, 5}, {10, 9}});
  return program;
}
