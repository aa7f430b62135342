//===- FakeGraphs.cpp - captures and graphs of the fake driver ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeQueues.h"
#include <utility>

using namespace tp::fake;

extern "C" {

TP_FAKE CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  ENTER("cuStreamBeginCapture", Context)
  NEEDS_HANDLE(stream)
  if (capturing || mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    return CUDA_ERROR_INVALID_VALUE;
  capturing = new Graph;
  capturing->origin = stream;
  stream->capture = capturing;
  stream->outside = std::exchange(stream->tail, nullptr);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  ENTER("cuStreamEndCapture", Context)
  NEEDS_HANDLE(stream)
  Graph *ended = stream->capture;
  if (!ended || ended->origin != stream)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  // Every other stream's work must come before the end of this one's.
  std::set<const Node *> reached;
  std::vector<const Node *> open = {stream->tail.get()};
  while (!open.empty()) {
    const Node *node = open.back();
    open.pop_back();
    if (!node || !reached.insert(node).second)
      continue;
    for (const auto &earlier : node->after)
      open.push_back(earlier.get());
  }
  bool joined = reached.size() == ended->nodes.size();
  bool broken = ended->broken;
  for (CUstream other : streams)
    if (other->capture == ended) {
      other->capture = nullptr;
      other->tail = std::exchange(other->outside, nullptr);
    }
  Graph made = std::move(*ended);
  capturing = nullptr;
  *graph = nullptr;
  if (broken)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  // What a failure has cut off is not joined, and is no second error.
  if (!joined)
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph = new CUgraph_st{std::move(made)};
  handles.insert(*graph);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph,
                                             unsigned long long) {
  ENTER("cuGraphInstantiate", Context)
  NEEDS_HANDLE(graph)
  drain("cuGraphInstantiate");
  *made = new CUgraphExec_st;
  (*made)->graph = graph->graph;
  handles.insert(*made);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  ENTER("cuGraphLaunch", Context)
  NEEDS_HANDLE(graph)
  NEEDS_HANDLE(stream)
  if (!std::exchange(graph->launched, true))
    drain("the first launch of a graph");
  if (fault.kind == Fault::Hang || fault.kind == Fault::Fail)
    return queueNow(stream, "a graph", fault, [] {});
  launch(graph->graph, stream);
  graph->end = stream->tail;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuGraphDestroy(CUgraph graph) {
  ENTER("cuGraphDestroy", Context)
  NEEDS_HANDLE(graph)
  return discard(graph);
}
TP_FAKE CUresult cuGraphExecDestroy(CUgraphExec graph) {
  ENTER("cuGraphExecDestroy", Context)
  NEEDS_HANDLE(graph)
  // Deferred while it runs.
  if (!finished(graph->end))
    graph->end->held = std::move(graph->graph.held);
  return discard(graph);
}

} // extern "C"
