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

std::string CudaProgram::write(const std::string &path) const {
  json written = manifest;
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
