//===- Rank.cpp - one rank's memory and steps -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Rank.h"
#include "Gemm.h"
#include "tp/Runtime/Slices.h"
#include <chrono>

using namespace tp::runtime;

double tp::runtime::secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Rank::Rank(const Artifact &artifact, Transport &transport, int64_t rank,
           const RankOptions &options)
    : artifact(artifact), entry(artifact.entry()), transport(transport),
      number(rank), coordinates(entry.coordinates(rank)), options(options),
      layout(entry) {}

Status RankOptions::check(int64_t rank, int64_t ranks,
                          const Transport &transport) const {
  if (transport.size() != ranks)
    return invalidArgument("the artifact is for " + std::to_string(ranks) +
                           " ranks, the transport has " +
                           std::to_string(transport.size()));
  if (rank < 0 || rank >= ranks)
    return invalidArgument("rank " + std::to_string(rank) + " of " +
                           std::to_string(ranks));
  if (!(timeoutSeconds > 0))
    return invalidArgument("the time-out must be positive");
  return {};
}

Status Rank::create(const Artifact &artifact, Transport &transport,
                    int64_t rank, const RankOptions &options,
                    std::unique_ptr<Rank> &created) {
  int64_t size = artifact.entry().numRanks();
  if (artifact.entry().isCuda())
    return unsupported("the artifact is for target 'cuda': expected one for "
                       "'cpu', or a rank on a device");
  if (Status status = options.check(rank, size, transport); !status.ok())
    return status;
  if (Status status = transport.attach(rank); !status.ok())
    return status;
  created.reset(new Rank(artifact, transport, rank, options));
  created->prepare();
  return {};
}

void *Rank::address(const BufferRef &buffer) const {
  switch (buffer.space) {
  case Space::Argument:
    return argument(buffer.index) + buffer.offset;
  case Space::Result:
    return result(buffer.index) + buffer.offset;
  case Space::Arena:
    return memory + layout.arena + buffer.offset;
  case Space::Constant:
    // The manifest was checked: nothing but a kernel can write through it,
    // and the mapping is read-only.
    return const_cast<char *>(artifact.constants()) + buffer.offset;
  }
  return nullptr;
}

void Rank::prepare() {
  memory = transport.memory(number);
  for (const Command &command : entry.program) {
    prepared.push_back({addresses.size()});
    std::visit(Overloaded{[&](const KernelCommand &kernel) {
                            for (const BufferRef &buffer : kernel.buffers)
                              addresses.push_back(address(buffer));
                          },
                          [&](const GemmCommand &gemm) {
                            for (const GemmOperand *operand :
                                 {&gemm.a, &gemm.b, &gemm.c})
                              addresses.push_back(address(operand->buffer));
                          },
                          [&](const CollectiveCommand &call) {
                            addresses.push_back(address(call.input));
                            addresses.push_back(address(call.output));
                          },
                          // Of a device's target alone.
                          [](const AttentionCommand &) {}},
               command.what);
  }
  if (options.trace)
    commandTimes.resize(entry.program.size());
  if (options.poison)
    for (const Port &port : entry.arguments)
      padding.push_back(port.dead ? std::vector<uint8_t>()
                                  : paddingMask(port.slice(coordinates)));
  std::copy(coordinates.begin(), coordinates.end(), context.axis_coordinate);
  context.rank = number;
  context.status = &status;
  context.scratch = memory + layout.scratch;
}

void Rank::poison() {
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    if (!padding[i].empty())
      fillWithPoison(entry.arguments[i].dtype, argument(i), padding[i].size(),
                     padding[i].data());
  for (size_t i = 0; i < entry.results.size(); ++i) {
    const Port &port = entry.results[i];
    fillWithPoison(port.dtype, result(i),
                   port.localBytes() / byteSize(port.dtype));
  }
  // The arena holds all types. These bits are a NaN in every float type and a
  // large negative number in the integers.
  auto *words = reinterpret_cast<uint16_t *>(memory + layout.arena);
  std::fill(words, words + entry.memory.arenaBytes / 2, 0xfff8);
}

Status Rank::run(int64_t index) {
  const Command &command = entry.program[index];
  void *const *buffers = addresses.data() + prepared[index].first;
  return std::visit(
      Overloaded{
          [&](const KernelCommand &) -> Status {
            artifact.kernel(index)(buffers, &context);
            return {};
          },
          [&](const GemmCommand &product) -> Status {
            gemm(product, coordinates, buffers[0], buffers[1], buffers[2]);
            return {};
          },
          [&](const CollectiveCommand &call) -> Status {
            if (options.skipCollectives)
              return {};
            return transport.collective(number, {&call, buffers[0], buffers[1]},
                                        options.timeoutSeconds);
          },
          [](const AttentionCommand &) -> Status {
            return unsupported("an attention is a command of devices alone");
          }},
      command.what);
}

Status Rank::step() {
  useOneThreadPerRank();
  status = 0;
  if (options.poison)
    poison();
  int64_t commands = entry.program.size();
  for (int64_t i = 0; i < commands; ++i) {
    transport.progress(number, i);
    if (options.trace)
      commandTimes[i].begin = secondsNow();
    if (Status failed = run(i); !failed.ok())
      return failed;
    if (options.trace)
      commandTimes[i].end = secondsNow();
  }
  return endStep(entry, transport, number, status, options);
}

Status tp::runtime::endStep(const EntryView &entry, Transport &transport,
                            int64_t rank, int32_t failedCheck,
                            const RankOptions &options) {
  transport.progress(rank, entry.program.size());
  int32_t id = failedCheck;
  if (!options.skipCollectives)
    if (Status failed = transport.agreeOnStatus(rank, failedCheck,
                                                options.timeoutSeconds, id);
        !failed.ok())
      return failed;
  if (id == 0)
    return {};
  const Assert *row = entry.findAssert(id);
  if (!row)
    return {Code::Assert, "a check of the program failed (assert " +
                              std::to_string(id) + ")"};
  return {Code::Assert,
          describe(row->message.empty() ? "a check of the program failed"
                                        : row->message + ", in",
                   row->location, row->module)};
}
