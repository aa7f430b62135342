//===- Manifest.cpp - what an artifact says about itself ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Manifest.h"
#include <charconv>
#include <map>

using namespace tp::runtime;

const char *tp::runtime::spelling(CollectiveKind kind) {
  constexpr const char *names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                   "all_to_all", "permute"};
  return names[int(kind)];
}

const char *tp::runtime::spelling(Activation activation) {
  constexpr const char *names[] = {"none", "relu", "gelu_tanh"};
  return names[int(activation)];
}

const char *tp::runtime::spelling(Space space) {
  constexpr const char *names[] = {"argument", "result", "arena", "constant",
                                   "carried"};
  return names[int(space)];
}

const char *tp::runtime::spelling(Queue queue) {
  constexpr const char *names[] = {"compute", "communication"};
  return names[int(queue)];
}

const char *tp::runtime::spelling(EmptyRows rows) {
  constexpr const char *names[] = {"none", "zero", "nan"};
  return names[int(rows)];
}

const char *tp::runtime::spelling(const Target &target) {
  return std::visit(Overloaded{[](const CpuTarget &) { return "cpu"; },
                               [](const CudaTarget &) { return "cuda"; }},
                    target);
}

double GemmCommand::flops() const {
  double flops = 2.0 * double(m) * double(n) * double(k);
  for (int64_t size : batch)
    flops *= double(size);
  return flops;
}

/// Argument i of the entry.
static std::vector<Port> argumentsOf(const Manifest &manifest,
                                     const Entry &entry) {
  std::vector<Port> ports;
  for (size_t position : entry.signature) {
    size_t shared = manifest.arguments.size();
    ports.push_back(position < shared ? manifest.arguments[position]
                                      : entry.inputs[position - shared]);
  }
  return ports;
}

static std::vector<ArgumentPlace> placesOf(const Manifest &manifest,
                                           const Entry &entry,
                                           const std::vector<Port> &arguments) {
  std::vector<ArgumentPlace> places;
  std::map<int64_t, int64_t> ofPosition;
  for (size_t i = 0; i < arguments.size(); ++i) {
    places.push_back({int64_t(i), 0, arguments[i].localBytes()});
    ofPosition[entry.signature[i]] = i;
  }
  for (const std::vector<int64_t> &group : manifest.joined) {
    ArgumentPlace *first = nullptr;
    for (int64_t position : group) {
      auto taken = ofPosition.find(position);
      if (taken == ofPosition.end())
        continue;
      ArgumentPlace &place = places[taken->second];
      if (!first) {
        first = &place;
        continue;
      }
      place.first = first->first;
      place.offset = first->memoryBytes;
      first->memoryBytes += place.memoryBytes;
      place.memoryBytes = 0;
    }
  }
  return places;
}

/// The entry that hosts run.
static const Entry &wholeOf(const Manifest &manifest, const Entry &entry) {
  bool isPart = entry.part && entry.part->of >= 0 &&
                entry.part->of < int64_t(manifest.entries.size());
  return isPart ? manifest.entries[entry.part->of] : entry;
}

EntryView::EntryView(const Manifest &manifest, const Entry &entry)
    : manifest(manifest), mesh(manifest.mesh),
      index(&entry - manifest.entries.data()), name(entry.name),
      signature(entry.signature), arguments(argumentsOf(manifest, entry)),
      places(placesOf(manifest, entry, arguments)), results(entry.results),
      groups(manifest.groups), collectives(entry.collectives),
      memory(entry.memory), program(entry.program),
      endWaitsFor(entry.endWaitsFor), agreeAt(entry.agreeAt), part(entry.part),
      carried(wholeOf(manifest, entry).carried) {}

std::vector<int64_t> Manifest::partsOf(int64_t entry) const {
  std::vector<int64_t> found;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].part && entries[i].part->of == entry)
      found.push_back(int64_t(i));
  return found;
}

TensorNumber EntryView::tensorOf(int64_t argument) const {
  int64_t position = signature[argument];
  bool isShared = position < int64_t(manifest.arguments.size());
  return {isShared ? -1 : index, position};
}

std::optional<int64_t> EntryView::stateOf(int64_t result) const {
  const std::optional<Update> &update = results[result].update;
  if (!update || arguments[update->argument].dead)
    return std::nullopt;
  return update->argument;
}

static void describe(std::string_view what, std::string_view location,
                     std::string_view module, const TextSink &write) {
  write(what);
  for (auto [before, name] :
       {std::pair(" '", location), std::pair(" of module '", module)}) {
    if (name.empty())
      continue;
    write(before);
    write(name);
    write("'");
  }
}

std::string tp::runtime::describe(std::string_view what,
                                  std::string_view location,
                                  std::string_view module) {
  std::string text;
  ::describe(what, location, module,
             [&text](std::string_view piece) { text += piece; });
  return text;
}

void EntryView::describe(int64_t at, const TextSink &write) const {
  if (at < 0)
    return write("the start of the run");
  bool isReported = at >= commandsPerEntry;
  int64_t of = isReported ? at / commandsPerEntry - 1 : index;
  // Other processes report these numbers.
  if (of >= int64_t(manifest.entries.size()))
    return write("a command of no entry");
  const Entry &entry = manifest.entries[of];
  if (isReported && manifest.entries.size() > 1) {
    write("entry '");
    write(entry.name);
    write("', ");
  }
  int64_t number = commandOf(at);
  if (number >= int64_t(entry.program.size()))
    return write("the end of the step");
  const Command &command = entry.program[number];
  write("command ");
  writeNumber(number, write);
  write(", ");
  std::string_view what = std::visit(
      Overloaded{[&](const KernelCommand &kernel) -> std::string_view {
                   write("kernel ");
                   return kernel.function;
                 },
                 [](const GemmCommand &) -> std::string_view { return "gemm"; },
                 [&](const CollectiveCommand &call) -> std::string_view {
                   return spelling(entry.collectives[call.collective].kind);
                 },
                 [](const AttentionCommand &) -> std::string_view {
                   return "attention";
                 },
                 [](const AttentionBackwardCommand &) -> std::string_view {
                   return "attention_backward";
                 },
                 [&](const CallCommand &call) -> std::string_view {
                   write("call of ");
                   return call.op;
                 }},
      command.what);
  ::describe(what, command.location, command.module, write);
}

std::string EntryView::describe(int64_t at) const {
  std::string text;
  describe(at, [&text](std::string_view piece) { text += piece; });
  return text;
}

void EntryView::forEachCommand(
    const std::function<void(const Command &, int64_t)> &visit) const {
  for (size_t i = 0; i < program.size(); ++i) {
    visit(program[i], int64_t(i));
    if (const auto *attention = std::get_if<AttentionCommand>(&program[i].what))
      for (const Command &step : attention->steps)
        visit(step, int64_t(i));
  }
}

void tp::runtime::writeNumber(int64_t number, const TextSink &write) {
  char digits[24];
  std::to_chars_result end =
      std::to_chars(digits, digits + sizeof(digits), number);
  write({digits, size_t(end.ptr - digits)});
}

const Assert *EntryView::findAssert(int64_t id) const {
  for (const Assert &row : manifest.asserts)
    if (row.id == id)
      return &row;
  return nullptr;
}
