//===- Stats.cpp - times, collectives and memory of a run -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "Table.h"
#include <algorithm>
#include <map>

using namespace tp::run;
using namespace tp::runtime;

namespace {

/// Collectives up to this size are a matter of latency alone.
constexpr int64_t scalarBytes = 64;

struct Sums {
  int64_t count = 0, payload = 0, wire = 0, ring = 0;
};

std::string axesText(const EntryView &entry, const Collective &row) {
  std::string text;
  for (const AxisPart &part : entry.groups[row.group].axes)
    text += (text.empty() ? "" : ",") + entry.mesh.text(part);
  return text;
}

} // namespace

std::string tp::run::collectiveTable(const EntryView &entry) {
  // Scalars last, then in the order of first occurrence.
  std::map<std::tuple<bool, std::string, std::string>, Sums> sums;
  auto add = [&](const EntryView &part, int64_t times) {
    for (const Command &command : part.program) {
      const auto *call = std::get_if<CollectiveCommand>(&command.what);
      if (!call)
        continue;
      const Collective &row = part.collectives[call->collective];
      Sums &sum = sums[{row.payloadBytes <= scalarBytes, spelling(row.kind),
                        axesText(part, row)}];
      sum.count += times;
      sum.payload += times * row.payloadBytes;
      sum.wire += times * row.wireBytes;
      sum.ring += times * row.ringBytes;
    }
  };
  for (int64_t number : entry.manifest.partsOf(entry.index)) {
    EntryView part(entry.manifest, entry.manifest.entries[number]);
    add(part, part.part ? part.part->times : 1);
  }
  add(entry, 1);
  Table table({"collective", "axes", ">count", ">payload bytes", ">wire bytes",
               ">ring bytes"});
  for (const auto &[key, sum] : sums) {
    const auto &[scalar, kind, axes] = key;
    table.add({kind + (scalar ? " (scalars)" : ""), axes, grouped(sum.count),
               grouped(sum.payload), grouped(sum.wire), grouped(sum.ring)});
  }
  return table.empty() ? "  none\n" : table.text();
}

/// Of an entry and its parts, which run one after another in the same arena.
static MemoryPlan memoryOfStep(const EntryView &entry) {
  MemoryPlan all = entry.memory;
  for (int64_t number : entry.manifest.partsOf(entry.index)) {
    const MemoryPlan &part = entry.manifest.entries[number].memory;
    all.arenaBytes = std::max(all.arenaBytes, part.arenaBytes);
    all.scratchBytes = std::max(all.scratchBytes, part.scratchBytes);
    all.peakLiveBytes = std::max(all.peakLiveBytes, part.peakLiveBytes);
    all.constantsBytes += part.constantsBytes;
  }
  return all;
}

std::string tp::run::memoryTable(const EntryView &entry) {
  int64_t weights = 0, inputs = 0, results = 0;
  for (const Port &port : entry.arguments)
    (port.isWeight() ? weights : inputs) += port.localBytes();
  for (const Port &port : entry.results)
    if (!port.isInPlace())
      results += port.localBytes();
  MemoryPlan memory = memoryOfStep(entry);
  Table table({"memory", ">bytes"});
  table.add({"weights", grouped(weights)});
  table.add({"inputs", grouped(inputs)});
  table.add({"results", grouped(results)});
  int64_t carried = 0;
  for (const CarriedValue &value : entry.carried)
    carried += value.bytes;
  if (carried)
    table.add({"carried by loops", grouped(carried)});
  table.add({"arena", grouped(memory.arenaBytes)});
  table.add({"scratch", grouped(memory.scratchBytes)});
  table.add({"constants (shared)", grouped(memory.constantsBytes)});
  table.add({"total",
             grouped(weights + inputs + results + carried + memory.arenaBytes +
                     memory.scratchBytes + memory.constantsBytes)});
  table.add({"peak of live activations", grouped(memory.peakLiveBytes)});
  return table.text();
}

std::string tp::run::describeRun(const Options &options,
                                 const Artifact &artifact,
                                 Transport &transport) {
  const EntryView &entry = artifact.entry();
  RankReport slowest;
  int64_t resident = 0, ranks = 0;
  double cpu = 0;
  for (int64_t rank = 0; rank < entry.numRanks(); ++rank) {
    if (options.onlyRank && *options.onlyRank != rank)
      continue;
    RankReport report = reportOf(transport, rank);
    slowest.shortest = std::max(slowest.shortest, report.shortest);
    slowest.median = std::max(slowest.median, report.median);
    resident = std::max(resident, report.residentBytes);
    cpu += report.cpu;
    slowest.fusedAttentions = report.fusedAttentions;
    if (report.attentionsInSteps > slowest.attentionsInSteps) {
      slowest.attentionsInSteps = report.attentionsInSteps;
      std::copy(std::begin(report.whyInSteps), std::end(report.whyInSteps),
                slowest.whyInSteps);
    }
    ++ranks;
  }
  bool processes =
      options.rankMode == RankMode::Process || !options.store.empty();
  std::string text = "\ntime per step\n";
  Table times({"steps", ">min", ">median", ">CPU, all ranks", "ranks"});
  times.add({grouped(options.repeat), duration(slowest.shortest),
             duration(slowest.median), duration(cpu),
             std::to_string(ranks) + (processes ? " processes" : " threads")});
  text += times.text();
  text += "\ncollectives per step and rank";
  text += options.skipCollectives ? " (skipped)\n" : "\n";
  text += collectiveTable(entry);
  if (slowest.fusedAttentions || slowest.attentionsInSteps) {
    text += "\nattention per step and rank\n  by cuDNN: " +
            grouped(slowest.fusedAttentions) +
            ", in steps: " + grouped(slowest.attentionsInSteps);
    if (slowest.attentionsInSteps)
      text += std::string(" (") + slowest.whyInSteps + ")";
    text += "\n";
  }
  text += "\nmemory per rank\n" + memoryTable(entry);
  text += std::string("  resident peak of ") +
          (processes ? "the largest rank's process: " : "the process: ") +
          grouped(resident) + "\n";
  RankReport shown = reportOf(transport, options.onlyRank.value_or(0));
  if (*shown.deviceMemory)
    text +=
        std::string("  memory of collectives: ") + shown.deviceMemory + "\n";
  return text;
}
