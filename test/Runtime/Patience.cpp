//===- Patience.cpp - how long tests wait ---------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patience.h"
#include "TestProgram.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

using namespace tp::test;

namespace {

/// Of /proc/PID/stat the words after the command's name: the state is 0.
std::vector<std::string> statusWords(pid_t process) {
  std::string text = readFile("/proc/" + std::to_string(process) + "/stat");
  size_t end = text.rfind(')');
  std::istringstream words(end == std::string::npos ? ""
                                                    : text.substr(end + 1));
  std::vector<std::string> found;
  for (std::string word; words >> word;)
    found.push_back(word);
  return found;
}

int64_t statusNumber(pid_t process, size_t place) {
  std::vector<std::string> words = statusWords(process);
  return place < words.size() ? std::stoll(words[place]) : 0;
}

bool isInState(pid_t process, const char *state) {
  std::vector<std::string> words = statusWords(process);
  return !words.empty() && words[0] == state;
}

int64_t sleepsOf(pid_t process) {
  std::string text = readFile("/proc/" + std::to_string(process) + "/status");
  const std::string key = "\nvoluntary_ctxt_switches:";
  size_t place = text.find(key);
  return place == std::string::npos
             ? 0
             : std::atoll(text.c_str() + place + key.size());
}

} // namespace

double tp::test::patience() {
  const char *wish = std::getenv("TP_TEST_PATIENCE");
  return wish ? std::atof(wish) : 300;
}

bool tp::test::eventually(const std::function<bool()> &happened) {
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::duration<double>(patience());
  while (!happened()) {
    if (Clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

std::string tp::test::secondsText(double seconds) {
  std::ostringstream text;
  text << seconds;
  return text.str();
}

std::string tp::test::withTimeout(std::string text, double seconds) {
  const std::string mark = "%T", value = secondsText(seconds);
  for (size_t at; (at = text.find(mark)) != std::string::npos;)
    text.replace(at, mark.size(), value);
  return text;
}

bool tp::test::holdsAll(const std::string &text,
                        const std::vector<std::string> &parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const std::string &part) {
    return text.find(part) != std::string::npos;
  });
}

bool tp::test::firedElsewhere(const std::string &message,
                              const std::vector<std::string> &parts,
                              double seconds) {
  if (seconds >= lastTimeout || holdsAll(message, parts))
    return false;
  const std::string value = secondsText(seconds) + " s";
  for (const char *before : {" waited ", "has not ended after ",
                             "nothing was heard of it for ", " within "})
    if (message.find(before + value) != std::string::npos)
      return true;
  return message.find(" in time") != std::string::npos ||
         message.find(" stood still in ") != std::string::npos;
}

void tp::test::waitUntilAsleep(pid_t thread) {
  EXPECT_TRUE(eventually([&] { return isInState(thread, "S"); }))
      << "thread " << thread << " does not sleep";
}

void tp::test::waitUntilStopped(pid_t process) {
  EXPECT_TRUE(eventually([&] { return isInState(process, "T"); }))
      << "process " << process << " does not stop";
}

void tp::test::waitForThreads(pid_t process, int64_t threads) {
  constexpr size_t numThreads = 17;
  EXPECT_TRUE(eventually([&] {
    return statusNumber(process, numThreads) >= threads;
  })) << "process "
      << process << " does not start " << threads << " threads";
}

void tp::test::waitUntilItComputes(pid_t process) {
  constexpr size_t user = 11, system = 12;
  constexpr int64_t ticks = 3;
  int64_t before = statusNumber(process, user) + statusNumber(process, system);
  EXPECT_TRUE(eventually([&] {
    return statusNumber(process, user) + statusNumber(process, system) >=
           before + ticks;
  })) << "process "
      << process << " does not compute";
}

void tp::test::waitUntilItLooksAgain(pid_t process) {
  constexpr int64_t times = 4;
  int64_t before = sleepsOf(process);
  EXPECT_TRUE(eventually([&] { return sleepsOf(process) >= before + times; }))
      << "process " << process << " does not go on";
}
