//===- FakeDevice.h - a device made of host memory --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_FAKEDEVICE_H
#define TP_TEST_FAKES_FAKEDEVICE_H

//
// What the fake driver, NCCL and cuBLASLt share. Work that is queued in a
// stream does not run when it is queued: it waits as a node of a graph, behind
// the work queued before it in its stream and behind the events that its stream
// waits for, until somebody asks whether a stream is done. Of the nodes that
// may run then, TP_FAKE_ORDER chooses: `first` those of the oldest stream,
// `last` those of the newest, a number a seed. A wait that is missing shows as
// a wrong result under one of the two, whatever the speed of the host.
//
// Code is loaded when it runs for the first time, as with CUDA's lazy loading,
// and loading waits until the device has nothing left to do. So do allocations
// and the making of graphs. Behind a closed gate, a stream that waits for a
// word of the host (cuStreamWaitValue32), they would wait for ever, as would a
// host that fills the queue of launches: the process then ends with
// `exitDeadlock`, saying what would have hung. With CUDA_LAUNCH_BLOCKING=1
// every call comes back when its work has run.
//
// TP_FAKE_FAULT=FUNCTION@DEVICE:N:WHAT makes the N-th call (from 1) of a
// function on a device (or `*`) go wrong: a number is the code it returns,
// `hang` work that never ends, `fail` work that ends with
// CUDA_ERROR_ILLEGAL_ADDRESS, `async` an error that the library reports later,
// `die` SIGKILL, `late` a call that takes 0.2 s.
//
#include "tp/Runtime/Cuda/DriverApi.h"
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#define TP_FAKE __attribute__((visibility("default")))

namespace tp::fake {

using namespace tp::runtime::cuda;

/// One execution of a node; false: it waits for somebody else.
using Running = std::function<bool()>;

struct Node {
  std::string what;
  /// Called when the node's turn comes, once per execution.
  std::function<Running()> start;
  std::vector<std::shared_ptr<Node>> after;
  int stream = 0;
  Running running;
  bool done = false;
  /// Let go when it is done.
  std::vector<std::shared_ptr<void>> held;
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes;
  CUstream origin = nullptr;
  bool broken = false;
  /// What libraries keep for as long as the graph, or what was made of it, is
  /// there.
  std::vector<std::shared_ptr<void>> held;
};

/// What a fault does to a call.
struct Fault {
  enum Kind { None, Code, Hang, Fail, Async } kind = None;
  int code = 0;
};
TP_FAKE Fault faultOf(const char *function);

/// Begins every function of a library: holds the lock, and ends the call with a
/// fault's code. Other faults are in `fault`.
#define ENTER_LIBRARY(FUNCTION)                                                \
  std::lock_guard lock(tp::fake::mutex());                                     \
  tp::fake::Fault fault = tp::fake::faultOf(FUNCTION);                         \
  if (fault.kind == tp::fake::Fault::Code)                                     \
    return fault.code;
/// A case of a switch over codes.
#define NAME_OF(CODE)                                                          \
  case CODE:                                                                   \
    return #CODE;

/// Everything is guarded by this; the fakes' functions hold it.
TP_FAKE std::recursive_mutex &mutex();

/// Queues work that touches no memory but what `ranges` say: address, bytes.
TP_FAKE CUresult queue(CUstream stream, const std::string &what,
                       const Fault &fault, std::function<Running()> start);
/// Work that ends at once.
TP_FAKE CUresult queueNow(CUstream stream, const std::string &what,
                          const Fault &fault, std::function<void()> run);
/// The graph that the stream is being captured into, or null.
TP_FAKE Graph *captureOf(CUstream stream);
/// Ends the process if `what`, which waits for the device, never comes back.
TP_FAKE void drain(const std::string &what);
inline constexpr int exitDeadlock = 86;
/// The work that runs takes so long by the device's clock.
TP_FAKE void take(double milliseconds);
/// The number of the device whose context is current in this thread, or -1.
TP_FAKE int currentDevice();
/// Whether all the bytes lie in one allocation that has not been freed.
TP_FAKE bool isMemory(CUdeviceptr address, size_t bytes);
/// Runs what can run, until nothing is left or all of it waits.
TP_FAKE void pump();
/// Prints "fake: MESSAGE" to the standard error.
TP_FAKE void complain(const std::string &message);

} // namespace tp::fake

#endif // TP_TEST_FAKES_FAKEDEVICE_H
