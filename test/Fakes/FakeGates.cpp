//===- FakeGates.cpp - streams that wait for the host ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeQueues.h"
#include <algorithm>
#include <cstdio>
#include <unistd.h>

using namespace tp::fake;

namespace {

/// Of launches that have not run, in all streams.
constexpr int queueDepth = 1024;
int queuedBehindGates = 0;

std::vector<std::shared_ptr<Node>> &gates() {
  static std::vector<std::shared_ptr<Node>> all;
  return all;
}

/// Whether a gate stays closed, also when everything else has run.
bool closed() {
  auto open = [] { std::erase_if(gates(), finished); };
  open();
  if (gates().empty())
    return false;
  pump();
  open();
  return !gates().empty() && stickyError() == CUDA_SUCCESS;
}

} // namespace

void tp::fake::addGate(const std::shared_ptr<Node> &node) {
  if (!closed())
    queuedBehindGates = 0;
  gates().push_back(node);
}

void tp::fake::drain(const std::string &what) {
  if (!closed())
    return;
  complain("deadlock: " + what + " waits for the device, of which stream " +
           std::to_string(gates().front()->stream) +
           " waits for a word of the host");
  std::fflush(nullptr);
  _exit(exitDeadlock);
}

void tp::fake::beforeQueueing(const std::string &what) {
  static std::set<std::string> loaded;
  if (loaded.insert(what).second)
    drain("the first launch of " + what);
  if (!gates().empty() && ++queuedBehindGates > queueDepth)
    drain("a launch that finds the queue full, of " + what + ",");
}

extern "C" TP_FAKE CUresult cuStreamWaitValue32_v2(CUstream stream,
                                                   CUdeviceptr word,
                                                   uint32_t value,
                                                   unsigned flags) {
  ENTER("cuStreamWaitValue32", Context)
  if (!stream || !word || word % sizeof(uint32_t) ||
      flags != CU_STREAM_WAIT_VALUE_GEQ)
    return CUDA_ERROR_INVALID_VALUE;
  // The call comes back whatever it waits for: it is no launch.
  auto node = std::make_shared<Node>();
  node->what = "a wait for a word";
  bool hangs = fault.kind == Fault::Hang;
  node->start = [=] {
    return [=] {
      return !hangs &&
             int32_t(*reinterpret_cast<volatile uint32_t *>(word) - value) >= 0;
    };
  };
  append(stream, node);
  if (!stream->capture)
    addGate(node);
  return CUDA_SUCCESS;
}
