//===- FolderStoreTest.cpp - ranks that are started one by one ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks of --store=FOLDER: each joins once, one run never takes in a process of
// another, and all end when one does.
//
//===----------------------------------------------------------------------===//

#include "HostTest.h"
#include <csignal>
#include <filesystem>
#include <sys/mman.h>

using namespace tp::test;

namespace {

class FolderStoreTest : public HostTest {
protected:
  /// A rank of three that waits for the others for ever.
  std::unique_ptr<ToolRun> start(int64_t rank, const std::string &more = "",
                                 const std::string &environment = "",
                                 const std::string &seed = "1") {
    auto run = std::make_unique<ToolRun>(
        shell("RANK=" + std::to_string(rank) + " WORLD_SIZE=3 " + environment +
              " exec $tp_run $artifact --random-data=" + seed + " --store=" +
              meeting.path + " --timeout=1e6 --start-timeout=1e6 " + more),
        "/bin/sh");
    run->start();
    return run;
  }
  /// Rank 0, once the others can find it.
  std::unique_ptr<ToolRun> startFirst(const std::string &more = "",
                                      const std::string &environment = "") {
    auto run = start(0, more, environment);
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file()); }));
    return run;
  }
  /// Another rank, once it has claimed its number: it maps the head before
  /// that, and everything after it.
  std::unique_ptr<ToolRun> startOther(int64_t rank,
                                      const std::string &more = "",
                                      const std::string &environment = "") {
    auto run = start(rank, more, environment);
    EXPECT_TRUE(eventually([&] {
      std::string maps =
          readFile("/proc/" + std::to_string(run->process()) + "/maps");
      size_t first = maps.find("memfd:tp-ranks");
      return first != std::string::npos &&
             maps.find("memfd:tp-ranks", first + 1) != std::string::npos;
    }));
    return run;
  }
  /// Until all have joined.
  void awaitStart() {
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(file()); }));
  }
  static void expectFailed(ToolRun &run, const std::string &message) {
    run.finish();
    EXPECT_EQ(run.exitStatus(), 1);
    EXPECT_EQ(run.err, "tp-run: error: " + message + "\n");
  }
  static void expectDone(ToolRun &run) {
    run.finish();
    EXPECT_EQ(run.exitStatus(), 0) << run.err;
  }
  static std::string processOf(const ToolRun &run) {
    return "process " + std::to_string(run.process());
  }
  std::string file() const { return meeting.file("tp-ranks"); }

  TemporaryFolder meeting;
};

TEST_F(FolderStoreTest, RanksThatAreKilledEndTheOthers) {
  for (int signal : {SIGKILL, SIGTERM, SIGSEGV})
    for (int64_t dead : {0, 2}) {
      SCOPED_TRACE(std::to_string(signal) + " " + std::to_string(dead));
      std::unique_ptr<ToolRun> ranks[3];
      const std::string endless = "--repeat=1000000000";
      ranks[0] = startFirst(endless);
      for (int64_t rank : {1, 2})
        ranks[rank] = start(rank, endless);
      awaitStart();
      std::string process = processOf(*ranks[dead]);
      kill(ranks[dead]->process(), signal);
      for (int64_t rank = 0; rank < 3; ++rank) {
        ranks[rank]->finish();
        EXPECT_NE(ranks[rank]->exitStatus(), 0);
        if (rank != dead) {
          EXPECT_TRUE(holdsAll(ranks[rank]->err,
                               {"tp-run: error: rank " + std::to_string(dead) +
                                    ", " + process + ", ended in ",
                                ", before the run did\n"}))
              << ranks[rank]->err;
        }
      }
    }
}

TEST_F(FolderStoreTest, RankThatIsKilledBeforeTheStart) {
  auto first = startFirst(), other = startOther(1);
  std::string message = "rank 1, " + processOf(*other) +
                        ", ended in the start of the run, before the run did";
  kill(other->process(), SIGKILL);
  // Rank 0 waits until the last one knows it.
  expectFailed(*start(2), message);
  expectFailed(*first, message);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

/// Which ranks these are, and what to look for.
TEST_F(FolderStoreTest, RanksThatNeverCome) {
  expectFailed(*start(0, "--start-timeout=0.2"),
               "rank 0 waited 0.2 s in the start of the run for 2 of 3 ranks "
               "that did not join: rank 1 has not come; rank 2 has not come: "
               "check that every rank of the run was started, and that none "
               "ended before it joined");
}

TEST_F(FolderStoreTest, SecondProcessOfARankIsRefused) {
  auto first = startFirst("--output=@y.npy"), other = startOther(1);
  expectFailed(*start(1, "", "", "2"),
               "rank 1 cannot meet rank 0 in " + meeting.path +
                   ": rank 1 has come already, as " + processOf(*other) +
                   ": give each run a folder of its own");
  expectFailed(*start(0), file() + ": rank 0 has come already, as " +
                              processOf(*first) +
                              ": give each run a folder of its own");
  auto last = start(2);
  expectDone(*first);
  EXPECT_EQ(readFile(first->file("y.npy")), result);
  expectDone(*other);
  expectDone(*last);
}

/// The rank of another job came first.
TEST_F(FolderStoreTest, RankWithOtherDataFailsTheRun) {
  auto first = startFirst("--output=@y.npy");
  auto stray = start(1, "", "", "2");
  std::string message =
      "rank 1, " + processOf(*stray) +
      ", is given other weights, inputs, state or steps than rank 0, " +
      processOf(*first);
  expectFailed(*stray, message);
  expectFailed(*start(2), message);
  expectFailed(*first, message);
  first->expectNothingLeft();
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(FolderStoreTest, RankOfAnotherRunIsRefused) {
  const std::string a = "TORCHELASTIC_RUN_ID=a", b = "TORCHELASTIC_RUN_ID=b";
  auto first = startFirst("", a);
  expectFailed(*start(1, "", b),
               "rank 1 cannot meet rank 0 in " + meeting.path + ": rank 0, " +
                   processOf(*first) + ", belongs to another run");
  auto other = start(1, "", a), last = start(2, "", a);
  for (ToolRun *run : {first.get(), other.get(), last.get()})
    expectDone(*run);
}

TEST_F(FolderStoreTest, OtherNumberOfRanksIsRefused) {
  auto first = startFirst();
  ToolRun other(shell("RANK=3 WORLD_SIZE=4 $tp_run $artifact "
                      "--random-data=1 --ranks=4 --store=" +
                      meeting.path),
                "/bin/sh");
  other.run();
  other.expectError({"--ranks=4: the artifact is for 3 ranks"});
  auto second = start(1), last = start(2);
  for (ToolRun *run : {first.get(), second.get(), last.get()})
    expectDone(*run);
}

TEST_F(FolderStoreTest, FileOfAKilledRunIsRefused) {
  auto first = startFirst();
  std::string message = file() + ": it is left from a run whose rank 0, " +
                        processOf(*first) +
                        ", has ended: remove it or give another folder";
  kill(first->process(), SIGKILL);
  first->finish();
  for (int64_t rank : {0, 1, 2})
    expectFailed(*start(rank), message);
  // A rank 0 writes the whole file or none.
  for (const char *text : {"", "tp-ranks 1 2", "not of tp\n"}) {
    meeting.write("tp-ranks", text);
    for (int64_t rank : {0, 1})
      expectFailed(*start(rank),
                   file() + ": expected the file of a rank 0: remove it or "
                            "give another folder");
  }
}

TEST_F(FolderStoreTest, FolderHasToExist) {
  std::filesystem::remove(meeting.path);
  for (int64_t rank : {0, 1, 2})
    expectFailed(*start(rank), meeting.path +
                                   ": No such file or directory (the folder "
                                   "of a store has to exist)");
  std::filesystem::create_directory(meeting.path);
}

/// Whichever rank it is, and whenever the others come.
TEST_F(FolderStoreTest, RankThatFailsEarlyEndsTheOthers) {
  for (int64_t wrong : {0, 1}) {
    std::unique_ptr<ToolRun> ranks[3];
    ranks[wrong] = start(wrong, "--weights=none.safetensors");
    for (int64_t rank : {0, 1, 2})
      if (rank != wrong)
        ranks[rank] = start(rank);
    const std::string message =
        "none.safetensors: cannot open: No such file or directory";
    for (int64_t rank : {0, 1, 2})
      expectFailed(*ranks[rank],
                   rank == wrong
                       ? message
                       : "rank " + std::to_string(wrong) + ": " + message);
    EXPECT_FALSE(std::filesystem::exists(file()));
  }
}

/// The processes count, not the larger program that became one of them.
TEST_F(FolderStoreTest, StatsAreOfProcesses) {
  auto first = startFirst("--stats"), other = start(1), last = start(2);
  for (ToolRun *run : {first.get(), other.get(), last.get()})
    expectDone(*run);
  EXPECT_NE(first->out.find("3 processes"), std::string::npos) << first->out;

  static constexpr size_t large = size_t(512) << 20;
  ToolRun grown({artifact(), "--random-data=1", "--stats"});
  grown.before = [] {
    mmap(nullptr, large, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  };
  grown.run();
  ASSERT_EQ(grown.exitStatus(), 0) << grown.err;
  std::string peak = grown.out.substr(grown.out.rfind(": ") + 2);
  std::erase(peak, ',');
  EXPECT_GT(std::stoull(peak), size_t(1) << 20);
  EXPECT_LT(std::stoull(peak), large);
}

TEST_F(FolderStoreTest, TransportBesideAStoreIsRefused) {
  expectFailed(*start(0, "--transport=threads"),
               "--store cannot go with --transport: each process is one rank");
}

} // namespace
