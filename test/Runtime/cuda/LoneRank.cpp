//===- LoneRank.cpp - one rank on a device that is the host ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoneRank.h"
#include "Patience.h"
#include "tp/Runtime/CreateRank.h"

using namespace tp::test;
using namespace tp::runtime;

LoneRank::LoneRank(const CudaProgram &program) {
  setenv("TP_CUDA_DRIVER", TP_FAKE_CUDA, 1);
  setenv("TP_CUBLASLT", TP_FAKE_CUBLASLT, 1);
  setenv("TP_CUDA_CACHE", "/nowhere", 1);
  artifact = program.open();
  EXPECT_OK(createThreadTransport(artifact->entry(), transport));
  RankOptions options;
  options.timeoutSeconds = options.startTimeoutSeconds = patience();
  options.poison = true;
  created = createRank(*artifact, *transport, 0, options, running);
}

LoneRank::~LoneRank() {
  for (const char *name : {"TP_CUDA_DRIVER", "TP_CUBLASLT", "TP_CUDA_CACHE"})
    unsetenv(name);
}

void LoneRank::load(int64_t argument,
                    const std::function<double(int64_t)> &value) {
  int64_t done = 0;
  EXPECT_OK(running->load(argument, [&](const RankSlice &slice, char *buffer) {
    int64_t count = slice.localBytes() / byteSize(slice.dtype);
    for (int64_t i = 0; i < count; ++i) {
      double element = value(done++);
      if (slice.dtype == DataType::F64)
        reinterpret_cast<double *>(buffer)[i] = element;
      else if (slice.dtype == DataType::F32)
        reinterpret_cast<float *>(buffer)[i] = float(element);
      else
        reinterpret_cast<uint16_t *>(buffer)[i] =
            slice.dtype == DataType::F16 ? floatToHalf(float(element))
                                         : floatToBfloat(float(element));
    }
  }));
}

Status LoneRank::run() {
  Status status;
  for (int step = 0; step < 3 && status.ok(); ++step)
    status = running->step();
  return status.ok() ? running->fetchResults() : status;
}

std::vector<double> LoneRank::result(int64_t index) {
  const Port &port = artifact->entry().results[index];
  RankMemory layout(artifact->entry());
  const char *bytes = transport->memory(0) + layout.results[index];
  std::vector<double> values;
  for (int64_t i = 0; i < port.localBytes() / byteSize(port.dtype); ++i)
    values.push_back(elementAsDouble(port.dtype, bytes, i));
  return values;
}
