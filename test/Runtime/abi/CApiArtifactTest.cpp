//===- CApiArtifactTest.cpp - what an artifact tells a host ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactTest.h"
#include <cstddef>
#include <cstring>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::test;

namespace {

/// 2 ranks: "unused" is dead, "state" [3] of [6] is updated by "next".
class CApiArtifactTest : public ArtifactTest {
protected:
  void SetUp() override {
    TestProgram program({{"tp", 2}});
    program.addArgument("unused", "i64", 2);
    program.manifest["arguments"][0]["dead"] = true;
    program.addArgument("state", "f32", 3);
    program.manifest["arguments"][1]["kind"] = "buffer";
    program.addResult("logits", "f32", 3);
    program.addResult("next", "f32", 3);
    program.manifest["results"][1]["updates"] = "state";
    for (int64_t result : {0, 1})
      program.addCollective("all_reduce", "f32", "sum",
                            program.addGroup({{0, 1}}), 2, argumentBuffer(1),
                            resultBuffer(result), 1, 3);
    open(program);
  }

  tp_port_info info(tp_port_side side, int64_t index) {
    tp_port_info info = {};
    info.struct_size = sizeof(info);
    expectOk(tp_artifact_port_info(artifact, side, index, &info));
    return info;
  }
};

/// A host that fills every argument leaves out those without a buffer, and
/// needs no rank to learn which they are.
TEST_F(CApiArtifactTest, PortsTellWhatAHostNeeds) {
  tp_port_info unused = info(TP_ARGUMENT, 0), state = info(TP_ARGUMENT, 1);
  tp_port_info logits = info(TP_RESULT, 0), next = info(TP_RESULT, 1);
  EXPECT_EQ(unused.dead, 1);
  EXPECT_STREQ(unused.kind, "user_input");
  EXPECT_EQ(state.dead, 0);
  EXPECT_STREQ(state.kind, "buffer");
  EXPECT_EQ(state.updates, -1);
  EXPECT_EQ(state.local.dtype, TP_F32);
  EXPECT_EQ(state.local.rank, 1);
  EXPECT_EQ(state.local.sizes[0], 3);
  EXPECT_EQ(state.local.strides[0], 1);
  EXPECT_EQ(state.local.data, nullptr);
  EXPECT_STREQ(logits.kind, "user_output");
  EXPECT_EQ(logits.updates, -1);
  EXPECT_EQ(next.updates, 1);
}

/// With 1 the ranks' parts may be joined at a time; with all of the ranks one
/// has the whole.
TEST(CApiCopiesTest, HowManyRanksHoldAnElement) {
  TestProgram program({{"dp", 2}, {"tp", 3}});
  program.addArgument("sharded", "f32", 1);
  for (const char *name : {"replicated", "rows", "partial", "summed"})
    program.addReplicated("arguments", name, "f32", {6});
  auto &arguments = program.manifest["arguments"];
  json replicate = json::object(), shard = {{"shard", 0}},
       partial = {{"partial", "sum"}};
  arguments[2]["layout"] = {replicate, shard};
  arguments[3]["layout"] = {shard, partial};
  arguments[4]["layout"] = {replicate, partial};
  TemporaryFolder folder;
  std::string path = program.write(folder.file("p.tp"));
  tp_artifact *artifact = nullptr;
  expectOk(tp_artifact_open(path.c_str(), &artifact));
  const int64_t copies[] = {1, 6, 2, 1, 2};
  for (int64_t i = 0; i < 5; ++i) {
    tp_port_info info = {};
    info.struct_size = sizeof(info);
    expectOk(tp_artifact_port_info(artifact, TP_ARGUMENT, i, &info));
    EXPECT_EQ(info.copies, copies[i]) << i;
  }
  tp_port_info older = {};
  older.struct_size = offsetof(tp_port_info, copies);
  older.copies = -5;
  expectOk(tp_artifact_port_info(artifact, TP_ARGUMENT, 1, &older));
  EXPECT_EQ(older.copies, -5);
  tp_artifact_close(artifact);
}

/// Asking for it sets nothing.
TEST_F(CApiArtifactTest, AskingSetsNoArgument) {
  tp_transport *transport = nullptr;
  tp_rank *rank = nullptr;
  expectOk(tp_transport_threads(artifact, &transport));
  expectOk(tp_rank_create(artifact, transport, 0, 2, nullptr, &rank));
  info(TP_ARGUMENT, 1);
  expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT,
             "argument 'state' was never set");
  tp_rank_free(rank);
  tp_transport_free(transport);
}

/// The struct may grow: what an older caller's has not is left alone.
TEST_F(CApiArtifactTest, OlderStructsStayInTheirBounds) {
  tp_port_info given;
  std::memset(&given, 0x5a, sizeof(given));
  given.struct_size = offsetof(tp_port_info, updates);
  expectOk(tp_artifact_port_info(artifact, TP_RESULT, 1, &given));
  EXPECT_STREQ(given.kind, "user_output");
  EXPECT_EQ(given.updates, 0x5a5a5a5a5a5a5a5a);
  given.struct_size = 0;
  expectCode(tp_artifact_port_info(artifact, TP_RESULT, 1, &given),
             TP_INVALID_ARGUMENT,
             "struct_size is 0, expected the sizeof of the struct");
  expectCode(tp_artifact_port_info(artifact, TP_RESULT, 1, nullptr),
             TP_INVALID_ARGUMENT, "null");
  given.struct_size = sizeof(given);
  expectCode(tp_artifact_port_info(artifact, TP_RESULT, 2, &given),
             TP_INVALID_ARGUMENT, "no result 2, there are 2");
}

/// A host reads its weights by these, and needs no reader of JSON.
TEST(CApiKeysTest, KeysOfWeights) {
  TestProgram program({{"tp", 1}});
  for (const char *name : {"input", "own", "tied", "state", "joined"})
    program.addArgument(name, "f32", 4);
  auto &arguments = program.manifest["arguments"];
  arguments[1]["kind"] = "parameter";
  arguments[2]["kind"] = "parameter";
  arguments[2]["source_keys"] = {"embed.weight", "head.weight"};
  arguments[3]["kind"] = "opt_exp_avg";
  arguments[4]["kind"] = "parameter";
  for (int64_t at : {0, 2})
    arguments[4]["segments"].push_back(
        {{"source_keys", {"part" + std::to_string(at)}},
         {"shape", {2}},
         {"offset", {at}}});
  program.manifest["memory"]["scratch_bytes"] = 128;
  program.addResult("r", "i64", 4);
  program.addKernel("where_am_i", {resultBuffer(0)});
  TemporaryFolder folder;
  std::string path = program.write(folder.file("p.tp"));
  tp_artifact *artifact = nullptr;
  expectOk(tp_artifact_open(path.c_str(), &artifact));
  auto keys = [&](tp_port_side side, int64_t index) {
    std::vector<std::string> keys;
    const char *key = nullptr;
    do {
      expectOk(tp_artifact_port_key(artifact, side, index, keys.size(), &key));
      if (key)
        keys.push_back(key);
    } while (key);
    return keys;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys(TP_ARGUMENT, 0), Keys());
  EXPECT_EQ(keys(TP_ARGUMENT, 1), Keys({"own"}));
  EXPECT_EQ(keys(TP_ARGUMENT, 2), Keys({"embed.weight", "head.weight"}));
  EXPECT_EQ(keys(TP_ARGUMENT, 3), Keys({"opt_exp_avg:state"}));
  EXPECT_EQ(keys(TP_RESULT, 0), Keys());
  const char *key = nullptr;
  expectCode(tp_artifact_port_key(artifact, TP_ARGUMENT, 4, 0, &key),
             TP_UNSUPPORTED,
             "argument 'joined' is joined from 2 tensors of the file: read "
             "their keys in 'segments' of the manifest");
  expectCode(tp_artifact_port_key(artifact, TP_ARGUMENT, 5, 0, &key),
             TP_INVALID_ARGUMENT, "no argument 5, there are 5");
  expectCode(tp_artifact_port_key(artifact, TP_ARGUMENT, 1, -1, &key),
             TP_INVALID_ARGUMENT, "key -1, expected a number from 0 on");
  expectCode(tp_artifact_port_key(artifact, TP_ARGUMENT, 1, 0, nullptr),
             TP_INVALID_ARGUMENT, "null");
  tp_artifact_close(artifact);
}

TEST_F(CApiArtifactTest, WrongNamesAreMetWithRightOnes) {
  int64_t index = -1;
  auto expectNone = [&](tp_port_side side, const char *name,
                        const std::string &message) {
    tp_status *status = tp_artifact_find_port(artifact, side, name, &index);
    EXPECT_EQ(tp_status_message(status), message);
    tp_status_free(status);
  };
  expectNone(TP_RESULT, "logit",
             "no result is called 'logit', did you mean 'logits'?");
  expectNone(TP_ARGUMENT, "stata",
             "no argument is called 'stata', did you mean 'state'?");
  expectNone(TP_RESULT, "anything",
             "no result is called 'anything', there are: logits, next");
  expectNone(TP_ARGUMENT, "logits",
             "no argument is called 'logits', there are: unused; a result is");
  expectNone(TP_RESULT, "state",
             "no result is called 'state', there are: logits, next; an "
             "argument is");
}

/// A program in a root folder without /proc is not told that the artifact is
/// damaged.
TEST(CApiCodeTest, WithoutProcTheMessageSaysSo) {
  TestProgram program({{"tp", 1}});
  program.manifest["memory"]["scratch_bytes"] = 128;
  program.addResult("r", "i64", 4);
  program.addKernel("where_am_i", {resultBuffer(0)});
  TemporaryFolder folder;
  std::string path = program.write(folder.file("p.tp"));
  pid_t child = fork();
  if (child == 0) {
    // Root may change the root folder, others in a namespace of their own.
    if (chroot(folder.path.c_str()) != 0 &&
        (unshare(CLONE_NEWUSER) != 0 || chroot(folder.path.c_str()) != 0))
      _exit(77);
    tp_artifact *artifact = nullptr;
    tp_status *status = tp_artifact_open("/p.tp", &artifact);
    std::string message = tp_status_message(status);
    bool isRight = tp_status_code(status) == TP_SYSTEM &&
                   message.starts_with(
                       "/p.tp: cannot load the code: there is no /proc/") &&
                   message.ends_with(", expected a file system at /proc");
    if (!isRight)
      (void)!write(2, message.data(), message.size());
    _exit(isRight ? 0 : 1);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  ASSERT_TRUE(WIFEXITED(ended));
  if (WEXITSTATUS(ended) == 77)
    GTEST_SKIP() << "no right to change the root folder";
  EXPECT_EQ(WEXITSTATUS(ended), 0);
}

} // namespace
