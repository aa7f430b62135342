//===- FakeQueues.h - streams, events and graphs of the fake ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_FAKEQUEUES_H
#define TP_TEST_FAKES_FAKEQUEUES_H

#include "FakeDevice.h"
#include <set>

namespace tp::runtime::cuda {
struct CUstream_st {
  int number = 0;
  /// Of whose device it is.
  CUcontext context = nullptr;
  std::shared_ptr<tp::fake::Node> tail;
  /// Being captured into this graph; then the work queued before.
  tp::fake::Graph *capture = nullptr;
  std::shared_ptr<tp::fake::Node> outside;
};
struct CUevent_st {
  std::shared_ptr<tp::fake::Node> node;
  /// Recorded in a stream that was being captured.
  tp::fake::Graph *capture = nullptr;
  bool timed = false;
  std::shared_ptr<double> when = std::make_shared<double>(0);
  /// Recorded by launches of a graph; `when` is 0 before the first has.
  bool external = false;
};
struct CUgraph_st {
  tp::fake::Graph graph;
};
struct CUgraphExec_st {
  tp::fake::Graph graph;
  bool launched = false;
  /// Of the last launch.
  std::shared_ptr<tp::fake::Node> end;
};
} // namespace tp::runtime::cuda

namespace tp::fake {

/// The first error of work that ran; every later call returns it.
CUresult &stickyError();
/// Puts a node at the end of its stream (and behind `more`), or into the graph
/// that captures the stream.
std::shared_ptr<Node> append(CUstream stream, std::shared_ptr<Node> node,
                             std::vector<std::shared_ptr<Node>> more = {});
void launch(const Graph &graph, CUstream stream);
bool finished(const std::shared_ptr<Node> &node);
/// The stream waits at this node for the host.
void addGate(const std::shared_ptr<Node> &node);
/// Code of this name is about to be queued: loads it if it is the first time,
/// and takes a place in the queue of launches.
void beforeQueueing(const std::string &what);

/// What every function of the driver begins with: what it needs, and whether it
/// only asks or even waits for the device; the driver cannot order these two,
/// so they may not be called while a stream is captured.
enum Needs { Nothing, Driver, Context };
enum Order { Ordered, Asks, Drains };
CUresult enter(const char *function, Needs needs, Order order = Ordered);
/// The calling thread's context, or null.
CUcontext currentContext();
/// The stream; for null the default one of the current context.
CUstream named(CUstream stream);
/// What the current call is to do wrong.
extern thread_local Fault fault;

/// Streams, events and graphs that have been made and not destroyed.
extern std::set<void *> handles;
extern std::set<CUstream> streams;
/// The graph that a stream is being captured into.
extern Graph *capturing;

template <typename T> bool known(T *handle) {
  return handle && handles.count(handle);
}

/// Ends the life of a handle.
template <typename T> CUresult discard(T *handle) {
  handles.erase(handle);
  delete handle;
  return CUDA_SUCCESS;
}

#define ENTER(...)                                                             \
  std::lock_guard lock(tp::fake::mutex());                                     \
  if (CUresult early = tp::fake::enter(__VA_ARGS__))                           \
    return early;
#define NEEDS_HANDLE(HANDLE)                                                   \
  if (!tp::fake::known(HANDLE))                                                \
    return CUDA_ERROR_INVALID_HANDLE;

} // namespace tp::fake

#endif // TP_TEST_FAKES_FAKEQUEUES_H
