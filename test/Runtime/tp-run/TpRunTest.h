//===- TpRunTest.h - the tool from the outside ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_TP_RUN_TPRUNTEST_H
#define TP_TEST_RUNTIME_TP_RUN_TPRUNTEST_H

#include "TestProgram.h"
#include "tp/Runtime/Array.h"
#include <cmath>
#include <cstring>
#include <functional>
#include <sys/wait.h>

namespace tp::test {

struct Outcome {
  int exitStatus;
  std::string out, err;
};

/// y = x w^T over two ranks: x and w sharded along the contracted dimension, w
/// kept transposed, one all_reduce. y2 is y as every rank's own rows.
class TpRunTest : public testing::Test {
protected:
  void SetUp() override {
    TestProgram program({{"tp", 2}});
    auto sharded = [](const char *name, const char *kind, int64_t rows) {
      return json{{"name", name},
                  {"kind", kind},
                  {"dtype", "f32"},
                  {"shape", {rows, 4}},
                  {"layout", {{{"shard", 1}}}}};
    };
    program.manifest["arguments"] = {sharded("x", "user_input", 3),
                                     sharded("w", "parameter", 5)};
    program.manifest["arguments"][1]["storage"] = {{"permutation", {1, 0}}};
    program.manifest["arguments"][1]["source_keys"] = {"m.w"};
    program.addReplicated("results", "y", "f32", {3, 5});
    program.manifest["memory"]["arena_bytes"] = 64;
    int64_t group = program.addGroup({{0, 1}});
    program.manifest["program"].push_back(
        {{"command", "gemm"},
         {"dtype", "f32"},
         {"m", 3},
         {"n", 5},
         {"k", 2},
         {"a", {{"buffer", argumentBuffer(0)}, {"ld", 2}}},
         {"b", {{"buffer", argumentBuffer(1)}, {"ld", 5}}},
         {"c", {{"buffer", arenaBuffer(0)}, {"ld", 5}}},
         {"module", "m"},
         {"location", "linear"}});
    program.addCollective("all_reduce", "f32", "sum", group, 2, arenaBuffer(0),
                          resultBuffer(0), 1, 15);
    artifact = program.write(folder.file("m.tp"));

    std::vector<float> x(12), w(20), y(15);
    for (int i = 0; i < 12; ++i)
      x[i] = float(i + 1);
    for (int i = 0; i < 20; ++i)
      w[i] = float(i * i % 17);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 5; ++j)
        for (int k = 0; k < 4; ++k)
          y[i * 5 + j] += x[i * 4 + k] * w[j * 4 + k];
    writeArray("x.npy", {3, 4}, x);
    writeArray("y.npy", {3, 5}, y);
    y[7] += 1;
    writeArray("wrong.npy", {3, 5}, y);
    y[3] += 2;
    y[7] += 2;
    y[11] += 2;
    writeArray("wronger.npy", {3, 5}, y);
    y[3] -= 2;
    y[11] -= 2;
    y[7] = NAN;
    writeArray("nan.npy", {3, 5}, y);
    writeArray("short.npy", {3, 4}, x);
    json header = {
        {"m.w",
         {{"dtype", "F32"}, {"shape", {5, 4}}, {"data_offsets", {0, 80}}}}};
    writeWeights("w.safetensors", header, w);
    header["m.w"]["shape"] = {4, 5};
    writeWeights("turned.safetensors", header, w);
  }

  template <typename T>
  void writeArray(const char *name, std::vector<int64_t> shape,
                  const std::vector<T> &values,
                  runtime::DataType dtype = runtime::DataType::F32) {
    char *bytes = nullptr;
    runtime::Array array = runtime::makeArray(dtype, shape, bytes);
    std::memcpy(bytes, values.data(), array.bytes());
    EXPECT_OK(runtime::writeNpy(folder.file(name), array));
  }
  void writeWeights(const char *name, const json &header,
                    const std::vector<float> &values) {
    std::string text = header.dump();
    uint64_t length = text.size();
    std::string bytes(reinterpret_cast<const char *>(&length), 8);
    bytes += text;
    bytes.append(reinterpret_cast<const char *>(values.data()),
                 values.size() * 4);
    folder.write(name, bytes);
  }

  Outcome run(const std::string &arguments) {
    std::string command = "cd " + folder.path + " && " + TP_RUN + " " +
                          arguments + " >out.txt 2>err.txt";
    int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            readFile(folder.file("out.txt")), readFile(folder.file("err.txt"))};
  }
  /// Exit status 1, one line on stderr that holds `part`, nothing on stdout.
  void expectFailure(const std::string &arguments, const std::string &part,
                     const std::string &otherPart = "") {
    SCOPED_TRACE(arguments);
    expectFailed(run(arguments), part, otherPart);
  }
  static void expectFailed(const Outcome &outcome, const std::string &part,
                           const std::string &otherPart) {
    EXPECT_EQ(outcome.exitStatus, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find("tp-run: error: "), 0u) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(otherPart), std::string::npos) << outcome.err;
  }

  /// The artifact with another manifest.
  void writeChanged(const char *name,
                    const std::function<void(json &)> &change) {
    runtime::ArtifactFile file;
    ASSERT_OK(runtime::ArtifactFile::open(artifact, file));
    json manifest = json::parse(*file.section("manifest"));
    change(manifest);
    runtime::ArtifactWriter writer;
    writer.addSection("manifest", manifest.dump());
    ASSERT_OK(writer.write(folder.file(name)));
  }

  /// A program of one rank whose result "y" is its argument "a".
  void writeIdentity(const char *name, const char *dtype, int64_t size) {
    TestProgram program({{"tp", 1}});
    program.addArgument("a", dtype, size);
    program.addReplicated("results", "y", dtype, {size});
    program.addCollective("all_gather", dtype, "", program.addGroup({{0}}), 1,
                          argumentBuffer(0), resultBuffer(0), 1, size);
    program.write(folder.file(name));
  }

  const std::string good = "m.tp --weights=w.safetensors --input=x=@x.npy ";
  TemporaryFolder folder;
  std::string artifact;
};

} // namespace tp::test

#endif // TP_TEST_RUNTIME_TP_RUN_TPRUNTEST_H
