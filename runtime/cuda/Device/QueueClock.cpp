//===- QueueClock.cpp - what work on a queue takes ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueClock.h"
#include <chrono>

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
  opener = std::thread([this] { openWhatStaysClosed(); });
  return {};
}

QueueClock::~QueueClock() {
  if (!opener.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    ended = true;
  }
  ending.notify_all();
  opener.join();
}

void QueueClock::openWhatStaysClosed() {
  // A gate is closed for a few milliseconds. One that is found closed twice is
  // what the host waits for.
  constexpr std::chrono::milliseconds round(2500);
  uint32_t found = 0;
  std::unique_lock lock(mutex);
  while (!ending.wait_for(lock, round, [this] { return ended; })) {
    if (closed && turn == found) {
      *gate = turn;
      closed = false;
      serialized = true;
    }
    found = closed ? turn : 0;
  }
}

Status QueueClock::warmUp(const std::function<Status()> &work) {
  Status status = work();
  return status.ok() ? wait() : status;
}

Status QueueClock::close() {
  {
    std::lock_guard lock(mutex);
    if (serialized)
      return {};
    ++turn;
    closed = true;
  }
  return device.driver().cuStreamWaitValue32(stream, gateSeen, turn,
                                             CU_STREAM_WAIT_VALUE_GEQ);
}

void QueueClock::open() {
  std::lock_guard lock(mutex);
  *gate = turn;
  closed = false;
}

Status QueueClock::finish(Status status) {
  open();
  return status.ok() ? wait() : status;
}

Status QueueClock::time(const std::function<Status()> &before,
                        const std::function<Status()> &work, int64_t launches,
                        double &seconds) {
  const Driver &driver = device.driver();
  Status status = close();
  if (status.ok() && before)
    status = before();
  if (status.ok())
    status = driver.cuEventRecord(begin, stream);
  if (launches > mostQueued)
    open();
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
