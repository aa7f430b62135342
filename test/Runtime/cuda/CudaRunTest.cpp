//===- CudaRunTest.cpp - programs on devices that are the host ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "tp/Runtime/Array.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

using namespace tp::test;
using namespace tp::runtime;

namespace {

class CudaRunTest : public testing::Test {
protected:
  std::string outputs(const std::string &prefix, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += " --output=r" + std::to_string(i) + "=@" + prefix +
              std::to_string(i) + ".npy";
    return text;
  }
  std::vector<int64_t> integers(const std::string &name) {
    Array array;
    EXPECT_OK(readNpy(folder.file(name), std::nullopt, array));
    std::vector<int64_t> values;
    for (int64_t i = 0; i < array.elements(); ++i)
      values.push_back(elementAsInteger(array.dtype, array.data, i));
    return values;
  }

  CudaRun folder;
};

/// Whatever the device does first, results are those of the CPU.
TEST_F(CudaRunTest, EqualsTheHost) {
  for (int64_t ranks : {1, 2, 4}) {
    everythingOnHost(ranks).write(folder.file("host.tp"));
    CudaOutcome host =
        folder.run("host.tp --random-data=3" + outputs("h", everythingResults));
    ASSERT_EQ(host.exitStatus, 0) << host.err;
    for (bool known : {true, false}) {
      everythingOnDevice(ranks, known).write(folder.file("device.tp"));
      for (const char *order : {"first", "last", "7"}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, order " + order +
                     (known ? "" : ", sizes unknown"));
        CudaOutcome device =
            folder.run("device.tp --random-data=3 --repeat=3 --poison" +
                           outputs("d", everythingResults),
                       std::string("TP_FAKE_ORDER=") + order);
        ASSERT_EQ(device.exitStatus, 0) << device.err;
        EXPECT_EQ(device.err, "");
        for (int i = 0; i < everythingResults; ++i) {
          Array h, d;
          ASSERT_OK(readNpy(folder.file("h" + std::to_string(i) + ".npy"),
                            std::nullopt, h));
          ASSERT_OK(readNpy(folder.file("d" + std::to_string(i) + ".npy"),
                            std::nullopt, d));
          ASSERT_EQ(h.shape, d.shape);
          for (int64_t e = 0; e < h.elements(); ++e)
            ASSERT_NEAR(elementAsDouble(h.dtype, h.data, e),
                        elementAsDouble(d.dtype, d.data, e), 1e-4)
                << "r" << i << "[" << e << "]";
        }
      }
    }
  }
  // NCCL's folder, and no others, have been removed.
  for (const auto &entry : std::filesystem::directory_iterator(
           std::filesystem::path(folder.file(""))))
    EXPECT_FALSE(entry.is_directory()) << entry.path();
}

/// Groups that are some of the ranks, in another order than theirs, and types
/// that are only moved; nothing comes before the first collective.
TEST_F(CudaRunTest, GroupsOfSomeRanks) {
  CudaProgram program({{"dp", 2}, {"tp", 2}});
  program.manifest["mesh"]["device_order"] = {2, 1, 0, 3};
  program.addArgument("a", "i64", 2);
  program.addResult("sum", "i64", 2);
  program.addResult("all", "i64", 4);
  program.addResult("alone", "i64", 2);
  int64_t columns = program.addGroup({{2, 0}, {1, 3}});
  int64_t rows = program.addGroup({{2, 1}, {0, 3}});
  int64_t single = program.addGroup({{0}, {1}, {2}, {3}});
  program.addCollective("all_reduce", "i64", "sum", columns, 2,
                        argumentBuffer(0), resultBuffer(0), 1, 2);
  program.addCollective("all_gather", "i64", "", rows, 2, argumentBuffer(0),
                        resultBuffer(1), 1, 2);
  program.addCollective("all_reduce", "i64", "max", single, 1,
                        argumentBuffer(0), resultBuffer(2), 1, 2);
  program.write(folder.file("m.tp"));
  char *bytes = nullptr;
  Array array = makeArray(DataType::I64, {8}, bytes);
  for (int64_t i = 0; i < 8; ++i)
    std::memcpy(bytes + i * 8, &i, 8);
  ASSERT_OK(writeNpy(folder.file("a.npy"), array));
  CudaOutcome done =
      folder.run("m.tp --input=@a.npy --output=sum=@sum.npy --repeat=3 "
                 "--output=all=@all.npy --output=alone=@alone.npy --poison");
  ASSERT_EQ(done.exitStatus, 0) << done.err;
  EXPECT_EQ(integers("sum.npy"),
            (std::vector<int64_t>{4, 6, 8, 10, 4, 6, 8, 10}));
  EXPECT_EQ(
      integers("all.npy"),
      (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7}));
  EXPECT_EQ(integers("alone.npy"),
            (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(CudaRunTest, KernelsKnowWhereTheyRun) {
  CudaProgram program({{"dp", 2}, {"tp", 2}});
  program.manifest["mesh"]["device_order"] = {1, 2, 3, 0};
  program.manifest["memory"]["scratch_bytes"] = 128;
  program.addResult("r", "i64", 4);
  program.addLaunch("where_am_i", {resultBuffer(0)}, 1);
  program.write(folder.file("m.tp"));
  // Two ranks to a device.
  CudaOutcome done = folder.run("m.tp --output=r=@r.npy", "TP_FAKE_DEVICES=2");
  ASSERT_EQ(done.exitStatus, 0) << done.err;
  EXPECT_EQ(integers("r.npy"), (std::vector<int64_t>{1, 0, 0, 0, 2, 0, 1, 0, 3,
                                                     1, 0, 0, 0, 1, 1, 0}));
}

TEST_F(CudaRunTest, AFailedCheckIsTheStatusOfAllRanks) {
  CudaProgram program({{"tp", 2}});
  program.manifest["asserts"] = {{{"id", 7},
                                  {"message", "index must be smaller"},
                                  {"module", "tok_embeddings"},
                                  {"location", "embedding"}}};
  program.addArgument("a", "i32", 64);
  program.addResult("r", "f32", 64);
  program.addLaunch("check_small", {argumentBuffer(0)}, 64);
  program.write(folder.file("m.tp"));
  std::vector<int32_t> values(128);
  for (bool fails : {false, true}) {
    char *bytes = nullptr;
    Array array = makeArray(DataType::I32, {128}, bytes);
    float one = fails ? 1 : -1;
    std::memcpy(bytes + 64 * 4, &one, 4);
    EXPECT_OK(writeNpy(folder.file("a.npy"), array));
    for (const char *steps : {"1", "3"}) {
      CudaOutcome done =
          folder.run(std::string("m.tp --input=@a.npy --repeat=") + steps);
      EXPECT_EQ(done.exitStatus, fails ? 1 : 0) << done.err;
      if (fails)
        EXPECT_NE(done.err.find("index must be smaller, in 'embedding' of "
                                "module 'tok_embeddings'"),
                  std::string::npos)
            << done.err;
    }
  }
}

TEST_F(CudaRunTest, OneRankAlone) {
  everythingOnDevice(4).write(folder.file("m.tp"));
  CudaOutcome done =
      folder.run("m.tp --only-rank=2 --skip-collectives --random-data=1 "
                 "--repeat=3 --stats --trace=t.json",
                 "TP_NCCL=/nowhere");
  ASSERT_EQ(done.exitStatus, 0) << done.err;
  EXPECT_NE(done.out.find("1 processes"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("(skipped)"), std::string::npos) << done.out;
  json trace = json::parse(readFile(folder.file("t.json")));
  int64_t kernels = 0;
  for (const json &event : trace["traceEvents"])
    kernels += event["ph"] == "X" && event["cat"] == "kernel";
  EXPECT_EQ(kernels, 5);
}

/// Ranks that somebody else starts, on devices and on the CPU.
TEST_F(CudaRunTest, RanksOfALauncher) {
  struct Variables {
    const char *rank, *size;
  };
  everythingOnHost(2).write(folder.file("host.tp"));
  everythingOnDevice(2).write(folder.file("device.tp"));
  for (const char *artifact : {"host.tp", "device.tp"})
    ASSERT_EQ(folder
                  .run(std::string(artifact) +
                       " --random-data=3 --output=r3=@" + artifact + ".npy")
                  .exitStatus,
              0);
  for (Variables names : {Variables{"RANK", "WORLD_SIZE"},
                          {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                          {"PMI_RANK", "PMI_SIZE"},
                          {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}})
    for (const char *artifact : {"host.tp", "device.tp"}) {
      SCOPED_TRACE(std::string(names.rank) + " " + artifact);
      std::filesystem::remove(folder.file("r.npy"));
      auto variables = [&](int rank) {
        return std::string(names.rank) + "=" + std::to_string(rank) + " " +
               names.size + "=2";
      };
      std::string rest = " --random-data=3 --store=. --output=r3=@r.npy ";
      std::thread other([&] {
        CudaOutcome done = folder.run(artifact + rest, variables(1), "1");
        EXPECT_EQ(done.exitStatus, 0) << done.err;
      });
      CudaOutcome done = folder.run(artifact + rest, variables(0), "0");
      other.join();
      ASSERT_EQ(done.exitStatus, 0) << done.err;
      EXPECT_TRUE(readFile(folder.file("r.npy")) ==
                  readFile(folder.file(artifact + std::string(".npy"))));
      EXPECT_FALSE(std::filesystem::exists(folder.file("tp-ranks")));
    }
  std::string alone = "device.tp --random-data=3 --store=. --start-timeout=1";
  auto error = [&](const std::string &environment) {
    CudaOutcome done = folder.run(alone, environment);
    EXPECT_EQ(done.exitStatus, 1);
    return done.err;
  };
  EXPECT_NE(error("").find("none of them has set the environment"),
            std::string::npos);
  EXPECT_NE(error("RANK=0 WORLD_SIZE=4").find("torchrun started rank 0 of 4"),
            std::string::npos);
  EXPECT_NE(error("RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1")
                .find("1 of 2 ranks on this host"),
            std::string::npos);
  EXPECT_NE(error("RANK=1 WORLD_SIZE=2").find("rank 1 found no ./tp-ranks"),
            std::string::npos);
  EXPECT_NE(error("RANK=0 WORLD_SIZE=2").find("1 of 2 ranks that did not join"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.file("tp-ranks")));
}

/// Of the commands queued one by one and of a graph.
TEST_F(CudaRunTest, TracesShowTheQueues) {
  everythingOnDevice(2).write(folder.file("m.tp"));
  for (const char *steps : {"1", "2", "4"}) {
    SCOPED_TRACE(steps);
    CudaOutcome done = folder.run(
        std::string("m.tp --random-data=1 --trace=t.json --stats --repeat=") +
        steps);
    ASSERT_EQ(done.exitStatus, 0) << done.err;
    json trace = json::parse(readFile(folder.file("t.json")));
    int64_t spans = 0;
    // Of each rank's queues, where the last span ended.
    double ends[2][2] = {};
    for (const json &event : trace["traceEvents"])
      if (event["ph"] == "X") {
        ++spans;
        int64_t rank = event["pid"], queue = event["tid"];
        EXPECT_EQ(queue, event["cat"] == "collective");
        EXPECT_GE(event["ts"].get<double>(), 0);
        EXPECT_GE(event["dur"].get<double>(), 0);
        // Spans of a queue come one after the other (printed to 1 ns).
        EXPECT_GE(event["ts"].get<double>(), ends[rank][queue] - 0.5);
        ends[rank][queue] =
            event["ts"].get<double>() + event["dur"].get<double>();
      }
    EXPECT_EQ(spans, 2 * 11);
    for (const char *rank : {"rank 0", "rank 1"}) {
      const json &sums = trace["otherData"][rank];
      EXPECT_GT(sums["compute_us"].get<double>(), 0);
      EXPECT_GT(sums["communication_us"].get<double>(), 0);
      EXPECT_GE(sums["overlapped_us"].get<double>(), 0);
      EXPECT_LE(sums["overlapped_us"], sums["communication_us"]);
    }
    EXPECT_NE(done.out.find("of it beside compute"), std::string::npos);
  }
}

TEST_F(CudaRunTest, ProfilersSeeEveryCommand) {
  everythingOnDevice(1).write(folder.file("m.tp"));
  std::string profiler =
      "NVTX_INJECTION64_PATH=" TP_FAKE_PROFILER " TP_FAKE_RANGES=ranges";
  ASSERT_EQ(folder.run("m.tp --random-data=1 --repeat=4", profiler).exitStatus,
            0);
  std::string ranges;
  for (const auto &entry : std::filesystem::directory_iterator(
           std::filesystem::path(folder.file(""))))
    if (entry.path().filename().string().starts_with("ranges."))
      ranges += readFile(entry.path());
  // Queued once and captured once; three launches.
  auto count = [&](const std::string &line) {
    int found = 0;
    for (size_t at = ranges.find(line); at != std::string::npos;
         at = ranges.find(line, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("> command 5, gemm 'linear' of module 'mlp'\n"), 2);
  EXPECT_EQ(count("> command "), 2 * 11);
  EXPECT_EQ(count("> the graph of the step\n"), 3);
  EXPECT_EQ(count("> "), count("<\n"));
  // A library that is none changes nothing.
  for (const char *path : {"/nowhere", TP_FAKE_NCCL})
    EXPECT_EQ(folder
                  .run("m.tp --random-data=1",
                       std::string("NVTX_INJECTION64_PATH=") + path)
                  .exitStatus,
              0);
}

TEST_F(CudaRunTest, AlgorithmsAreKept) {
  everythingOnDevice(1).write(folder.file("m.tp"));
  ASSERT_EQ(folder.run("m.tp --random-data=1").exitStatus, 0);
  std::string kept = readFile(folder.file("cublaslt-algorithms"));
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 1);
  EXPECT_NE(kept.find(" f32 f32 8 8 8 0 1 8 8 8 "), std::string::npos) << kept;
  // The second run asks for no choice; a damaged file costs one.
  std::string never = "TP_FAKE_FAULT=cublasLtMatmulAlgoGetHeuristic@0:1:15";
  CudaOutcome second = folder.run("m.tp --random-data=1", never);
  EXPECT_EQ(second.exitStatus, 0) << second.err;
  std::string damaged = kept;
  damaged[2] = damaged[2] == '0' ? '1' : '0';
  for (const std::string &bytes : {damaged, std::string("\n\xff zz\n")}) {
    std::filesystem::remove(folder.file("cublaslt-algorithms"));
    FILE *file = std::fopen(folder.file("cublaslt-algorithms").c_str(), "w");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
    EXPECT_EQ(folder.run("m.tp --random-data=1", never).exitStatus, 1);
    CudaOutcome done = folder.run("m.tp --random-data=1");
    EXPECT_EQ(done.exitStatus, 0) << done.err;
  }
}

TEST_F(CudaRunTest, ProductsOfAllTypesAndForms) {
  struct Form {
    const char *dtype, *cDtype;
    bool transposeA, transposeB;
    double beta;
  };
  const Form forms[] = {{"f32", "f32", false, false, 0},
                        {"f64", "f64", true, false, 0},
                        {"tf32", "f32", false, true, 0},
                        {"bf16", "bf16", true, true, 0},
                        {"f16", "f32", false, true, 0}};
  // Five products of 3 x 4 by 4 x 2 in two batch dimensions, a shared along
  // the second, with gaps between rows.
  for (const Form &form : forms) {
    SCOPED_TRACE(form.dtype);
    std::string stored = form.dtype == std::string("tf32") ? "f32" : form.dtype;
    CudaProgram program({{"tp", 1}});
    program.addArgument("a", stored, 64);
    program.addArgument("b", stored, 256);
    program.addResult("c", form.cDtype, 128);
    json gemm = {{"command", "gemm"},
                 {"dtype", form.dtype},
                 {"c_dtype", form.cDtype},
                 {"m", 3},
                 {"n", 2},
                 {"k", 4},
                 {"batch", {2, 5}},
                 {"alpha", 2.0}};
    gemm["a"] = {{"buffer", argumentBuffer(0)},
                 {"ld", 5},
                 {"transpose", form.transposeA},
                 {"batch_strides", {25, 0}}};
    gemm["b"] = {{"buffer", argumentBuffer(1)},
                 {"ld", 5},
                 {"transpose", form.transposeB},
                 {"batch_strides", {120, 20}}};
    gemm["c"] = {
        {"buffer", resultBuffer(0)}, {"ld", 3}, {"batch_strides", {50, 9}}};
    program.manifest["program"].push_back(gemm);
    program.write(folder.file("m.tp"));
    std::vector<double> a, b;
    auto fill = [&](const char *name, int64_t size, std::vector<double> &kept) {
      for (int64_t i = 0; i < size; ++i)
        kept.push_back(double(i * i % 7 - 3));
      // Small integers are exact in every type.
      char *typed = nullptr;
      Array out = makeArray(*parseDataType(stored), {size}, typed);
      for (int64_t i = 0; i < size; ++i) {
        auto put = [&](auto v) {
          std::memcpy(typed + i * sizeof(v), &v, sizeof(v));
        };
        if (out.dtype == DataType::F64)
          put(kept[i]);
        else if (out.dtype == DataType::F32)
          put(float(kept[i]));
        else if (out.dtype == DataType::F16)
          put(floatToHalf(float(kept[i])));
        else
          put(floatToBfloat(float(kept[i])));
      }
      EXPECT_OK(writeNpy(folder.file(name), out));
    };
    fill("a.npy", 64, a);
    fill("b.npy", 256, b);
    CudaOutcome done = folder.run("m.tp --input=@a.npy --input=@b.npy "
                                  "--output=c=@c.npy --dtype=bf16");
    ASSERT_EQ(done.exitStatus, 0) << done.err;
    Array c;
    ASSERT_OK(readNpy(folder.file("c.npy"), DataType::BF16, c));
    for (int o = 0; o < 2; ++o)
      for (int p = 0; p < 5; ++p)
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 2; ++j) {
            double sum = 0;
            for (int k = 0; k < 4; ++k)
              sum += a[o * 25 + (form.transposeA ? k * 5 + i : i * 5 + k)] *
                     b[o * 120 + p * 20 +
                       (form.transposeB ? j * 5 + k : k * 5 + j)];
            EXPECT_EQ(
                elementAsDouble(c.dtype, c.data, o * 50 + p * 9 + i * 3 + j),
                2 * sum);
          }
  }
}

} // namespace
