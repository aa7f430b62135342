//===- QueueClock.cpp - what work on a queue takes ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueClock.h"

using namespace tp::runtime;
using namespace tp::runtime::cuda;

Status QueueClock::prepare() {
  void *host = nullptr;
  Status status = device.allocateHost(sizeof(uint32_t), host, gateSeen);
  for (CUevent *event : {&begin, &end})
    if (status.ok())
      status = device.createEvent(/*timed=*/true, *event);
  if (!status.ok())
    return status;
  gate = static_cast<volatile uint32_t *>(host);
  *gate = 0;
  return {};
}

Status QueueClock::close() {
  return device.driver().cuStreamWaitValue32(stream, gateSeen, ++turn,
                                             CU_STREAM_WAIT_VALUE_GEQ);
}

Status QueueClock::finish(Status status) {
  open();
  return status.ok() ? wait() : status;
}

Status QueueClock::time(const std::function<Status()> &before,
                        const std::function<Status()> &work, double &seconds) {
  const Driver &driver = device.driver();
  Status status = close();
  if (status.ok() && before)
    status = before();
  if (status.ok())
    status = driver.cuEventRecord(begin, stream);
  if (status.ok())
    status = work();
  if (status.ok())
    status = driver.cuEventRecord(end, stream);
  status = finish(status);
  float milliseconds = 0;
  if (status.ok())
    status = driver.cuEventElapsedTime(&milliseconds, begin, end);
  seconds = milliseconds * 1e-3;
  return status;
}
