//===- PassTimes.cpp - what every pass costs ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassTimes.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/JSON.h"
#include <mutex>
#include <sys/resource.h>

using namespace mlir;
using namespace tp;

static double seconds(timeval time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

static rusage usage() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return used;
}

double tp::cpuSeconds() {
  rusage used = usage();
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

namespace {
class PassTimesInstrumentation : public PassInstrumentation {
public:
  explicit PassTimesInstrumentation(std::vector<PassTime> &times)
      : times(times) {}

  void runBeforePass(Pass *pass, Operation *) override {
    // What only runs others on functions has no name.
    std::lock_guard<std::mutex> lock(mutex);
    if (pass->getArgument().empty())
      return;
    times.push_back({pass->getArgument().str(),
                     static_cast<unsigned>(running.size()), cpuSeconds(), 0});
    running.push_back(times.size() - 1);
  }
  void runAfterPass(Pass *pass, Operation *) override { end(pass); }
  void runAfterPassFailed(Pass *pass, Operation *) override { end(pass); }

private:
  void end(Pass *pass) {
    std::lock_guard<std::mutex> lock(mutex);
    if (pass->getArgument().empty())
      return;
    times[running.pop_back_val()].end = cpuSeconds();
  }

  std::vector<PassTime> &times;
  std::mutex mutex;
  SmallVector<size_t> running;
};
} // namespace

void tp::recordPassTimes(PassManager &manager, std::vector<PassTime> &times) {
  manager.addInstrumentation(std::make_unique<PassTimesInstrumentation>(times));
}

void tp::writePassTimes(llvm::raw_ostream &os, ArrayRef<PassTime> times) {
  double total = cpuSeconds();
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attributeArray("passes", [&] {
      for (const PassTime &time : times)
        json.object([&] {
          json.attribute("pass", time.pass);
          json.attribute("depth", time.depth);
          json.attribute("cpu_seconds", time.end - time.begin);
        });
    });
    json.attribute("before", times.empty() ? total : times.front().begin);
    double end = 0;
    for (const PassTime &time : times)
      end = std::max(end, time.end);
    json.attribute("after", times.empty() ? 0 : total - end);
    json.attribute("total", total);
    json.attribute("peak_bytes",
                   static_cast<int64_t>(usage().ru_maxrss) * 1024);
  });
  os << "\n";
}
