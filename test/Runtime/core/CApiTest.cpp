//===- CApiTest.cpp - the C ABI alone -------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "tp/Runtime/Runtime.h"
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tp::test;

extern "C" int tp_test_header_is_c(void);

namespace {

void expectOk(tp_status *status) {
  EXPECT_EQ(status, nullptr) << tp_status_message(status);
  tp_status_free(status);
}

void expectCode(tp_status *status, tp_code code, const char *part) {
  EXPECT_EQ(tp_status_code(status), code);
  EXPECT_NE(std::string(tp_status_message(status)).find(part),
            std::string::npos)
      << tp_status_message(status);
  tp_status_free(status);
}

tp_tensor tensor(void *data, tp_dtype dtype, std::vector<int64_t> sizes) {
  tp_tensor t = {};
  t.data = data;
  t.dtype = dtype;
  t.rank = int32_t(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    t.sizes[d] = sizes[d];
    t.strides[d] = stride;
    stride *= sizes[d];
  }
  return t;
}

/// r = all_reduce(a), 2 ranks, a sharded [3] of [6].
class CApiTest : public testing::Test {
protected:
  void SetUp() override {
    TestProgram program({{"tp", 2}});
    program.addArgument("a", "f32", 3);
    program.addResult("r", "f32", 3);
    program.addCollective("all_reduce", "f32", "sum",
                          program.addGroup({{0, 1}}), 2, argumentBuffer(0),
                          resultBuffer(0), 1, 3);
    std::string path = program.write(folder.file("p.tp"));
    expectOk(tp_artifact_open(path.c_str(), &artifact));
  }
  void TearDown() override { tp_artifact_close(artifact); }
  TemporaryFolder folder;
  tp_artifact *artifact = nullptr;
};

TEST_F(CApiTest, RunsFromScatterToAssemble) {
  EXPECT_EQ(tp_abi_version(), unsigned(TP_ABI_VERSION));
  EXPECT_TRUE(tp_test_header_is_c());
  EXPECT_EQ(tp_artifact_size(artifact), 2);
  EXPECT_EQ(tp_artifact_num_ports(artifact, TP_ARGUMENT), 1);
  EXPECT_NE(std::string(tp_artifact_manifest(artifact)).find("\"version\""),
            std::string::npos);
  int64_t index = -1;
  expectOk(tp_artifact_find_port(artifact, TP_RESULT, "r", &index));
  EXPECT_EQ(index, 0);
  tp_tensor info;
  expectOk(tp_artifact_port(artifact, TP_ARGUMENT, 0, &info));
  EXPECT_EQ(info.dtype, TP_F32);
  EXPECT_EQ(info.sizes[0], 6);

  float global[6] = {1, 2, 3, 40, 50, 60}, result[6] = {};
  tp_transport *transport = nullptr;
  expectOk(tp_transport_threads(artifact, &transport));
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      tp_rank *rank = nullptr;
      tp_rank_options options = {sizeof(options), 1, 10};
      expectOk(tp_rank_create(artifact, transport, r, 2, &options, &rank));
      tp_tensor all = tensor(global, TP_F32, {6});
      // Residency: the argument is set once for both steps.
      if (r == 0) {
        float mine[3];
        tp_tensor local = tensor(mine, TP_F32, {3});
        expectOk(tp_scatter(artifact, TP_ARGUMENT, 0, r, &all, &local));
        expectOk(tp_rank_set_argument(rank, 0, &local));
      } else {
        tp_tensor local;
        expectOk(tp_rank_argument(rank, 0, &local));
        expectOk(tp_scatter(artifact, TP_ARGUMENT, 0, r, &all, &local));
      }
      expectOk(tp_rank_barrier(rank));
      for (int step = 0; step < 2; ++step) {
        expectOk(tp_rank_submit(rank, nullptr));
        expectOk(tp_rank_wait(rank));
      }
      tp_tensor local, whole = tensor(result, TP_F32, {6});
      expectOk(tp_rank_result(rank, 0, &local));
      expectOk(tp_assemble(artifact, TP_RESULT, 0, r, &local, &whole));
      tp_rank_free(rank);
    });
  for (std::thread &thread : threads)
    thread.join();
  tp_transport_free(transport);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(result[i], global[i % 3] + global[i % 3 + 3]);
}

TEST_F(CApiTest, Mistakes) {
  tp_artifact *none = nullptr;
  expectCode(tp_artifact_open("/absent", &none), TP_FILE, "cannot open");
  expectCode(tp_artifact_open(nullptr, &none), TP_INVALID_ARGUMENT, "null");
  int64_t index;
  expectCode(tp_artifact_find_port(artifact, TP_RESULT, "a", &index),
             TP_INVALID_ARGUMENT, "no result is called 'a'");
  tp_tensor info;
  expectCode(tp_artifact_port(artifact, TP_RESULT, 1, &info),
             TP_INVALID_ARGUMENT, "no result 1, there are 1");
  tp_transport *transport = nullptr;
  expectOk(tp_transport_threads(artifact, &transport));
  tp_rank *rank = nullptr;
  expectCode(tp_rank_create(artifact, transport, 0, 4, nullptr, &rank),
             TP_INVALID_ARGUMENT, "the artifact is for 2 ranks, got 4");
  expectCode(tp_rank_create(artifact, transport, 2, 2, nullptr, &rank),
             TP_INVALID_ARGUMENT, "rank 2 of 2");
  expectOk(tp_rank_create(artifact, transport, 0, 2, nullptr, &rank));
  float data[6];
  tp_tensor t = tensor(data, TP_F32, {6});
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_INVALID_ARGUMENT,
             "expected f32[3], got f32[6]");
  t = tensor(data, TP_I32, {3});
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_INVALID_ARGUMENT,
             "expected f32[3], got i32[3]");
  t = tensor(nullptr, TP_F32, {3});
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_INVALID_ARGUMENT, "null");
  t = tensor(data, TP_F32, {3});
  t.memory_space = TP_DEVICE;
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_UNSUPPORTED, "host memory");
  t = tensor(data, TP_F32, {3});
  t.rank = 17;
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_INVALID_ARGUMENT, "range");
  expectCode(tp_rank_set_argument(rank, 1, &t), TP_INVALID_ARGUMENT,
             "no argument 1");
  expectCode(tp_rank_wait(rank), TP_INVALID_ARGUMENT, "no step was submitted");
  int stream;
  expectCode(tp_rank_submit(rank, reinterpret_cast<tp_stream *>(&stream)),
             TP_UNSUPPORTED, "no streams");
  tp_transport_abort(transport, 1, "rank 1 left");
  expectOk(tp_rank_submit(rank, nullptr));
  expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT, "under way");
  expectCode(tp_rank_wait(rank), TP_RANK_FAILED, "rank 1 left");
  tp_rank_free(rank);
  tp_transport_free(transport);
}

/// Under a limit of memory, whatever it is, opening ends with a status. The
/// manifest takes many times the file's size while it is read.
TEST(CApiMemoryTest, OutOfMemoryIsAStatus) {
  TestProgram program({{"tp", 2}});
  for (int64_t id = 1; id <= 20000; ++id)
    program.manifest["asserts"].push_back(
        {{"id", id}, {"message", "a message that needs memory of its own"}});
  TemporaryFolder folder;
  std::string path = program.write(folder.file("large.tp"));
  int refused = 0, opened = 0, inside = 0;
  for (int64_t megabytes = 1; megabytes < 200; megabytes += 1 + megabytes / 2) {
    pid_t child = fork();
    if (child == 0) {
      long long pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      rlim_t limit = pages * sysconf(_SC_PAGESIZE) + (megabytes << 20);
      rlimit space = {limit, limit};
      setrlimit(RLIMIT_AS, &space);
      tp_artifact *artifact = nullptr;
      tp_status *status = tp_artifact_open(path.c_str(), &artifact);
      std::string_view message = tp_status_message(status);
      int result = !status                                         ? 1
                   : message.find("out of memory") != message.npos ? 2
                   : message.empty()                               ? 0
                                                                   : 3;
      tp_status_free(status);
      _exit(result);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    ASSERT_TRUE(WIFEXITED(ended)) << megabytes << " MB: " << ended;
    opened += WEXITSTATUS(ended) == 1;
    inside += WEXITSTATUS(ended) == 2;
    refused += WEXITSTATUS(ended) == 3;
    EXPECT_NE(WEXITSTATUS(ended), 0);
  }
  EXPECT_GT(opened, 0);
  EXPECT_GT(inside + refused, 0);
}

} // namespace
