//===- CudaAbiRanksTest.cpp - ranks on devices through the C ABI --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaAbi.h"
#include "Patience.h"
#include "cuda/LaunchedRanks.h"
#include <fstream>

using namespace tp::test;
using namespace tp::runtime;
using cuda::CUdeviceptr;

namespace {

class CudaAbiRanksTest : public CudaAbiTest {
protected:
  /// The rank's transport: two ranks find each other at the port.
  void meetAt(const ReservedPort &port, int64_t number,
              const char *run = nullptr) {
    std::string address = "tcp://127.0.0.1:" + std::to_string(port.number);
    tp_store_options options = {};
    options.struct_size = sizeof(options);
    options.address = address.c_str();
    options.run = run;
    expectOk(tp_transport_store(artifact, number, 2, &options, &transport));
  }
  /// One of two such ranks.
  void createAt(const ReservedPort &port, int64_t number) {
    meetAt(port, number);
    tp_rank_options wishes = defaults();
    expectOk(tp_rank_create(artifact, transport, number, 2, &wishes, &rank));
  }
};

/// Two steps on each of two ranks, with these options.
void runTwoRanks(tp_artifact *artifact, tp_transport *transport, int64_t number,
                 const tp_rank_options &options) {
  tp_rank *rank = nullptr;
  expectOk(tp_rank_create(artifact, transport, number, 2, &options, &rank));
  if (!rank)
    return;
  std::vector<float> in(64, float(number + 1)), out(64);
  tp_tensor from = tensor(in.data(), TP_F32, {64});
  tp_tensor to = tensor(out.data(), TP_F32, {64});
  expectOk(tp_rank_set_argument(rank, 0, &from));
  expectOk(tp_rank_barrier(rank));
  for (int step = 0; step < 2; ++step) {
    expectOk(tp_rank_submit(rank, nullptr));
    expectOk(tp_rank_wait(rank));
  }
  expectOk(tp_rank_get_tensor(rank, TP_RESULT, 0, &to));
  EXPECT_EQ(out, std::vector<float>(64, 6));
  expectOk(tp_rank_finish(rank));
  tp_rank_free(rank);
}

TEST_F(CudaAbiRanksTest, RanksAreProcesses) {
  open(2);
  int descriptor = -1;
  expectOk(tp_transport_processes(artifact, &transport, &descriptor));
  inProcesses(2, [&](int64_t number) {
    runTwoRanks(artifact, transport, number, defaults());
  });
  free();
}

TEST_F(CudaAbiRanksTest, RanksFindEachOtherOverTcp) {
  open(2);
  ReservedPort port;
  inProcesses(2, [&](int64_t number) {
    meetAt(port, number, "a run");
    runTwoRanks(artifact, transport, number, defaults());
    tp_transport_free(transport);
  });
}

/// Who goes away without tp_rank_finish is lost.
TEST_F(CudaAbiRanksTest, ARankThatGoesAwayIsLost) {
  open(2);
  ReservedPort port;
  inProcesses(2, [&](int64_t number) {
    createAt(port, number);
    if (number == 1) {
      free();
      return;
    }
    expectCode(tp_rank_barrier(rank), TP_RANK_FAILED, "rank 1");
    free();
  });
}

/// Nothing begins after an abort: of one rank in a process, and of ranks that
/// find each other over TCP.
TEST_F(CudaAbiRanksTest, AnAbortEndsStepsThatComeLater) {
  auto expectStopped = [&] {
    tp_transport_abort(transport, 0, "the host ends");
    expectOk(tp_rank_submit(rank, nullptr));
    expectCode(tp_rank_wait(rank), TP_RANK_FAILED, "the host ends");
    expectCode(tp_rank_barrier(rank), TP_RANK_FAILED, "the host ends");
    expectCode(tp_rank_finish(rank), TP_RANK_FAILED, "the host ends");
  };
  auto step = [&] {
    std::vector<float> in(64, 1);
    tp_tensor from = tensor(in.data(), TP_F32, {64});
    expectOk(tp_rank_set_argument(rank, 0, &from));
    expectOk(tp_rank_submit(rank, nullptr));
    expectOk(tp_rank_wait(rank));
  };
  create(defaults());
  step();
  expectStopped();
  free();
  tp_artifact_close(std::exchange(artifact, nullptr));
  open(2);
  ReservedPort port;
  inProcesses(2, [&](int64_t number) {
    createAt(port, number);
    step();
    expectStopped();
    free();
  });
}

/// A communicator of the host program's.
struct OwnCommunicator {
  OwnCommunicator(const OwnDevice &own, const cuda::ncclUniqueId &id, int rank,
                  int size) {
    EXPECT_OK(cuda::Nccl::open(nccl));
    cuda::Device::Current current(*own.device);
    cuda::ncclConfig_t config;
    config.blocking = 0;
    (void)nccl->ncclCommInitRankConfig.code(&handle, size, id, rank, &config);
  }
  void connect() const {
    cuda::ncclResult_t state = cuda::ncclInProgress;
    while (state == cuda::ncclInProgress)
      ASSERT_OK(nccl->ncclCommGetAsyncError(handle, &state));
    EXPECT_EQ(state, cuda::ncclSuccess);
  }
  std::unique_ptr<cuda::Nccl> nccl;
  cuda::ncclComm_t handle = nullptr;
};

cuda::ncclUniqueId uniqueId() {
  std::unique_ptr<cuda::Nccl> nccl;
  cuda::ncclUniqueId id = {};
  EXPECT_OK(cuda::Nccl::open(nccl));
  EXPECT_OK(nccl->ncclGetUniqueId(&id));
  return id;
}

/// The rank makes no communicator of all ranks itself, and leaves the external
/// one as it was.
TEST_F(CudaAbiRanksTest, AnExternalCommunicatorIsSplit) {
  open(2);
  int descriptor = -1;
  expectOk(tp_transport_processes(artifact, &transport, &descriptor));
  cuda::ncclUniqueId id = uniqueId();
  inProcesses(2, [&](int64_t number) {
    OwnDevice own(number);
    OwnCommunicator communicator(own, id, int(number), 2);
    communicator.connect();
    setenv("TP_FAKE_FAULT", "ncclCommInitRankConfig@*:1:3", 1);
    tp_rank_options options = defaults();
    options.nccl_communicator = communicator.handle;
    runTwoRanks(artifact, transport, number, options);
    CUdeviceptr memory = own.allocate(256);
    std::vector<float> values(64, float(number + 1));
    own.copyIn(memory, values.data(), 256);
    {
      cuda::Device::Current current(*own.device);
      auto *data = reinterpret_cast<void *>(memory);
      int result = communicator.nccl->ncclAllReduce.code(
          data, data, 64, cuda::ncclFloat32, cuda::ncclSum, communicator.handle,
          own.stream());
      EXPECT_TRUE(result == cuda::ncclSuccess ||
                  result == cuda::ncclInProgress);
    }
    own.copyOut(values.data(), memory, 256);
    own.wait();
    EXPECT_EQ(values, std::vector<float>(64, 3));
    // The other rank still reads what this one has sent.
    std::ofstream(folder.file("done" + std::to_string(number)));
    EXPECT_TRUE(eventually([&] {
      return access(folder.file("done" + std::to_string(1 - number)).c_str(),
                    F_OK) == 0;
    }));
    EXPECT_OK(communicator.nccl->ncclCommAbort(communicator.handle));
  });
  free();
}

TEST_F(CudaAbiRanksTest, WrongCommunicatorsAreRefused) {
  open(2);
  OwnDevice first(0), second(1);
  struct Case {
    const OwnDevice &device;
    int rank, size;
    const char *message;
  };
  const Case cases[] = {
      {first, 0, 1, "1 ranks, expected one of all 2 ranks of the artifact"},
      {first, 1, 2,
       "rank 1 here, expected rank 0: one whose ranks have their own numbers"},
      {second, 0, 2,
       "device 1, the rank uses device 0: choose the communicator's device for "
       "the rank"},
  };
  for (const Case &one : cases) {
    OwnCommunicator communicator(one.device, uniqueId(), one.rank, one.size);
    tp_rank_options options = defaults();
    options.nccl_communicator = communicator.handle;
    expectOk(tp_transport_threads(artifact, &transport));
    expectCode(
        tp_rank_create(artifact, transport, 0, 2, &options, &rank),
        TP_INVALID_ARGUMENT,
        (std::string("the external communicator has ") + one.message).c_str());
    EXPECT_OK(communicator.nccl->ncclCommAbort(communicator.handle));
    free();
  }
}

} // namespace
