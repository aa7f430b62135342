//===- CudaStoreFaultTest.cpp - hosts that fail, and strangers ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank's run ends within the time-outs in one line that says why, where
// the same run without the fault passes (CudaStoreTest).
//
//===----------------------------------------------------------------------===//

#include "ToolRun.h"
#include "cuda/LaunchedRanks.h"
#include "tp/Runtime/ArtifactFile.h"
#include "transport/store/StoreConnection.h"
#include <csignal>
#include <mutex>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

const std::string data = "m.tp --random-data=3 --repeat=3 ";

/// The options of a run that reaches the given time-outs, or none.
std::string limits(double timeout, double startTimeout) {
  return "--timeout=" + secondsText(timeout) +
         " --start-timeout=" + secondsText(startTimeout) + " ";
}
const std::string unlimited = limits(neverSeconds, neverSeconds);

void expectError(const CudaOutcome &outcome,
                 const std::vector<std::string> &parts) {
  EXPECT_EQ(outcome.exitStatus, 1) << outcome.err;
  size_t begin = outcome.err.find("tp-run: error: ");
  ASSERT_NE(begin, std::string::npos) << outcome.err;
  std::string line = outcome.err.substr(begin);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line\n" << line;
  for (const std::string &part : parts)
    EXPECT_NE(line.find(part), std::string::npos) << part << "\n" << line;
}

/// The time-out that a run reaches.
enum class Reaches { None, Timeout, StartTimeout };

struct FaultCase {
  /// Environment and further options of all ranks.
  const char *environment, *options;
  /// Parts of the messages of rank 0 and rank 1, %T being the time-out; none:
  /// it was killed.
  std::vector<std::string> zero, one;
  Reaches reaches = Reaches::None;
};

// Commands as in CudaFaultTest.
const FaultCase faults[] = {
    {"",
     "--inject-fault=die@1:3",
     {"rank 1 at 127.0.0.1:", "was lost, last heard of in "},
     {}},
    {"",
     "--inject-fault=die@0:3",
     {},
     {"rank 0 at tcp://127.0.0.1:", ", which all ranks meet at, was lost by "
                                    "rank 1 in "}},
    {"", "--inject-fault=crash@1:start", {"rank 1 at 127.0.0.1:"}, {}},
    {"",
     "--inject-fault=exit@1:5",
     {"rank 1 at 127.0.0.1:", "was lost, last heard of in "},
     {}},
    {"",
     "--inject-fault=absent@1:end",
     {"waited %T s in the end of the step for 1 of 2 ranks that did not join: "
      "rank 1 at 127.0.0.1:"},
     {"rank 1 at 127.0.0.1:"},
     Reaches::Timeout},
    {"",
     "--inject-fault=absent@1:start",
     {"waited %T s in the start of the run for 1 of 2 ranks that did not join"},
     {"rank 1 at 127.0.0.1:"},
     Reaches::StartTimeout},
    {"",
     "--inject-fault=error@1:7",
     {"rank 1 failed in command 7"},
     {"rank 1 failed in command 7"}},
    {"TP_FAKE_FAULT=ncclAllReduce@1:2:hang",
     "",
     {" waited %T s in command 1, all_reduce 'all_reduce_0'"},
     {" waited %T s in command 1, all_reduce 'all_reduce_0'"},
     Reaches::Timeout},
    {"TP_FAKE_FAULT=cuLaunchKernel@0:4:hang",
     "",
     {" waited %T s in "},
     {" waited %T s in "},
     Reaches::Timeout},
    {"TP_FAKE_FAULT=cuLaunchKernel@1:3:fail",
     "",
     {"rank 1, command 3, kernel scale 'scale_loc' of module 'mlp': "
      "cuStreamQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
     {"rank 1, command 3, kernel scale"}},
    {"TP_FAKE_FAULT=ncclCommInitRankConfig@1:1:hang",
     "",
     {"ncclCommInitRankConfig has not ended after %T s"},
     {"ncclCommInitRankConfig has not ended after %T s"},
     Reaches::StartTimeout},
    {"TP_FAKE_FAULT=ncclCommInitRankConfig@1:1:die",
     "",
     {"rank 1 at 127.0.0.1:",
      "was lost, last heard of in the start of the run: "},
     {}},
    {"TP_FAKE_FAULT=cuMemcpyDtoHAsync@1:3:719",
     "",
     {"rank 1, its results: cuMemcpyDtoHAsync"},
     {"rank 1, its results: cuMemcpyDtoHAsync"}},
    {"TP_FAKE_FAULT=cuMemcpyDtoHAsync@1:4:die",
     "--output=r0=@r.npy",
     {"rank 1 at 127.0.0.1:", "was lost, last heard of in the end of the step"},
     {}},
};

/// False if the time-out was too short for this machine.
bool endsEveryRank(const FaultCase &fault, double seconds) {
  CudaRun folder;
  everythingOnDevice(2).write(folder.file("m.tp"));
  LaunchedRanks launched(folder, 2, [&](int64_t rank) {
    return "RANK=" + std::to_string(rank) + " WORLD_SIZE=2 " +
           fault.environment;
  });
  auto limit = [&](Reaches one) {
    return one == fault.reaches ? seconds : neverSeconds;
  };
  std::string both =
      limits(limit(Reaches::Timeout), limit(Reaches::StartTimeout));
  auto done = launched.run(
      [&](int64_t) { return data + both + fault.options + launched.store(); });
  std::vector<std::string> parts[] = {fault.zero, fault.one};
  for (int rank : {0, 1}) {
    for (std::string &part : parts[rank])
      part = withTimeout(part, seconds);
    if (firedElsewhere(done[rank].err, parts[rank], seconds))
      return false;
  }
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  SCOPED_TRACE(std::string(fault.environment) + " " + fault.options);
  for (int rank : {0, 1})
    if (!parts[rank].empty())
      expectError(done[rank], parts[rank]);
    else
      EXPECT_NE(done[rank].exitStatus, 1) << done[rank].err;
  return true;
}

TEST(CudaStoreFaultTest, EndsEveryRankInTime) {
  inParallel(std::size(faults), [&](size_t i) {
    for (double seconds : timeouts)
      if (endsEveryRank(faults[i], seconds))
        return;
  });
}

class StoreTest : public testing::Test {
protected:
  void SetUp() override { everythingOnDevice(2).write(folder.file("m.tp")); }
  /// A rank's greeting, as bytes on the wire.
  std::string hello(int64_t rank, int64_t size = 2) {
    std::unique_ptr<Artifact> artifact;
    EXPECT_OK(Artifact::open(folder.file("m.tp"), artifact));
    Greeting greeting;
    greeting.artifact = artifact->identity();
    greeting.run = checksum("");
    greeting.rank = rank;
    greeting.size = size;
    return message(MessageKind::Hello, packed(greeting));
  }
  static std::string message(MessageKind kind, const std::string &bytes) {
    return packed(uint32_t(bytes.size()), uint32_t(kind)) + bytes;
  }
  static void say(int file, const std::string &bytes) {
    (void)!send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  CudaRun folder;
};

TEST_F(StoreTest, WhoeverDoesNotComeIsNamed) {
  LaunchedRanks launched(folder, 2);
  for (int missing : {0, 1}) {
    // As short as may be: whether early or late, nobody comes.
    auto done = launched.run([&](int64_t rank) {
      return rank == missing
                 ? "-"
                 : data + limits(neverSeconds, 1) + launched.store();
    });
    std::string at = launched.store().substr(9, launched.store().size() - 10);
    if (missing == 0)
      expectError(done[1], {"rank 1 cannot meet rank 0 at " + at +
                            " within 1 s: Connection refused"});
    else
      expectError(done[0],
                  {"rank 0 waited 1 s in the start of the run for 1 of 2 ranks "
                   "that did not join: rank 1 has not come to " +
                   at +
                   ": check that every rank of the run was started, and that "
                   "none ended before it joined"});
  }
}

/// The run of both ends.
TEST_F(StoreTest, RanksOfAnotherArtifactAreRefused) {
  everythingOnDevice(2, /*known=*/false).write(folder.file("other.tp"));
  LaunchedRanks artifacts(folder, 2);
  auto done = artifacts.run([&](int64_t rank) {
    return (rank ? "other.tp" + data.substr(4) : data) + unlimited +
           artifacts.store();
  });
  expectError(done[0], {"rank 1 at 127.0.0.1:", "runs another artifact than "
                                                "rank 0"});
  expectError(done[1], {"rank 1 cannot meet rank 0 at tcp://127.0.0.1:",
                        ": rank 0 runs another artifact"});
}

/// The one that is refused ends while rank 0 still waits for the right one,
/// which begins after that.
TEST_F(StoreTest, RanksOfAnotherRunAreRefused) {
  LaunchedRanks runs(folder, 2, [&](int64_t process) {
    std::string rank = process == 0 ? "0" : "1";
    return "WORLD_SIZE=2 RANK=" + rank +
           " TORCHELASTIC_RUN_ID=" + (process == 1 ? "other" : "this");
  });
  const std::string arguments = data + unlimited + runs.store();
  auto zero = runs.start(0, arguments);
  expectError(runs.start(1, arguments).get(), {": rank 0 belongs to another "
                                               "run"});
  CudaOutcome right = runs.start(2, arguments).get(), first = zero.get();
  EXPECT_EQ(right.exitStatus, 0) << right.err;
  EXPECT_EQ(first.exitStatus, 0) << first.err;
}

/// The second of a number is sent away, and the run goes on. It cannot be over
/// before that: rank 2 begins when one of the two has ended.
TEST_F(StoreTest, TheSecondOfANumberIsRefused) {
  everythingOnDevice(3).write(folder.file("m.tp"));
  LaunchedRanks twice(folder, 4, [&](int64_t process) {
    const char *ranks[] = {"0", "1", "2", "1"};
    return std::string("WORLD_SIZE=3 RANK=") + ranks[process];
  });
  const std::string arguments = data + unlimited + twice.store();
  auto zero = twice.start(0, arguments);
  std::future<CudaOutcome> ones[] = {twice.start(1, arguments),
                                     twice.start(3, arguments)};
  auto hasEnded = [](const std::future<CudaOutcome> &one) {
    return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  EXPECT_TRUE(
      eventually([&] { return hasEnded(ones[0]) || hasEnded(ones[1]); }));
  int refused = hasEnded(ones[0]) ? 0 : 1;
  // If it is the right one that has ended, this one is not waited for.
  EXPECT_FALSE(hasEnded(ones[1 - refused]));
  CudaOutcome two = twice.start(2, arguments).get();
  CudaOutcome outcomes[] = {ones[0].get(), ones[1].get()}, first = zero.get();
  expectError(outcomes[refused],
              {": rank 1 has come already, from 127.0.0.1:"});
  for (const CudaOutcome &good : {first, outcomes[1 - refused], two})
    EXPECT_EQ(good.exitStatus, 0) << good.err;
}

TEST_F(StoreTest, APortOfSomebodyElse) {
  for (bool answers : {false, true}) {
    int port = 0, listener = listenAnywhere(port);
    std::vector<int> files;
    // Until the listener is shut down.
    std::thread other([&] {
      for (int file; (file = accept(listener, nullptr, nullptr)) >= 0;) {
        files.push_back(file);
        if (answers)
          say(file, "HTTP/1.1 400 Bad Request\r\n\r\n");
      }
    });
    LaunchedRanks launched(folder, 2);
    std::vector<std::string> zero = {
        "rank 0 cannot serve at tcp://127.0.0.1:" + std::to_string(port) +
        ": Address already in use"};
    std::vector<std::string> one = {"rank 1 cannot meet rank 0 at "
                                    "tcp://127.0.0.1:",
                                    answers
                                        ? "it sent what no rank sends"
                                        : "what listens there does not answer"};
    for (double seconds : timeouts) {
      auto done = launched.run([&](int64_t) {
        return data + limits(neverSeconds, seconds) +
               "--store=tcp://127.0.0.1:" + std::to_string(port);
      });
      if (firedElsewhere(done[1].err, one, seconds))
        continue;
      expectError(done[0], zero);
      expectError(done[1], one);
      break;
    }
    shutdown(listener, SHUT_RDWR);
    other.join();
    for (int file : files)
      close(file);
    close(listener);
  }
}

TEST_F(StoreTest, StrangersChangeNothing) {
  LaunchedRanks launched(folder, 2);
  std::vector<int> files;
  const std::string arguments =
      data + "--output=r4=@s.npy " + unlimited + launched.store();
  auto zero = launched.start(0, arguments);
  std::string half = hello(1);
  for (const std::string &bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(400, '\xff'),
        std::string(), std::string(8, '\0'), half.substr(0, 20),
        message(MessageKind::Hello, std::string(40, 'x')),
        message(MessageKind::Abort, "no"), hello(7), hello(-1),
        message(MessageKind::Fail, packed(Failure{Code::Device, 1, "no"}))}) {
    files.push_back(connectToPort(launched.port()));
    say(files.back(), bytes);
  }
  // More than may stay without saying who they are.
  for (int i = 0; i < 80; ++i)
    files.push_back(connectToPort(launched.port()));
  for (size_t i = 0; i < files.size(); i += 2)
    close(std::exchange(files[i], -1));
  // All of them are there before the rank that rank 0 waits for.
  CudaOutcome done[] = {launched.start(1, arguments).get(), zero.get()};
  for (int file : files)
    if (file >= 0)
      close(file);
  for (const CudaOutcome &outcome : done)
    ASSERT_EQ(outcome.exitStatus, 0) << outcome.err;
  ASSERT_EQ(folder.run("m.tp --random-data=3 --output=r4=@h.npy").exitStatus,
            0);
  EXPECT_TRUE(readFile(folder.file("h.npy")) == readFile(folder.file("s.npy")));
}

/// A rank that says who it is and then nothing, and a rank 0 like that.
TEST_F(StoreTest, SilenceEndsTheRun) {
  for (double seconds : timeouts) {
    LaunchedRanks launched(folder, 2);
    auto zero = launched.start(0, data + limits(seconds, neverSeconds) +
                                      launched.store());
    int file = connectToPort(launched.port());
    say(file, hello(1));
    CudaOutcome done = zero.get();
    close(file);
    std::vector<std::string> parts = {
        "rank 1 at 127.0.0.1:", "was lost, last heard of in the start of the "
                                "run: nothing was heard of it for " +
                                    secondsText(seconds) + " s"};
    if (firedElsewhere(done.err, parts, seconds))
      continue;
    expectError(done, parts);
    break;
  }
  // Nobody else is there: early or late, it is the same message.
  int port = 0, listener = listenAnywhere(port);
  LaunchedRanks launched(folder, 2);
  auto one =
      launched.start(1, data + limits(1, neverSeconds) +
                            "--store=tcp://127.0.0.1:" + std::to_string(port));
  int file = accept(listener, nullptr, nullptr);
  say(file, message(MessageKind::Welcome, ""));
  CudaOutcome done = one.get();
  close(file);
  close(listener);
  expectError(done,
              {"rank 0 at tcp://127.0.0.1:", "was lost by rank 1 in the start "
                                             "of the run: nothing was heard"});
}

/// Whatever a rank sends, rank 0 ends with an error that names it.
TEST_F(StoreTest, NothingThatIsSentDoesHarm) {
  std::unique_ptr<Artifact> artifact;
  ASSERT_OK(Artifact::open(folder.file("m.tp"), artifact));
  std::string greeting = hello(1);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    LaunchedRanks ports(folder, 2);
    StoreOptions options;
    options.address = {"127.0.0.1", ports.port()};
    options.artifact = artifact->identity();
    options.timeout = 1;
    options.startTimeout = patience();
    std::unique_ptr<Store> store;
    ASSERT_OK(Store::join(artifact->entry(), options, 0, store));
    std::unique_ptr<Transport> transport = store->transport();
    int file = connectToPort(ports.port());
    say(file, greeting);
    for (int i = 0; i < 4; ++i) {
      uint32_t sizes[] = {0, 4, 8, 16, uint32_t(random() % 400), 1u << 20};
      std::string bytes(sizes[random() % std::size(sizes)], '\0');
      for (char &c : bytes)
        c = char(random());
      say(file, message(MessageKind(random() % 20), bytes));
    }
    // A size that no message has.
    if (round % 3 == 0)
      say(file, packed(uint32_t(random() | 0x80000000u), uint32_t(2)));
    shutdown(file, SHUT_WR);
    Status status = transport->barrier(0, 1);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find("rank "), std::string::npos)
        << status.message();
    transport->abort({status.code(), 0, status.message()});
    close(file);
  }
}

} // namespace
