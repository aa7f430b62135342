//===- FakeFaults.cpp - calls that go wrong when asked to -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeQueues.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>

using namespace tp::fake;

/// Of the thread's device, -1 before it has one.
thread_local int tpFakeOrdinal = -1;

Fault tp::fake::faultOf(const char *function) {
  const char *wish = std::getenv("TP_FAKE_FAULT");
  if (!wish)
    return {};
  std::string text = wish;
  size_t at = text.find('@'), first = text.find(':'),
         second = text.find(':', first + 1);
  if (at == std::string::npos || second == std::string::npos ||
      text.substr(0, at) != function)
    return {};
  std::string device = text.substr(at + 1, first - at - 1);
  if (device != "*" && std::stoi(device) != tpFakeOrdinal)
    return {};
  static std::map<std::string, int> calls;
  if (++calls[function] !=
      std::stoi(text.substr(first + 1, second - first - 1)))
    return {};
  std::string what = text.substr(second + 1);
  if (what == "die")
    std::raise(SIGKILL);
  if (what == "late") {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return {};
  }
  if (what == "hang")
    return {Fault::Hang, 0};
  if (what == "fail")
    return {Fault::Fail, 0};
  if (what == "async")
    return {Fault::Async, 0};
  return {Fault::Code, std::stoi(what)};
}
