//===- TpRunTest.cpp - the tool from the outside --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TpRunTest.h"
#include <filesystem>
#include <numeric>

using namespace tp::test;
using namespace tp::runtime;

namespace {

TEST_F(TpRunTest, ComparesAndWrites) {
  for (std::string mode : {"threads", "processes"}) {
    SCOPED_TRACE(mode);
    Outcome outcome = run(good + "--ranks=2 --transport=" + mode +
                          " --expected-output=y=@y.npy --output=@out.npy "
                          "--poison --repeat 3");
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "y: equal, f32[3, 5], max abs error 0 (atol 1e-05, "
                           "rtol 0.0001), on 2 ranks\n");
    EXPECT_EQ(readFile(folder.file("out.npy")), readFile(folder.file("y.npy")));
    std::filesystem::remove(folder.file("out.npy"));
    outcome = run(good +
                  "--quiet --expected-output=user_output:y=@y.npy "
                  "--transport=" +
                  mode);
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    outcome = run("m.tp --weights w.safetensors --input @x.npy "
                  "--expected-output=@y.npy --transport " +
                  mode);
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  }
}

TEST_F(TpRunTest, Mismatch) {
  Outcome outcome = run(good + "--expected-output=y=@wrong.npy");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_NE(outcome.err.find("result 'y' differs from wrong.npy in 2 of 30 "
                             "elements, worst at [1, 2] on rank 0: expected "),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(run(good + "--expected-output=y=@wrong.npy --atol=1").exitStatus,
            0);
  EXPECT_EQ(run(good + "--expected-output=y=@wrong.npy --rtol=1").exitStatus,
            0);
  // The tolerance is relative to the expected 265, not to the 264 got.
  std::string exact = good + "--expected-output=y=@wrong.npy --atol=0 --rtol=";
  EXPECT_EQ(run(exact + "0.0037807").exitStatus, 0);
  EXPECT_EQ(run(exact + "0.0037700").exitStatus, 1);
  // Of elements that differ by 2, by 3 and by 2 the second one is named.
  outcome = run(good + "--expected-output=y=@wronger.npy");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_EQ(outcome.err,
            "tp-run: error: result 'y' differs from wronger.npy in 6 of 30 "
            "elements, worst at [1, 2] on rank 0: expected 267, got 264 "
            "(allowed difference 0.02671)\n");
  outcome = run(good + "--expected-output=y=@nan.npy --rtol=100 --atol=1e9");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_NE(outcome.err.find("expected nan"), std::string::npos);
}

/// Neighbours that are one and the same double.
TEST_F(TpRunTest, LargeIntegersThatDifferByOne) {
  constexpr int64_t big = int64_t(1) << 60, odd = (int64_t(1) << 53) + 1;
  std::vector<int64_t> values = {odd, big, -big, 7};
  writeIdentity("i64.tp", "i64", 4);
  writeArray("got.npy", {4}, values, DataType::I64);
  std::string arguments = "i64.tp --input=@got.npy --atol=0 --rtol=0 "
                          "--expected-output=@";
  Outcome outcome = run(arguments + "got.npy");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "y: equal, i64[4], max abs error 0 (atol 0, rtol 0), "
                         "on 1 rank\n");
  for (int64_t i : {0, 1, 2}) {
    std::vector<int64_t> wrong = values;
    wrong[i] -= 1;
    writeArray("wrong.npy", {4}, wrong, DataType::I64);
    expectFailure(arguments + "wrong.npy",
                  "result 'y' differs from wrong.npy in 1 of 4 elements, worst "
                  "at [" +
                      std::to_string(i) + "] on rank 0");
  }
}

TEST_F(TpRunTest, Reports) {
  Outcome outcome = run(good + "--stats --repeat=4");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  for (const char *part : {"time per step", "2 threads", "all_reduce (scalars)",
                           "memory per rank", "total"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  outcome = run("--info m.tp");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  for (const char *part :
       {"mesh tp = 2 (2 ranks)", "f32[5, 4]", "[shard<1>]", "stored as [1, 0]",
        "total 60 flops", "all_reduce sum"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  for (std::string mode : {"threads", "processes"}) {
    outcome = run(good + "--trace=t.json --transport=" + mode);
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
    json trace = json::parse(readFile(folder.file("t.json")), nullptr, false);
    ASSERT_FALSE(trace.is_discarded());
    // A name and two commands for each of two ranks.
    EXPECT_EQ(trace["traceEvents"].size(), 6u);
    EXPECT_EQ(trace["traceEvents"][1]["name"], "gemm 3x5x2");
    EXPECT_EQ(trace["traceEvents"][1]["args"]["location"], "linear");
  }
}

TEST_F(TpRunTest, OneRankAlone) {
  Outcome outcome = run("m.tp --only-rank=1 --skip-collectives "
                        "--random-data=3 --repeat=2 --stats --poison");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 threads"), std::string::npos);
  EXPECT_NE(outcome.out.find("(skipped)"), std::string::npos);
  // Random data does not depend on the mesh or the mode.
  ASSERT_EQ(run("m.tp --random-data=3 --output=@a.npy").exitStatus, 0);
  ASSERT_EQ(run("m.tp --random-data=3 --output=@b.npy --transport=processes")
                .exitStatus,
            0);
  ASSERT_EQ(run("m.tp --random-data=4 --output=@c.npy").exitStatus, 0);
  EXPECT_EQ(readFile(folder.file("a.npy")), readFile(folder.file("b.npy")));
  EXPECT_NE(readFile(folder.file("a.npy")), readFile(folder.file("c.npy")));
}

TEST_F(TpRunTest, RandomDataDoesNotDependOnTheMesh) {
  std::string results[2];
  for (int64_t ranks : {1, 2}) {
    TestProgram program({{"tp", ranks}});
    program.addArgument("a", "f32", 8 / ranks);
    program.addReplicated("results", "y", "f32", {8});
    std::vector<int64_t> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    program.addCollective("all_gather", "f32", "", program.addGroup({all}),
                          ranks, argumentBuffer(0), resultBuffer(0), 1,
                          8 / ranks);
    program.write(folder.file("random.tp"));
    ASSERT_EQ(run("random.tp --random-data=3 --output=@r.npy").exitStatus, 0);
    results[ranks - 1] = readFile(folder.file("r.npy"));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(TpRunTest, BadCommandLines) {
  expectFailure("", "no artifact given");
  expectFailure("m.tp n.tp", "more than one artifact: 'm.tp' and 'n.tp'");
  expectFailure("m.tp --rank=2", "unknown option '--rank=2'");
  expectFailure("m.tp --ranks", "--ranks expects a number of ranks");
  expectFailure("m.tp --ranks=2x", "--ranks expects a number of ranks, got");
  expectFailure("m.tp --repeat=0", "--repeat expects");
  expectFailure("m.tp --atol=-1", "--atol expects");
  expectFailure("m.tp --atol=nan", "--atol expects");
  expectFailure("m.tp --timeout=0", "--timeout expects");
  expectFailure("m.tp --stats=1", "--stats takes no value");
  expectFailure("m.tp --input=x", "--input expects NAME=@FILE, @FILE or");
  expectFailure("m.tp --rank-mode=process", "--rank-mode is now --transport");
  expectFailure("m.tp --plan=p.mlir",
                "--plan, --mesh, --target and --chip are for a .mlir");
  expectFailure("m.tp --only-rank=0", "--only-rank needs --skip-collectives");
  expectFailure("m.tp --random-data=1 --expected-output=y=@y.npy",
                "--random-data cannot go with --expected-output");
  expectFailure("m.tp --skip-collectives --expected-output=y=@y.npy",
                "it cannot go with --expected-output");
  expectFailure("absent.tp", "absent.tp: cannot open");
  expectFailure("x.npy", "x.npy: not a tp artifact");
  expectFailure(good + "--ranks=4", "--ranks=4: the artifact is for 2 ranks "
                                    "(mesh tp = 2)");
}

TEST_F(TpRunTest, BadInputs) {
  expectFailure("m.tp --input=x=@x.npy", "no weight file has 'm.w': give");
  expectFailure("m.tp --weights=w.safetensors",
                "no --input for 'x', f32[3, 4]");
  expectFailure(good + "--input=x=@x.npy", "--input: 'x' is given twice");
  expectFailure(good + "--input=z=@x.npy", "no argument is called 'z'");
  expectFailure(good + "--input=@x.npy --input=@x.npy", "one too many");
  expectFailure("m.tp --weights=w.safetensors --input=x=@y.npy",
                "y.npy: expected f32[3, 4] for 'x', got f32[3, 5]");
  expectFailure("m.tp --weights=turned.safetensors --input=x=@x.npy",
                "turned.safetensors: tensor 'm.w': expected f32[5, 4] for "
                "'w', got f32[4, 5]");
  expectFailure("m.tp --weights=w.safetensors --input=x=@absent.npy",
                "absent.npy: cannot open");
  expectFailure(good + "--expected-output=y=@short.npy",
                "short.npy: result 'y' is f32[3, 5], the file holds f32[3, 4]");
  expectFailure(good + "--expected-output=z=@y.npy", "no result is called 'z'");
  expectFailure(good + "--output=y=@out.txt", "expected the name of a .npy");
  expectFailure(good + "--output=y=@no/out.npy", "no/out.npy: cannot write");
  std::string whole = readFile(folder.file("w.safetensors"));
  folder.write("cut.safetensors", whole.substr(0, whole.size() - 1));
  expectFailure("m.tp --weights=cut.safetensors --input=x=@x.npy",
                "cut.safetensors: tensor 'm.w' lies at bytes 0 to 80 of 79: "
                "the file is truncated");
  std::string program = readFile(artifact);
  folder.write("cut.tp", program.substr(0, program.size() / 2));
  expectFailure("cut.tp", "cut.tp: truncated artifact");
}

TEST_F(TpRunTest, BooleansAreZeroOrOne) {
  writeIdentity("i1.tp", "i1", 3);
  std::string arguments = "i1.tp --input=@flags.npy --output=@out.npy";
  writeArray("flags.npy", {3}, std::vector<char>{1, 0, 1}, DataType::I1);
  Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  EXPECT_EQ(readFile(folder.file("out.npy")),
            readFile(folder.file("flags.npy")));
  for (char wrong : {2, -1}) {
    writeArray("flags.npy", {3}, std::vector<char>{1, 0, wrong}, DataType::I1);
    expectFailure(arguments, "flags.npy: element 2 of a boolean array is "
                             "neither 0 nor 1");
  }
}

/// The first two rows of w are one tensor of the file, the others another one.
TEST_F(TpRunTest, WeightsJoinedFromSeveralTensors) {
  writeChanged("joined.tp", [](json &manifest) {
    json &w = manifest["arguments"][0];
    w.erase("source_keys");
    w["segments"] = {
        {{"source_keys", {"b"}}, {"shape", {3, 4}}, {"offset", {2, 0}}},
        {{"source_keys", {"a", "tied"}},
         {"shape", {2, 4}},
         {"offset", {0, 0}}}};
  });
  json header = {
      {"a", {{"dtype", "F32"}, {"shape", {2, 4}}, {"data_offsets", {48, 80}}}},
      {"b", {{"dtype", "F32"}, {"shape", {3, 4}}, {"data_offsets", {0, 48}}}}};
  std::vector<float> w;
  for (int i : {8, 12, 16, 0, 4})
    for (int k = i; k < i + 4; ++k)
      w.push_back(float(k * k % 17));
  writeWeights("parts.safetensors", header, w);
  std::string arguments = "joined.tp --input=@x.npy --weights=";
  Outcome outcome =
      run(arguments + "parts.safetensors --expected-output=@y.npy");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  expectFailure(arguments + "w.safetensors --output=@out.npy", "'b'");
  header["b"]["shape"] = {4, 3};
  writeWeights("parts.safetensors", header, w);
  expectFailure(arguments + "parts.safetensors --output=@out.npy",
                "expected f32[3, 4] for 'w', got f32[4, 3]");
}

TEST_F(TpRunTest, InfoListsAllEntries) {
  writeChanged("two.tp", [](json &manifest) {
    manifest["entries"].push_back(manifest["entries"][0]);
    manifest["entries"][1]["name"] = "decode";
  });
  Outcome outcome = run("--info two.tp");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  for (const char *part : {"two.tp: @main for mesh tp = 2 (2 ranks)\n",
                           "\ntwo.tp: @decode for mesh tp = 2 (2 ranks)\n"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  outcome = run("--info two.tp --entry=decode");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("two.tp: @decode for mesh tp = 2"), 0u);
  EXPECT_EQ(outcome.out.find("@main"), std::string::npos) << outcome.out;
  expectFailure("--info two.tp --entry=prefill",
                "--entry: there is no entry 'prefill': the artifact has "
                "'main', 'decode'");
  expectFailure("two.tp --weights=w.safetensors --input=@x.npy",
                "the artifact has 2 entries, expected --entry=main or "
                "--entry=decode");
}

/// The tp-compile beside tp-run makes the artifact; here a script that checks
/// what it is called with and copies one.
TEST_F(TpRunTest, CompilesAModelFirst) {
  std::filesystem::copy_file(TP_RUN, folder.file("tp-run"));
  folder.write("model.mlir", "module {}");
  auto compiler = [&](const std::string &lines) {
    folder.write("tp-compile", "#!/bin/sh\n" + lines);
    std::filesystem::permissions(folder.file("tp-compile"),
                                 std::filesystem::perms::owner_all);
  };
  auto runHere = [&](const std::string &arguments) {
    std::filesystem::create_directory(folder.file("tmp"));
    std::string command = "cd " + folder.path + " && TMPDIR=" + folder.path +
                          "/tmp ./tp-run " + arguments + " >out.txt 2>err.txt";
    int status = std::system(command.c_str());
    EXPECT_TRUE(std::filesystem::is_empty(folder.file("tmp")))
        << "a temporary file is left";
    return Outcome{WEXITSTATUS(status), readFile(folder.file("out.txt")),
                   readFile(folder.file("err.txt"))};
  };
  std::string rest = "model.mlir --plan=p.mlir --mesh=tp=2 "
                     "--weights=w.safetensors --input=@x.npy "
                     "--expected-output=@y.npy";
  compiler("test \"$1 $2 $4 $5\" = 'model.mlir -o --plan=p.mlir "
           "--mesh=tp=2' && cp m.tp \"$3\"\n");
  for (std::string mode : {" --transport=threads", " --transport=processes"}) {
    Outcome outcome = runHere(rest + mode);
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("y: equal"), std::string::npos);
    outcome = runHere(rest + mode + " --timeout=0.2 --inject-fault=hang@0:0");
    EXPECT_EQ(outcome.exitStatus, 1);
  }
  compiler("echo 'model.mlir:1:1: error: no' >&2; exit 1\n");
  Outcome outcome = runHere(rest);
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_EQ(outcome.err, "model.mlir:1:1: error: no\n"
                         "tp-run: error: model.mlir: tp-compile failed\n");
  std::filesystem::remove(folder.file("tp-compile"));
  outcome = runHere(rest);
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_NE(outcome.err.find("tp-compile: cannot run"), std::string::npos);
}

} // namespace
