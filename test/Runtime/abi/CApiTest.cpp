//===- CApiTest.cpp - the C ABI alone -------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactTest.h"
#include "Patience.h"
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tp::test;

extern "C" int tp_test_header_is_c(void);

namespace {

/// r = all_reduce(a), 2 ranks, a sharded [3] of [6].
class CApiTest : public ArtifactTest {
protected:
  void SetUp() override {
    TestProgram program({{"tp", 2}});
    program.addArgument("a", "f32", 3);
    program.addResult("r", "f32", 3);
    program.addCollective("all_reduce", "f32", "sum",
                          program.addGroup({{0, 1}}), 2, argumentBuffer(0),
                          resultBuffer(0), 1, 3);
    open(program);
  }
  /// Calls `run` with the number of either rank, in a thread for each.
  template <typename Run> static void onRanks(Run run) {
    std::thread first(run, 0), second(run, 1);
    first.join();
    second.join();
  }
};

/// A program of one rank.
class CApiRankTest : public ArtifactTest {
protected:
  void open(TestProgram &program) {
    ArtifactTest::open(program);
    expectOk(tp_transport_threads(artifact, &transport));
  }
  tp_status *createRank() {
    return tp_rank_create(artifact, transport, 0, 1, nullptr, &rank);
  }
  void TearDown() override {
    tp_rank_free(rank);
    tp_transport_free(transport);
    ArtifactTest::TearDown();
  }
  tp_transport *transport = nullptr;
  tp_rank *rank = nullptr;
};
using CApiArgumentsTest = CApiRankTest;
using CApiTargetTest = CApiRankTest;

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
  EXPECT_STREQ(tp_artifact_port_name(artifact, TP_ARGUMENT, 0), "a");
  EXPECT_STREQ(tp_artifact_port_name(artifact, TP_RESULT, 0), "r");
  tp_tensor info;
  expectOk(tp_artifact_port(artifact, TP_ARGUMENT, 0, &info));
  EXPECT_EQ(info.dtype, TP_F32);
  EXPECT_EQ(info.sizes[0], 6);

  float global[6] = {1, 2, 3, 40, 50, 60}, result[6] = {};
  tp_transport *transport = nullptr;
  expectOk(tp_transport_threads(artifact, &transport));
  onRanks([&](int64_t r) {
    tp_rank *rank = nullptr;
    tp_rank_options options = {};
    options.struct_size = sizeof(options);
    options.poison = 1;
    options.timeout_seconds = 300;
    expectOk(tp_rank_create(artifact, transport, r, 2, &options, &rank));
    tp_tensor all = tensor(global, TP_F32, {6});
    // Residency: the argument is set once for both steps.
    if (r == 0) {
      float mine[3];
      tp_tensor local = tensor(mine, TP_F32, {3});
      expectOk(tp_scatter(artifact, TP_ARGUMENT, 0, r, &all, &local));
      expectOk(tp_rank_set_argument(rank, 0, &local));
    } else {
      expectOk(tp_rank_scatter(rank, artifact, 0, &all));
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
  EXPECT_EQ(tp_artifact_port_name(nullptr, TP_ARGUMENT, 0), nullptr);
  EXPECT_EQ(tp_artifact_port_name(artifact, TP_ARGUMENT, 1), nullptr);
  EXPECT_EQ(tp_artifact_port_name(artifact, TP_RESULT, -1), nullptr);
  tp_transport *transport = nullptr;
  expectOk(tp_transport_threads(artifact, &transport));
  tp_rank *rank = nullptr;
  expectCode(tp_rank_create(artifact, transport, 0, 4, nullptr, &rank),
             TP_INVALID_ARGUMENT, "the artifact is for 2 ranks, got 4");
  expectCode(tp_rank_create(artifact, transport, 2, 2, nullptr, &rank),
             TP_INVALID_ARGUMENT, "rank 2 of 2");
  expectOk(tp_rank_create(artifact, transport, 0, 2, nullptr, &rank));
  float data[6] = {};
  tp_tensor t = tensor(data, TP_F32, {6});
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_INVALID_ARGUMENT,
             "expected f32[3], got f32[6], the shape of the whole tensor: give "
             "the rank its part of it with tp_rank_scatter");
  tp_tensor whole = tensor(data, TP_F32, {6});
  expectCode(tp_rank_get_tensor(rank, TP_RESULT, 0, &whole),
             TP_INVALID_ARGUMENT,
             "the shape of the whole tensor: join the parts of all ranks in it "
             "with tp_rank_assemble");
  t = tensor(data, TP_F32, {5});
  tp_status *noHint = tp_rank_set_argument(rank, 0, &t);
  EXPECT_STREQ(tp_status_message(noHint),
               "the local tensor of argument 'a': expected f32[3], got f32[5]");
  tp_status_free(noHint);
  tp_tensor part = tensor(data, TP_F32, {3});
  tp_status *wrongGlobal = tp_scatter(artifact, TP_ARGUMENT, 0, 0, &t, &part);
  EXPECT_STREQ(tp_status_message(wrongGlobal),
               "argument 'a': expected f32[6], got f32[5]");
  tp_status_free(wrongGlobal);
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
  tp_stream *stream = nullptr;
  expectOk(tp_stream_create(nullptr, &stream));
  t = tensor(data, TP_F32, {3});
  const char *neverSet =
      "argument 'a' was never set: call tp_rank_scatter or "
      "tp_rank_set_argument, or write to the view of tp_rank_argument and call "
      "tp_rank_mark_set, before the first step";
  expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT, neverSet);
  expectCode(tp_rank_get_tensor(rank, TP_ARGUMENT, 0, &t), TP_INVALID_ARGUMENT,
             neverSet);
  expectCode(tp_rank_wait(rank), TP_INVALID_ARGUMENT, "no step was submitted");
  expectOk(tp_rank_set_argument(rank, 0, &t));
  expectCode(tp_rank_submit(rank, stream), TP_UNSUPPORTED, "no streams");
  tp_rank *refused = nullptr;
  for (int which = 0; which < 3; ++which) {
    tp_rank_options options = {};
    options.struct_size = sizeof(options);
    options.use_device = which == 0;
    options.stream = which == 1 ? stream : nullptr;
    options.nccl_communicator = which == 2 ? stream : nullptr;
    expectCode(tp_rank_create(artifact, transport, 1, 2, &options, &refused),
               TP_UNSUPPORTED,
               "a rank of target 'cpu' has no device, stream or communicator: "
               "leave them out, or compile with --target=cuda");
  }
  tp_stream_free(stream);
  expectCode(tp_stream_create(nullptr, nullptr), TP_INVALID_ARGUMENT, "null");
  tp_transport_abort(transport, 1, "rank 1 left");
  expectOk(tp_rank_submit(rank, nullptr));
  expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT, "under way");
  expectCode(tp_rank_wait(rank), TP_RANK_FAILED, "rank 1 left");
  tp_rank_free(rank);
  tp_transport_free(transport);
}

/// q and s of f32[2]; q is dead, s a state: the argument is set before the
/// first step and from the result after each.
TEST_F(CApiArgumentsTest, EveryLiveArgumentIsSet) {
  TestProgram program({{"tp", 1}});
  program.addArgument("q", "f32", 2);
  program.manifest["arguments"][0]["dead"] = true;
  program.addArgument("s", "f32", 2);
  program.addResult("next", "f32", 2);
  program.addCollective("all_reduce", "f32", "sum", program.addGroup({{0}}), 1,
                        argumentBuffer(1), resultBuffer(0), 1, 2);
  open(program);
  expectOk(createRank());
  expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT,
             "argument 's' was never set");
  tp_tensor view, next;
  expectCode(tp_rank_argument(rank, 0, &view), TP_INVALID_ARGUMENT, "is dead");
  expectOk(tp_rank_argument(rank, 1, &view));
  static_cast<float *>(view.data)[0] = 3;
  static_cast<float *>(view.data)[1] = 4;
  expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT,
             "argument 's' was never set");
  expectOk(tp_rank_mark_set(rank, 1));
  expectOk(tp_rank_result(rank, 0, &next));
  for (int step = 0; step < 2; ++step) {
    expectOk(tp_rank_submit(rank, nullptr));
    expectOk(tp_rank_wait(rank));
    expectOk(tp_rank_set_argument(rank, 1, &next));
  }
  float state[2] = {};
  tp_tensor out = tensor(state, TP_F32, {2});
  expectOk(tp_rank_get_tensor(rank, TP_ARGUMENT, 1, &out));
  EXPECT_EQ(state[0] + state[1], 7);
}

/// A library that was built for the CPU alone names what is missing.
TEST_F(CApiTargetTest, DevicesNeedARuntimeWithThem) {
  TestProgram program({{"tp", 1}});
  program.manifest["target"] = {{"kind", "cuda"}, {"chips", {"host"}}};
  program.addArgument("a", "f32", 3);
  open(program);
  expectCode(createRank(), TP_UNSUPPORTED,
             "the artifact is for target 'cuda', and this runtime was built "
             "for the CPU alone: expected one that was configured with "
             "TP_RUNTIME_CUDA=ON");
}

/// The name by which a port is found: with its kind where two have one name.
TEST_F(CApiArgumentsTest, NamesFindTheirPorts) {
  TestProgram program({{"tp", 1}});
  program.addArgument("w", "f32", 2);
  program.addArgument("w", "f32", 2);
  program.manifest["arguments"][1]["kind"] = "buffer";
  program.addArgument("x", "f32", 2);
  open(program);
  const char *names[] = {"user_input:w", "buffer:w", "x"};
  for (int64_t i = 0; i < 3; ++i) {
    int64_t found = -1;
    EXPECT_STREQ(tp_artifact_port_name(artifact, TP_ARGUMENT, i), names[i]);
    expectOk(tp_artifact_find_port(artifact, TP_ARGUMENT, names[i], &found));
    EXPECT_EQ(found, i);
  }
}

/// A rank that is given up: the others do not wait for it, before the first
/// step or in one. The artifact serves another run.
TEST_F(CApiTest, AnAbortEndsTheWaitsOfTheOthers) {
  for (bool inStep : {false, true}) {
    tp_transport *transport = nullptr;
    expectOk(tp_transport_threads(artifact, &transport));
    onRanks([&](int64_t r) {
      tp_rank *rank = nullptr;
      expectOk(tp_rank_create(artifact, transport, r, 2, nullptr, &rank));
      float mine[3] = {};
      tp_tensor local = tensor(mine, TP_F32, {3});
      if (inStep)
        expectOk(tp_rank_barrier(rank));
      if (r == 1) {
        tp_status *own = tp_rank_submit(rank, nullptr);
        EXPECT_EQ(tp_status_code(own), TP_INVALID_ARGUMENT);
        tp_transport_abort(transport, 1, tp_status_message(own));
        tp_status_free(own);
      } else if (inStep) {
        expectOk(tp_rank_set_argument(rank, 0, &local));
        expectOk(tp_rank_submit(rank, nullptr));
        expectCode(tp_rank_wait(rank), TP_RANK_FAILED, "'a' was never set");
      } else {
        expectCode(tp_rank_barrier(rank), TP_RANK_FAILED, "'a' was never set");
      }
      // A wait that begins after the abort.
      if (r == 0)
        expectCode(tp_rank_finish(rank), TP_RANK_FAILED, "'a' was never set");
      tp_rank_free(rank);
    });
    tp_transport_free(transport);
  }
}

/// Ranks that a launcher starts on one host.
TEST_F(CApiTest, RanksFindEachOtherInAFolder) {
  std::vector<pid_t> children;
  for (int64_t r = 0; r < 2; ++r) {
    pid_t child = fork();
    children.push_back(child);
    if (child != 0)
      continue;
    tp_store_options options = {};
    options.struct_size = sizeof(options);
    options.address = folder.path.c_str();
    tp_transport *transport = nullptr;
    tp_rank *rank = nullptr;
    expectOk(tp_transport_store(artifact, r, 2, &options, &transport));
    expectOk(tp_rank_create(artifact, transport, r, 2, nullptr, &rank));
    float mine[3] = {1, 2, float(r)}, sum[3] = {};
    tp_tensor in = tensor(mine, TP_F32, {3}), out = tensor(sum, TP_F32, {3});
    expectOk(tp_rank_set_argument(rank, 0, &in));
    expectOk(tp_rank_submit(rank, nullptr));
    expectOk(tp_rank_wait(rank));
    expectOk(tp_rank_get_tensor(rank, TP_RESULT, 0, &out));
    EXPECT_EQ(sum[0] + sum[1] + sum[2], 7);
    expectOk(tp_rank_finish(rank));
    tp_rank_free(rank);
    tp_transport_free(transport);
    std::fflush(nullptr);
    _exit(HasFailure() ? 1 : 0);
  }
  for (pid_t child : children) {
    int ended = 0;
    waitpid(child, &ended, 0);
    EXPECT_EQ(ended, 0);
  }
  EXPECT_NE(access(folder.file("tp-ranks").c_str(), F_OK), 0);
}

/// The name of the run counts in a folder too.
TEST_F(CApiTest, RankOfAnotherRunIsRefusedInAFolder) {
  tp_store_options options = {};
  options.struct_size = sizeof(options);
  options.address = folder.path.c_str();
  options.run = "one";
  options.start_timeout_seconds = neverSeconds;
  tp_transport *transport = nullptr;
  pid_t child = fork();
  if (child == 0) {
    expectOk(tp_transport_store(artifact, 0, 2, &options, &transport));
    tp_transport_free(transport);
    std::fflush(nullptr);
    _exit(HasFailure() ? 1 : 0);
  }
  options.run = "other";
  expectCode(tp_transport_store(artifact, 1, 2, &options, &transport),
             TP_INVALID_ARGUMENT, "belongs to another run");
  options.run = "one";
  expectOk(tp_transport_store(artifact, 1, 2, &options, &transport));
  tp_transport_free(transport);
  int ended = 0;
  waitpid(child, &ended, 0);
  EXPECT_EQ(ended, 0);
}

TEST_F(CApiTest, WrongStoresAreRefused) {
  tp_transport *transport = nullptr;
  tp_store_options options = {};
  options.struct_size = sizeof(options);
  auto refused = [&](const char *address, int64_t rank, int64_t size,
                     tp_code code, const char *part) {
    options.address = address;
    expectCode(tp_transport_store(artifact, rank, size, &options, &transport),
               code, part);
  };
  refused(nullptr, 0, 2, TP_INVALID_ARGUMENT,
          "no address of a store: expected tcp://HOST:PORT with the host of "
          "rank 0, or a folder");
  refused("tcp://nowhere", 0, 2, TP_INVALID_ARGUMENT,
          "the address of a store is 'tcp://nowhere', expected "
          "tcp://HOST:PORT");
  refused("tcp://127.0.0.1:4000", 0, 2, TP_UNSUPPORTED,
          "ranks of target 'cpu' share memory: expected a folder on their "
          "host, got tcp://127.0.0.1:4000");
  refused("/", 0, 4, TP_INVALID_ARGUMENT, "the artifact is for 2 ranks, got 4");
  refused("/", 2, 2, TP_INVALID_ARGUMENT, "rank 2 of 2");
  options.start_timeout_seconds = -1;
  refused("/", 0, 2, TP_INVALID_ARGUMENT,
          "the time-outs of a store must be positive");
  options.start_timeout_seconds = 0.01;
  refused(folder.path.c_str(), 1, 2, TP_TIMEOUT, "rank 1 found no ");
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
