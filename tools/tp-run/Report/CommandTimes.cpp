//===- CommandTimes.cpp - what each command takes on a device -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "Table.h"
#include "tp/Runtime/OutputFile.h"
#include <cstdio>

using namespace tp::run;
using namespace tp::runtime;

static std::string fixed(const char *format, double value) {
  char text[48];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

/// Of a command that has them: what a kernel moves, what a product computes.
static std::string rateOf(const Command &command, const Coordinates &rank,
                          double seconds) {
  if (seconds <= 0)
    return "";
  auto rate = [&](double flops) {
    return fixed("%.1f TFLOP/s", flops / seconds * 1e-12);
  };
  return std::visit(
      Overloaded{[&](const KernelCommand &kernel) {
                   return fixed("%.0f GB/s",
                                double(kernel.launch.bytes) / seconds * 1e-9);
                 },
                 [&](const GemmCommand &gemm) {
                   double flops = 2.0 * double(gemm.m) * double(gemm.n) *
                                  double(gemm.kOf(rank));
                   for (int64_t size : gemm.batch)
                     flops *= double(size);
                   return rate(flops);
                 },
                 [](const CollectiveCommand &) { return std::string(); },
                 [&](const AttentionWeights &attention) {
                   return rate(double(attention.flops));
                 },
                 [](const CallCommand &) { return std::string(); }},
      command.what);
}

std::string tp::run::describeCommandTimes(const EntryView &entry, int64_t rank,
                                          const StepTimes &times) {
  Table table({">command", "kind", "name", ">alone, cold", ">least",
               ">in a step", ">rate, cold", ">of a copy", "module",
               "location"});
  double cold = 0, inStep = 0;
  for (size_t i = 0; i < times.commands.size(); ++i) {
    const Command &command = entry.program[i];
    const CommandSeconds &seconds = times.commands[i];
    CommandName name = nameOf(entry, command, rank);
    if (name.kind == "collective")
      continue;
    cold += seconds.cold;
    inStep += seconds.inStep;
    bool compared = seconds.copy > 0 && seconds.cold > 0;
    table.add({std::to_string(i), name.kind, name.name, duration(seconds.cold),
               duration(seconds.leastCold), duration(seconds.inStep),
               rateOf(command, entry.coordinates(rank), seconds.cold),
               compared ? fixed("%.2f", seconds.copy / seconds.cold) : "",
               command.module, command.location});
  }
  std::string text = "\ncommands on " + times.device + ", medians of " +
                     grouped(times.rounds) + "\n" + table.text();
  text += "  sum " + duration(cold) + " alone, " + duration(inStep) +
          " in a step; as a graph " + duration(times.graph) + "\n";
  if (times.copied > 0)
    text +=
        "  a copy reads and writes " +
        fixed("%.0f GB/s", double(times.copiedBytes) / times.copied * 1e-9) +
        " in all, of " + grouped(times.copiedBytes) +
        " bytes; the cache holds " + grouped(times.cacheBytes) + "\n";
  return text;
}

Status tp::run::writeCommandTimes(const std::string &path,
                                  const EntryView &entry, int64_t rank,
                                  const StepTimes &times) {
  auto seconds = [](double value) { return fixed("%.9g", value); };
  std::string text =
      "{\"device\": " + quoted(times.device) +
      ", \"driver_version\": " + std::to_string(times.driverVersion) +
      ", \"rounds\": " + std::to_string(times.rounds) +
      ", \"cache_bytes\": " + std::to_string(times.cacheBytes) +
      ",\n \"copy\": {\"bytes\": " + std::to_string(times.copiedBytes) +
      ", \"seconds\": " + seconds(times.copied) + "}" +
      ", \"graph_seconds\": " + seconds(times.graph) + ",\n \"commands\": [";
  const char *separator = "\n";
  for (size_t i = 0; i < times.commands.size(); ++i) {
    const Command &command = entry.program[i];
    const CommandSeconds &of = times.commands[i];
    CommandName name = nameOf(entry, command, rank);
    if (name.kind == "collective")
      continue;
    text += separator + ("  {\"command\": " + std::to_string(i)) +
            ", \"kind\": " + quoted(name.kind) +
            ", \"name\": " + quoted(name.name) +
            ", \"module\": " + quoted(command.module) +
            ", \"location\": " + quoted(command.location) +
            ",\n   \"seconds\": " + seconds(of.cold) +
            ", \"least_seconds\": " + seconds(of.leastCold) +
            ", \"in_step_seconds\": " + seconds(of.inStep) +
            ", \"copy_seconds\": " + seconds(of.copy) + "}";
    separator = ",\n";
  }
  return writeOutputFile(path, text + "]}\n");
}
