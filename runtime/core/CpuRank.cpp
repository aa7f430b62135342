//===- CpuRank.cpp - a rank on the CPU ------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuRank.h"
#include "NeededColumns.h"
#include "attention/CpuAttention.h"
#include "attention/CpuAttentionBackward.h"
#include "tp/Runtime/Slices.h"

using namespace tp::runtime;

CpuRank::CpuRank(const Artifact &artifact, const EntryView &entry,
                 Transport &transport, std::shared_ptr<Transport> faulty,
                 int64_t rank, const RankOptions &options,
                 std::shared_ptr<RankState> state)
    : Rank(artifact, entry, transport, rank, options, std::move(state)),
      faulty(std::move(faulty)), coordinates(entry.coordinates(rank)),
      layout(entry) {}

Status CpuRank::create(const Artifact &artifact, Transport &transport,
                       int64_t rank, const RankOptions &options,
                       std::unique_ptr<Rank> &created) {
  const EntryView &entry = artifact.entry();
  if (entry.isCuda())
    return unsupported("the artifact is for target 'cuda': expected one for "
                       "'cpu', or a rank on a device");
  if (Status status = options.check(rank, entry.numRanks(), transport);
      !status.ok())
    return status;
  if (options.device.any())
    return unsupported("a rank of target 'cpu' has no device, stream or "
                       "communicator: leave them out, or compile with "
                       "--target=cuda");
  if (Status status = transport.attach(rank); !status.ok())
    return status;
  std::shared_ptr<Transport> faulty;
  if (options.fault)
    faulty = injectFault(transport, entry, *options.fault, options.endsProcess);
  Transport &used = faulty ? *faulty : transport;
  std::unique_ptr<CpuRank> made(new CpuRank(artifact, entry, used,
                                            std::move(faulty), rank, options,
                                            std::make_shared<RankState>()));
  made->prepare();
  created = std::move(made);
  return {};
}

Status CpuRank::withEntry(const EntryView &other,
                          std::unique_ptr<Rank> &created) const {
  std::unique_ptr<CpuRank> made(
      new CpuRank(artifact, other, transport, faulty, number, options, state));
  made->prepare();
  created = std::move(made);
  return {};
}

void *CpuRank::address(const BufferRef &buffer) const {
  switch (buffer.space) {
  case Space::Argument:
    return argument(buffer.index) + buffer.offset;
  case Space::Result:
    return result(buffer.index) + buffer.offset;
  case Space::Arena:
    return memory + layout.arena + buffer.offset;
  case Space::Carried:
    return memory + layout.carried[buffer.index] + buffer.offset;
  case Space::Constant:
    // The manifest was checked: nothing but a kernel can write through it,
    // and the mapping is read-only.
    return const_cast<char *>(artifact.constants()) + buffer.offset;
  }
  return nullptr;
}

void CpuRank::prepare() {
  memory = transport.memory(number);
  int64_t scratchBytes = 0;
  for (const Command &command : entry.program) {
    prepared.push_back({addresses.size()});
    std::visit(
        Overloaded{
            [&](const KernelCommand &kernel) {
              for (const BufferRef &buffer : kernel.buffers)
                addresses.push_back(address(buffer));
            },
            [&](const GemmCommand &gemm) {
              for (const GemmOperand *operand : {&gemm.a, &gemm.b, &gemm.c})
                addresses.push_back(address(operand->buffer));
              for (const auto *mask : {&gemm.rows, &gemm.terms})
                addresses.push_back(*mask ? address((*mask)->buffer) : nullptr);
              addresses.push_back(gemm.lookup ? address(gemm.lookup->buffer)
                                              : nullptr);
              scratchBytes = std::max(scratchBytes, gemmScratch(gemm));
              prepared.back().sizes = {
                  neededColumns(gemm, entry.arguments, coordinates),
                  gemm.kOf(coordinates)};
            },
            [&](const CollectiveCommand &call) {
              addresses.push_back(address(call.input));
              addresses.push_back(address(call.output));
            },
            [&](const AttentionCommand &attention) {
              for (const BufferRef *buffer :
                   {&attention.q.buffer, &attention.k.buffer,
                    &attention.v.buffer, &attention.o.buffer})
                addresses.push_back(address(*buffer));
              addresses.push_back(
                  attention.bias ? address(attention.bias->buffer) : nullptr);
              addresses.push_back(attention.onto ? address(*attention.onto)
                                                 : nullptr);
              scratchBytes =
                  std::max(scratchBytes, attentionScratch(attention));
            },
            [&](const AttentionBackwardCommand &attention) {
              for (const BufferRef *buffer :
                   {&attention.q.buffer, &attention.k.buffer,
                    &attention.v.buffer})
                addresses.push_back(address(*buffer));
              addresses.push_back(
                  attention.bias ? address(attention.bias->buffer) : nullptr);
              for (const auto &named : AttentionBackwardCommand::operands)
                addresses.push_back(address((attention.*named.operand).buffer));
              addresses.push_back(attention.onto ? address(*attention.onto)
                                                 : nullptr);
              scratchBytes =
                  std::max(scratchBytes, attentionBackwardScratch(attention));
            },
            [](const CallCommand &) {
              // The manifest was checked: devices alone have it.
            }},
        command.what);
  }
  scratch.resize(scratchBytes / sizeof(CacheLine) + 1);
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
  for (int64_t part : entry.manifest.partsOf(entry.index)) {
    parts.emplace_back(new CpuRank(artifact, artifact.entries()[part],
                                   transport, faulty, number, options, state));
    parts.back()->prepare();
  }
}

void CpuRank::poison() {
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    if (!padding[i].empty())
      fillWithPoison(entry.arguments[i].dtype, argument(i), padding[i].size(),
                     padding[i].data());
  for (size_t i = 0; i < entry.results.size(); ++i) {
    const Port &port = entry.results[i];
    if (!port.isInPlace())
      fillWithPoison(port.dtype, result(i),
                     port.localBytes() / byteSize(port.dtype));
  }
  // The arena holds all types. These 16 bits are a NaN in f64, f32, f16 and
  // bf16, and a negative number in integers. Of two f8E4M3FN or f8E5M2 one
  // becomes NaN, the other a negative number; the FNUZ types, whose only NaN is
  // 0x80, become negative numbers.
  auto *words = reinterpret_cast<uint16_t *>(memory + layout.arena);
  std::fill(words, words + entry.memory.arenaBytes / 2, 0xfff8);
}

Status CpuRank::run(int64_t index) {
  const Command &command = entry.program[index];
  void *const *buffers = addresses.data() + prepared[index].first;
  return std::visit(
      Overloaded{[&](const KernelCommand &) -> Status {
                   artifact.kernel(entry, index)(buffers, &context);
                   return {};
                 },
                 [&](const GemmCommand &product) -> Status {
                   gemm(product, prepared[index].sizes,
                        {buffers[0], buffers[1], buffers[2],
                         static_cast<const bool *>(buffers[3]),
                         static_cast<const bool *>(buffers[4]),
                         static_cast<const int64_t *>(buffers[5])},
                        scratch.data());
                   return {};
                 },
                 [&](const CollectiveCommand &call) -> Status {
                   if (options.skipCollectives)
                     return {};
                   return transport.collective(
                       number,
                       {&call, &entry.collectives[call.collective], buffers[0],
                        buffers[1]},
                       options.timeoutSeconds);
                 },
                 [&](const AttentionCommand &command) -> Status {
                   attention(command,
                             {buffers[0], buffers[1], buffers[2], buffers[4],
                              buffers[3], buffers[5]},
                             scratch.data());
                   return {};
                 },
                 [&](const AttentionBackwardCommand &command) -> Status {
                   attentionBackward(command,
                                     {buffers[0], buffers[1], buffers[2],
                                      buffers[3], buffers[4], buffers[5],
                                      buffers[6], buffers[7], buffers[8],
                                      buffers[9], buffers[10]},
                                     scratch.data());
                   return {};
                 },
                 [](const CallCommand &) -> Status {
                   return unsupported("a call on a processor");
                 }},
      command.what);
}

Status CpuRank::runProgram() {
  useOneThreadPerRank();
  int32_t failedCheck = 0;
  state->mayHaveWritten = !entry.agreeAt;
  for (const std::unique_ptr<CpuRank> &part : parts)
    state->mayHaveWritten &= !part->entry.agreeAt;
  for (const std::unique_ptr<CpuRank> &part : parts)
    for (int64_t i = 0; i < part->entry.part->times; ++i)
      if (Status failed = part->runCommands(failedCheck); !failed.ok())
        return failed;
  Status failed = runCommands(failedCheck);
  return failed.ok() ? agree(failedCheck, int64_t(entry.program.size()))
                     : failed;
}

Status CpuRank::agreeBeforeWrites(int32_t failedCheck) {
  // Who fails here for another reason knows nothing of the others.
  state->mayHaveWritten = true;
  Status agreed = agree(failedCheck, *entry.agreeAt);
  if (agreed.code() == Code::Assert)
    state->mayHaveWritten = false;
  return agreed;
}

Status CpuRank::runCommands(int32_t &failedCheck) {
  status = 0;
  if (options.poison)
    poison();
  int64_t commands = entry.program.size();
  for (int64_t i = 0; i <= commands; ++i) {
    if (entry.agreeAt == i)
      if (Status failed = agreeBeforeWrites(failedCheck ? failedCheck : status);
          !failed.ok())
        return failed;
    if (i == commands)
      break;
    transport.progress(number, entry.progressAt(i));
    if (options.trace)
      commandTimes[i].begin = secondsNow();
    if (Status failed = run(i); !failed.ok())
      return failed;
    if (options.trace)
      commandTimes[i].end = secondsNow();
  }
  if (failedCheck == 0)
    failedCheck = status;
  return {};
}

Status CpuRank::start(std::optional<ExternalStream> stream) {
  if (stream)
    return unsupported("a rank of target 'cpu' has no streams but the default "
                       "one: submit without a stream");
  outcome = transport.checkRunning();
  if (outcome.ok())
    outcome = runProgram();
  return {};
}

Status CpuRank::load(int64_t index, const Fill &fill) {
  heartbeat();
  fill(entry.arguments[index].slice(coordinates), argument(index));
  restored(index);
  return {};
}

static Status checkHost(const LocalTensor &tensor) {
  if (tensor.space == MemorySpace::Host)
    return {};
  return unsupported("expected host memory: a rank of target 'cpu' has no "
                     "device, copy the tensor to the host first");
}

Status CpuRank::write(int64_t index, const LocalTensor &from) {
  if (Status status = checkHost(from); !status.ok())
    return status;
  const Port &port = entry.arguments[index];
  copyStrided(port.localShape(), byteSize(port.dtype), from.data, from.strides,
              argument(index), port.localStrides());
  restored(index);
  return {};
}

Status CpuRank::read(PortSide side, int64_t index, const LocalTensor &to) {
  if (Status status = checkHost(to); !status.ok())
    return status;
  bool isResult = side == PortSide::Result;
  const Port &port = isResult ? entry.results[index] : entry.arguments[index];
  copyStrided(port.localShape(), byteSize(port.dtype),
              isResult ? result(index) : argument(index), port.localStrides(),
              to.data, to.strides);
  return {};
}
