//===- CudaFaultTest.cpp - devices and libraries that fail ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each run ends within the time-out in one line that names what failed, where
// the same run without the fault passes.
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "ToolRun.h"
#include <filesystem>
#include <fstream>
#include <mutex>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// The time-out that a run reaches.
enum class Reaches { None, Timeout, StartTimeout };

struct FaultCase {
  /// Environment and further options.
  const char *environment, *options;
  /// Parts of the message; %T is the time-out.
  std::vector<std::string> parts;
  Reaches reaches = Reaches::None;
};

const std::string arguments = "m.tp --random-data=1 --repeat=3 ";

std::string limits(Reaches reaches, double seconds) {
  auto text = [&](Reaches one) {
    return secondsText(one == reaches ? seconds : neverSeconds);
  };
  return "--timeout=" + text(Reaches::Timeout) +
         " --start-timeout=" + text(Reaches::StartTimeout) + " ";
}

// The program is that of addEverything: 1 all_reduce, 5 gemm, 6 all_gather, 7
// reduce_scatter, 8 all_to_all, 9 permute, the others kernels.
const FaultCase faults[] = {
    // The libraries are not there.
    {"TP_CUDA_DRIVER=/nowhere/libcuda.so.1",
     "",
     {"cannot open the CUDA driver, libcuda.so.1 (or the file that "
      "TP_CUDA_DRIVER names): /nowhere/libcuda.so.1"}},
    {"TP_NCCL=/nowhere/libnccl.so.2",
     "",
     {"cannot connect to the others: cannot open NCCL, libnccl.so.2"}},
    {"TP_CUBLASLT=/nowhere/libcublasLt.so.13",
     "",
     {"command 5, gemm 'linear' of module 'mlp': cannot open cuBLASLt"}},
    // The driver refuses a call.
    {"TP_FAKE_FAULT=cuInit@*:1:100",
     "",
     {"cuInit: CUDA_ERROR_NO_DEVICE (100)"}},
    {"TP_FAKE_DEVICES=0", "", {"the CUDA driver has no device"}},
    {"TP_FAKE_FAULT=cuDevicePrimaryCtxRetain@1:1:2",
     "",
     {"rank 1: device 1 'fake'", "(2)", "CUDA_ERROR_OUT_OF_MEMORY"}},
    {"TP_FAKE_MEMORY=1000000",
     "",
     {"cannot allocate", "bytes on device",
      "of 1000000 bytes free: ", "CUDA_ERROR_OUT_OF_MEMORY (2)"}},
    {"TP_FAKE_FAULT=cuMemHostAlloc@1:1:2",
     "",
     {"rank 1: cannot allocate 12 bytes of pinned memory"}},
    {"TP_FAKE_FAULT=cuModuleLoadDataEx@1:1:200",
     "",
     {"rank 1: cuModuleLoadDataEx: CUDA_ERROR_INVALID_IMAGE (200), for the "
      "code of host: expected a newer driver, or PTX in the artifact"}},
    {"TP_FAKE_FAULT=cuModuleLoadDataEx@1:1:2",
     "",
     {"rank 1: cuModuleLoadDataEx: CUDA_ERROR_OUT_OF_MEMORY (2)"}},
    {"TP_FAKE_FAULT=cuModuleGetFunction@0:2:500",
     "",
     {"rank 0, command 2, kernel scale 'scale_loc' of module 'mlp': "
      "cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500)"}},
    {"TP_FAKE_FAULT=cuMemcpyHtoDAsync@1:2:700",
     "",
     {"rank 1, argument 'x': cuMemcpyHtoDAsync: CUDA_ERROR_ILLEGAL_ADDRESS"}},
    {"TP_FAKE_FAULT=cuLaunchKernel@1:2:701",
     "",
     {"rank 1, command 2, kernel scale 'scale_loc' of module 'mlp': "
      "cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"}},
    {"TP_FAKE_FAULT=cuStreamWaitEvent@0:2:400",
     "",
     {"rank 0, command 3, kernel scale", "cuStreamWaitEvent"}},
    {"TP_FAKE_FAULT=cuEventRecord@1:4:400",
     "",
     {"rank 1, command 0, kernel scale", "cuEventRecord"}},
    {"TP_FAKE_FAULT=cuMemcpyDtoHAsync@0:1:719",
     "",
     {"rank 0, the end of the step: cuMemcpyDtoHAsync: "
      "CUDA_ERROR_LAUNCH_FAILED (719)"}},
    {"TP_FAKE_FAULT=cuMemcpyDtoHAsync@0:3:719",
     "",
     {"rank 0, its results: cuMemcpyDtoHAsync: CUDA_ERROR_LAUNCH_FAILED"}},
    {"TP_FAKE_FAULT=cuMemcpy2DAsync@1:1:1",
     "",
     {"rank 1, command 6, all_gather 'all_gather_1' of module 'layer.1': "
      "cuMemcpy2DAsync"}},
    // In the graph.
    {"TP_FAKE_FAULT=cuLaunchKernel@1:7:701",
     "",
     {"rank 1, command 2, kernel scale", "cuLaunchKernel"}},
    {"TP_FAKE_FAULT=cuStreamEndCapture@0:1:901",
     "",
     {"rank 0, the graph of the step: cuStreamEndCapture: "
      "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)"}},
    {"TP_FAKE_FAULT=cuGraphInstantiate@1:1:2",
     "",
     {"rank 1, the graph of the step: cuGraphInstantiate: "
      "CUDA_ERROR_OUT_OF_MEMORY (2)"}},
    {"TP_FAKE_FAULT=cuGraphLaunch@0:2:719",
     "",
     {"rank 0, the graph of the step: cuGraphLaunch"}},
    {"TP_FAKE_FAULT=ncclAllReduce@1:2:hang",
     "",
     {"command 1, all_reduce"},
     Reaches::Timeout},
    // The device fails or hangs later.
    {"TP_FAKE_FAULT=cuLaunchKernel@0:3:fail",
     "",
     {"rank 0, command 3, kernel scale 'scale_loc' of module 'mlp': "
      "cuStreamQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700)"}},
    {"TP_FAKE_FAULT=cuLaunchKernel@0:4:hang",
     "",
     {" waited %T s in ", "command 4, kernel scale 'scale_loc'"},
     Reaches::Timeout},
    {"TP_FAKE_FAULT=cublasLtMatmul@1:1:hang",
     "",
     {"command 5, gemm 'linear'"},
     Reaches::Timeout},
    // cuBLASLt.
    {"TP_FAKE_FAULT=cublasLtCreate@1:1:1",
     "",
     {"rank 1, command 5, gemm 'linear' of module 'mlp': cublasLtCreate: "
      "CUBLAS_STATUS_NOT_INITIALIZED (1)"}},
    {"TP_FAKE_FAULT=cublasLtMatmulAlgoGetHeuristic@0:1:15 "
     "TP_CUDA_CACHE=/proc/x",
     "",
     {"rank 0, command 5, gemm", "CUBLAS_STATUS_NOT_SUPPORTED (15)"}},
    {"TP_FAKE_FAULT=cublasLtMatmul@1:1:13",
     "",
     {"rank 1, command 5, gemm 'linear' of module 'mlp': cublasLtMatmul: "
      "CUBLAS_STATUS_EXECUTION_FAILED (13)"}},
    // NCCL.
    {"TP_FAKE_FAULT=ncclGetUniqueId@0:1:2",
     "",
     {"rank 0 cannot connect to the others: ncclGetUniqueId: ncclSystemError"}},
    {"TP_FAKE_FAULT=ncclCommInitRankConfig@0:1:3",
     "",
     {"rank 0 cannot connect to the others: ncclCommInitRankConfig: "
      "ncclInternalError (3)"}},
    {"TP_FAKE_FAULT=ncclCommInitRankConfig@1:1:hang",
     "",
     {"ncclCommInitRankConfig has not ended after %T s: not all ranks have "
      "called it"},
     Reaches::StartTimeout},
    {"TP_FAKE_FAULT=ncclCommWindowRegister@1:1:hang",
     "",
     {"ncclCommWindowRegister has not ended after %T s: not all ranks have "
      "called it"},
     Reaches::StartTimeout},
    {"TP_FAKE_FAULT=ncclCommWindowRegister@0:1:die",
     "",
     {"rank 0 was killed by signal 9 (Killed) in the start of the run"}},
    {"TP_FAKE_FAULT=ncclMemAlloc@1:1:die",
     "",
     {"rank 1 was killed by signal 9 (Killed) in the start of the run"}},
    {"TP_FAKE_FAULT=ncclAllReduce@0:1:5",
     "",
     {"rank 0, command 1, all_reduce 'all_reduce_0' of module 'layer.0': "
      "ncclAllReduce: ncclInvalidUsage (5)"}},
    {"TP_FAKE_FAULT=ncclAllReduce@1:1:hang",
     "",
     {" waited %T s in command 1, all_reduce 'all_reduce_0' of module"},
     Reaches::Timeout},
    {"TP_FAKE_FAULT=ncclAllGather@1:1:async",
     "",
     {"rank 1, command 6, all_gather 'all_gather_1' of module 'layer.1': "
      "asynchronous error of NCCL: ncclRemoteError (6)"}},
    {"TP_FAKE_FAULT=ncclReduceScatter@0:1:die",
     "",
     {"rank 0 was killed by signal 9 (Killed) in command 7, reduce_scatter"}},
    {"TP_FAKE_FAULT=ncclSend@0:1:6",
     "",
     {"rank 0, command 8, all_to_all", "ncclSend: ncclRemoteError (6)"}},
    {"TP_FAKE_FAULT=ncclGroupEnd@1:2:hang",
     "",
     {"command 9, permute"},
     Reaches::Timeout},
    // The host.
    {"",
     "--inject-fault=die@1:3",
     {"rank 1 was killed by signal 9", "command 3"}},
    {"", "--inject-fault=crash@0:6", {"rank 0 was killed by signal 11"}},
    {"",
     "--inject-fault=exit@1:5 --transport=processes",
     {"rank 1 ended with exit status 0 in command 5, gemm"}},
    {"",
     "--inject-fault=hang@1:4",
     {"command 4, kernel scale"},
     Reaches::Timeout},
    {"",
     "--inject-fault=absent@0:1",
     {"command 1, all_reduce"},
     Reaches::Timeout},
    {"", "--inject-fault=error@1:7", {"rank 1 failed in command 7"}},
    {"",
     "--inject-fault=die@0:end",
     {"rank 0 was killed", "the end of the step"}},
};

/// False if the time-out was too short for this machine.
bool endsNamingTheCommand(const FaultCase &fault, double seconds) {
  CudaRun folder;
  everythingOnDevice(2).write(folder.file("m.tp"));
  CudaOutcome done =
      folder.run(arguments + limits(fault.reaches, seconds) + fault.options,
                 fault.environment);
  std::vector<std::string> parts = fault.parts;
  for (std::string &part : parts)
    part = withTimeout(part, seconds);
  if (firedElsewhere(done.err, parts, seconds))
    return false;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  SCOPED_TRACE(std::string(fault.environment) + " " + fault.options);
  EXPECT_EQ(done.exitStatus, 1);
  size_t begin = done.err.find("tp-run: error: ");
  if (begin == std::string::npos) {
    ADD_FAILURE() << "no error: " << done.err;
    return true;
  }
  std::string line = done.err.substr(begin);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line\n" << line;
  for (const std::string &part : parts)
    EXPECT_NE(line.find(part), std::string::npos) << part << "\n" << line;
  return true;
}

TEST(CudaFaultTest, EndsInTimeNamingTheCommand) {
  CudaRun whole;
  everythingOnDevice(2).write(whole.file("m.tp"));
  CudaOutcome done = whole.run(arguments);
  ASSERT_EQ(done.exitStatus, 0) << done.err;
  inParallel(std::size(faults), [&](size_t i) {
    for (double seconds : timeouts)
      if (endsNamingTheCommand(faults[i], seconds))
        return;
  });
}

/// Slow calls are no failures.
TEST(CudaFaultTest, LateIsNotTooLate) {
  CudaRun folder;
  everythingOnDevice(2).write(folder.file("m.tp"));
  for (const char *environment :
       {"TP_FAKE_FAULT=ncclAllReduce@1:1:late",
        "TP_FAKE_FAULT=cuLaunchKernel@0:2:late",
        "TP_FAKE_FAULT=cuModuleLoadDataEx@1:1:late"}) {
    CudaOutcome done = folder.run(arguments, environment);
    EXPECT_EQ(done.exitStatus, 0) << environment << "\n" << done.err;
  }
  CudaOutcome done = folder.run(arguments + "--inject-fault=late@0:6");
  EXPECT_EQ(done.exitStatus, 0) << done.err;
}

TEST(CudaFaultTest, CodeThatTheDeviceCannotRun) {
  CudaRun folder;
  CudaProgram program = everythingOnDevice(1);
  auto error = [&](const char *environment = "") {
    program.write(folder.file("m.tp"));
    CudaOutcome done = folder.run(arguments, environment);
    EXPECT_EQ(done.exitStatus, 1);
    return done.err;
  };
  EXPECT_NE(
      error("TP_FAKE_CHIP=90")
          .find("the artifact has code for host and no PTX, expected some for "
                "device 0 'fake' (sm_90)"),
      std::string::npos);
  program.sections = {{"ptx", ".visible .entry scale(\n"}};
  EXPECT_NE(
      error("TP_FAKE_CHIP=90")
          .find("cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): this device "
                "has no compiler of PTX; the driver, of CUDA 13.0, does not "
                "assemble the artifact's PTX: "),
      std::string::npos);
  for (const char *text :
       {"the driver, of CUDA 12.4, does not assemble the artifact's PTX of "
        "version 8.8: expected a newer driver, or an artifact compiled with "
        "--chip=sm_90\n",
        "cuModuleLoadDataEx: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"}) {
    program.sections = {{"ptx", ".version 8.8\n.visible .entry scale(\n"}};
    std::string said = error("TP_FAKE_CHIP=90 TP_FAKE_DRIVER=12040 "
                             "TP_FAKE_FAULT=cuModuleLoadDataEx@0:1:222");
    EXPECT_NE(said.find(text), std::string::npos) << said;
  }
  // An earlier chip of the major version serves, a later one does not.
  program.manifest["target"]["chips"] = {"sm_86", "sm_90"};
  program.sections = {{"cubin.sm_86", program.hostCode}};
  program.hostCode.clear();
  program.write(folder.file("m.tp"));
  EXPECT_EQ(folder.run(arguments, "TP_FAKE_CHIP=89").exitStatus, 0);
  EXPECT_NE(
      error("TP_FAKE_CHIP=80").find("has code for sm_86, sm_90 and no PTX"),
      std::string::npos);
  // Cut off at any length it is an error that says so.
  std::string code = program.sections[0].second;
  for (size_t part :
       {size_t(10), size_t(64), code.size() / 2, code.size() - 1}) {
    program.sections = {{"cubin.sm_86", code.substr(0, part)}};
    EXPECT_NE(error("TP_FAKE_CHIP=86").find("the section 'cubin.sm_86' is"),
              std::string::npos)
        << part;
  }
}

/// Code that the driver will not run is assembled from PTX instead.
TEST(CudaFaultTest, RefusedCodeIsAssembledFromPtx) {
  CudaRun folder;
  CudaProgram program = everythingOnDevice(2);
  program.sections = {
      {"ptx", "//host " TP_TEST_CUDA_KERNELS "\n.visible .entry scale(\n"}};
  program.write(folder.file("m.tp"));
  const std::string words = std::string(arguments) + "--output=r4=@";
  CudaOutcome whole = folder.run(words + "a.npy");
  ASSERT_EQ(whole.exitStatus, 0) << whole.err;
  for (const char *code : {"200", "209"}) {
    CudaOutcome done =
        folder.run(words + "b.npy",
                   std::string("TP_FAKE_FAULT=cuModuleLoadDataEx@*:1:") + code);
    EXPECT_EQ(done.exitStatus, 0) << done.err;
    EXPECT_EQ(readFile(folder.file("a.npy")), readFile(folder.file("b.npy")));
  }
  // Nothing else is a reason to assemble.
  EXPECT_EQ(
      folder.run(words + "b.npy", "TP_FAKE_FAULT=cuModuleLoadDataEx@*:1:2")
          .exitStatus,
      1);
  // Both answers are said where it cannot assemble that either.
  program.sections = {{"ptx", ".version 8.8\n.visible .entry scale(\n"}};
  program.write(folder.file("m.tp"));
  CudaOutcome done =
      folder.run(words + "b.npy", "TP_FAKE_FAULT=cuModuleLoadDataEx@*:1:209");
  EXPECT_EQ(done.exitStatus, 1);
  EXPECT_NE(done.err.find("cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU "
                          "(209), for the code of host; cuModuleLoadDataEx: "
                          "CUDA_ERROR_INVALID_PTX (218): this device has no "
                          "compiler of PTX; the driver, of CUDA 13.0, "),
            std::string::npos)
      << done.err;
}

/// The library of the driver's own CUDA comes first, then the other one.
TEST(CudaFaultTest, ProductsOfCuda12AndOf13) {
  CudaRun folder;
  everythingOnDevice(1).write(folder.file("m.tp"));
  std::string place = "TP_CUBLASLT= LD_LIBRARY_PATH=" + folder.file("") + " ";
  auto put = [&](const char *soname, bool works) {
    std::filesystem::remove(folder.file(soname));
    if (works)
      std::filesystem::create_symlink(TP_FAKE_CUBLASLT, folder.file(soname));
    else
      std::ofstream(folder.file(soname)) << "no library";
  };
  for (bool works : {true, false}) {
    put("libcublasLt.so.13", works);
    put("libcublasLt.so.12", !works);
    for (const char *driver : {"12040", "13000"}) {
      CudaOutcome done = folder.run(
          arguments, place + "TP_FAKE_DRIVER=" + std::string(driver));
      EXPECT_EQ(done.exitStatus, 0) << driver << done.err;
    }
  }
  put("libcublasLt.so.12", false);
  CudaOutcome done = folder.run(arguments, place + "TP_FAKE_DRIVER=12040");
  EXPECT_EQ(done.exitStatus, 1);
  for (const char *text :
       {"cannot open cuBLASLt, libcublasLt.so.12 or libcublasLt.so.13 (or the "
        "file that TP_CUBLASLT names): ",
        "/libcublasLt.so.12: ", "; ", "/libcublasLt.so.13: "})
    EXPECT_NE(done.err.find(text), std::string::npos) << done.err;
}

TEST(CudaFaultTest, AKernelThatWandersIsNamed) {
  CudaRun folder;
  CudaProgram program({{"tp", 2}});
  program.addResult("r", "f32", 64);
  program.addLaunch("wander", {resultBuffer(0)}, 1);
  program.write(folder.file("m.tp"));
  CudaOutcome done = folder.run("m.tp");
  EXPECT_EQ(done.exitStatus, 1);
  EXPECT_NE(done.err.find("was killed by signal 11 (Segmentation fault) in "
                          "command 0, kernel wander"),
            std::string::npos)
      << done.err;
}

} // namespace
