//===- FakeQueues.cpp - streams, events and graphs of the fake driver -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeQueues.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>

using namespace tp::fake;

namespace {

/// Nodes that have not run, in the order they were queued.
std::vector<std::shared_ptr<Node>> &pending() {
  static std::vector<std::shared_ptr<Node>> nodes;
  return nodes;
}

/// Which of the ready nodes runs next.
size_t chooseOf(const std::vector<std::shared_ptr<Node>> &ready) {
  static const char *order = std::getenv("TP_FAKE_ORDER");
  static std::mt19937 random(order ? std::atoi(order) : 0);
  auto older = [](const auto &a, const auto &b) {
    return a->stream < b->stream;
  };
  if (!order || !std::strcmp(order, "first"))
    return std::min_element(ready.begin(), ready.end(), older) - ready.begin();
  if (!std::strcmp(order, "last"))
    return std::max_element(ready.begin(), ready.end(), older) - ready.begin();
  return random() % ready.size();
}

} // namespace

std::recursive_mutex &tp::fake::mutex() {
  static std::recursive_mutex instance;
  return instance;
}

CUresult &tp::fake::stickyError() {
  static CUresult error = CUDA_SUCCESS;
  return error;
}

void tp::fake::complain(const std::string &message) {
  std::fprintf(stderr, "fake: %s\n", message.c_str());
}

bool tp::fake::finished(const std::shared_ptr<Node> &node) {
  return !node || node->done;
}

void tp::fake::pump() {
  std::vector<std::shared_ptr<Node>> &all = pending();
  std::vector<std::shared_ptr<Node>> waiting;
  while (stickyError() == CUDA_SUCCESS) {
    std::vector<std::shared_ptr<Node>> ready;
    for (const auto &node : all)
      if (std::all_of(node->after.begin(), node->after.end(), finished) &&
          std::find(waiting.begin(), waiting.end(), node) == waiting.end())
        ready.push_back(node);
    if (ready.empty())
      return;
    std::shared_ptr<Node> node = ready[chooseOf(ready)];
    if (!node->running)
      node->running = node->start();
    if (!node->running()) {
      waiting.push_back(node);
      continue;
    }
    node->done = true;
    node->after.clear();
    node->held.clear();
    all.erase(std::find(all.begin(), all.end(), node));
  }
}

std::shared_ptr<Node>
tp::fake::append(CUstream stream, std::shared_ptr<Node> node,
                 std::vector<std::shared_ptr<Node>> more) {
  node->stream = stream->number;
  if (stream->tail)
    node->after.push_back(stream->tail);
  node->after.insert(node->after.end(), more.begin(), more.end());
  stream->tail = node;
  (stream->capture ? stream->capture->nodes : pending()).push_back(node);
  return node;
}

void tp::fake::launch(const Graph &graph, CUstream stream) {
  std::map<const Node *, std::shared_ptr<Node>> copies;
  std::shared_ptr<Node> before = stream->tail;
  auto end = std::make_shared<Node>();
  end->what = "the end of a graph";
  end->start = [] { return [] { return true; }; };
  for (const auto &node : graph.nodes) {
    auto copy = std::make_shared<Node>();
    copy->what = node->what;
    copy->start = node->start;
    copy->stream = node->stream;
    for (const auto &earlier : node->after)
      copy->after.push_back(copies[earlier.get()]);
    if (copy->after.empty() && before)
      copy->after.push_back(before);
    copies[node.get()] = copy;
    pending().push_back(copy);
    end->after.push_back(copy);
  }
  append(stream, end);
}

CUresult tp::fake::queue(CUstream stream, const std::string &what,
                         const Fault &fault, std::function<Running()> start) {
  beforeQueueing(what);
  auto node = std::make_shared<Node>();
  node->what = what;
  node->start = std::move(start);
  if (fault.kind == Fault::Hang)
    node->start = [] { return [] { return false; }; };
  if (fault.kind == Fault::Fail)
    node->start = [] {
      return [] {
        stickyError() = CUDA_ERROR_ILLEGAL_ADDRESS;
        return true;
      };
    };
  append(stream, node);
  static const char *blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  bool waits = blocking && !std::strcmp(blocking, "1") && !stream->capture;
  while (waits && fault.kind == Fault::None && !node->done &&
         stickyError() == CUDA_SUCCESS)
    pump();
  return CUDA_SUCCESS;
}

Graph *tp::fake::captureOf(CUstream stream) { return stream->capture; }

CUresult tp::fake::queueNow(CUstream stream, const std::string &what,
                            const Fault &fault, std::function<void()> run) {
  return queue(stream, what, fault, [run = std::move(run)] {
    return [run] {
      run();
      return true;
    };
  });
}
