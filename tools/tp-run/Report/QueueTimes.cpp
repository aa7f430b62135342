//===- QueueTimes.cpp - compute, communication and both at once -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "Table.h"
#include <algorithm>

using namespace tp::run;
using namespace tp::runtime;

namespace {

/// Intervals of time that may overlap.
struct TimeIntervals {
  std::vector<CommandTime> all;

  /// As intervals that do not, in order.
  void merge() {
    std::sort(all.begin(), all.end(),
              [](const CommandTime &a, const CommandTime &b) {
                return a.begin < b.begin;
              });
    std::vector<CommandTime> merged;
    for (const CommandTime &span : all)
      if (!merged.empty() && span.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, span.end);
      else
        merged.push_back(span);
    all = std::move(merged);
  }
  double length() const {
    double sum = 0;
    for (const CommandTime &span : all)
      sum += span.end - span.begin;
    return sum;
  }
};

} // namespace

QueueTimes tp::run::queueTimes(const EntryView &entry,
                               const std::vector<CommandTime> &times) {
  TimeIntervals compute, communication;
  for (size_t i = 0; i < times.size(); ++i)
    (std::holds_alternative<CollectiveCommand>(entry.program[i].what)
         ? communication
         : compute)
        .all.push_back(times[i]);
  compute.merge();
  communication.merge();
  QueueTimes result;
  result.compute = compute.length();
  result.communication = communication.length();
  for (size_t a = 0, b = 0;
       a < compute.all.size() && b < communication.all.size();) {
    const CommandTime &mine = compute.all[a], &its = communication.all[b];
    result.overlapped += std::max(0.0, std::min(mine.end, its.end) -
                                           std::max(mine.begin, its.begin));
    ++(mine.end < its.end ? a : b);
  }
  return result;
}

std::string
tp::run::describeQueues(const EntryView &entry,
                        const std::vector<std::vector<CommandTime>> &times) {
  Table table({"rank", ">compute", ">communication", ">of it beside compute"});
  for (size_t rank = 0; rank < times.size(); ++rank) {
    if (times[rank].empty() || times[rank].front().begin == 0)
      continue;
    QueueTimes queues = queueTimes(entry, times[rank]);
    table.add({std::to_string(rank), duration(queues.compute),
               duration(queues.communication), duration(queues.overlapped)});
  }
  return "\nqueues in the last step\n" + table.text();
}
