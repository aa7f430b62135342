//===- DeviceRank.cpp - a rank on a device --------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include "cuda/Device/QueueClock.h"
#include "cuda/Rank/DeviceCalls.h"
#include "tp/Runtime/Cuda/NcclTransport.h"
#include "tp/Runtime/Cuda/NvtxRange.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

DeviceRank::DeviceRank(const Artifact &artifact, Parts made,
                       Transport &transport, int64_t rank,
                       const RankOptions &options)
    : Rank(artifact, artifact.entry(), transport, rank, options,
           std::make_shared<RankState>()),
      parts(std::move(made)), gpu(*parts.device),
      layout(entry, artifact.constantsSize()) {}

DeviceRank::~DeviceRank() {
  if (gpu.failed())
    return;
  Device::Current current(gpu);
  // Before what its commands use.
  gpu.destroyGraphs()();
  clock.reset();
  gemms.reset();
  attentions.reset();
  if (module)
    (void)gpu.driver().cuModuleUnload(module);
  parts.faulty.reset();
  parts.nccl.reset();
}

Status DeviceRank::create(const Artifact &artifact, Transport &transport,
                          int64_t rank, const RankOptions &options,
                          std::unique_ptr<Rank> &created) {
  const EntryView &entry = artifact.entry();
  if (!entry.isCuda())
    return unsupported(std::string("the artifact is for target '") +
                       spelling(artifact.manifest().target) +
                       "', expected 'cuda'");
  if (Status status = options.check(rank, entry.numRanks(), transport);
      !status.ok())
    return status;
  const DeviceOptions &wish = options.device;
  std::string name = "rank " + std::to_string(rank);
  Parts parts;
  if (Status status =
          Device::open(wish.index.value_or(wish.place.value_or(rank)),
                       /*modulo=*/!wish.index, parts.device);
      !status.ok())
    return status.within(name);
  Device &gpu = *parts.device;
  Device::Current current(gpu);
  if (wish.stream)
    if (Status status =
            gpu.checkStream(static_cast<CUstream>(wish.stream->handle));
        !status.ok())
      return status.within(name);
  Transport *used = &transport;
  if (!options.skipCollectives) {
    parts.nccl = createNcclTransport(
        transport, entry, gpu, options.startTimeoutSeconds,
        options.timeoutSeconds, static_cast<ncclComm_t>(wish.communicator));
    used = parts.nccl.get();
  }
  if (options.fault) {
    parts.faulty =
        injectFault(*used, entry, *options.fault, options.endsProcess);
    used = parts.faulty.get();
  }
  Status status = used->attach(rank);
  std::unique_ptr<DeviceRank> made(
      new DeviceRank(artifact, std::move(parts), *used, rank, options));
  if (status.ok())
    status = made->prepare();
  if (!status.ok()) {
    // What the host program gave wrongly leaves the device as it was.
    if (status.code() == Code::InvalidArgument)
      made->Rank::abort(status);
    else
      made->abort(status);
    return status;
  }
  created = std::move(made);
  return {};
}

Status DeviceRank::usable() const {
  if (!gpu.failed())
    return {};
  return {Code::Device, "rank " + std::to_string(number) +
                            " has failed before and uses its device no more: "
                            "end the process"};
}

Status DeviceRank::failed(const Status &status) {
  if (!status.ok())
    gpu.setFailed();
  return status;
}

void DeviceRank::abort(const Status &why) {
  // The device may hang: nothing more is asked of it.
  gpu.setFailed();
  Rank::abort(why);
}

RankFacts DeviceRank::facts() const {
  RankFacts all = known;
  all.collectiveMemory = transport.describeMemory();
  return all;
}

Status DeviceRank::within(const Status &status, int64_t command) const {
  return status.within("rank " + std::to_string(number) + ", " +
                       entry.describe(command));
}

Status DeviceRank::prepare() {
  Status status = allocate();
  void *host = nullptr;
  if (status.ok())
    status = gpu.allocateHost(3 * sizeof(uint32_t), host, wordsSeen);
  words = static_cast<volatile uint32_t *>(host);
  for (int i = 0; i < 2 && status.ok(); ++i) {
    CUdeviceptr ignored = 0;
    status = gpu.allocateHost(stagingBytes, host, ignored);
    staging[i] = static_cast<char *>(host);
    if (status.ok())
      status = gpu.createEvent(/*timed=*/false, staged[i]);
  }
  if (status.ok())
    status = gpu.createEvent(/*timed=*/false, forkPoint);
  for (CUevent *event : {&before, &after})
    if (status.ok())
      status = gpu.createEvent(/*timed=*/false, *event);
  if (status.ok() && options.trace)
    status = gpu.createEvent(/*timed=*/true, zero);
  if (!status.ok())
    return status.within("rank " + std::to_string(number));
  std::fill(words, words + 3, 0);

  // What nobody fills starts as zero, as on the CPU.
  CUstream stream = gpu.stream(Queue::Compute);
  for (bool forCollectives : {false, true})
    if (int64_t bytes =
            forCollectives ? layout.collectiveBytes : layout.ownBytes;
        bytes && status.ok())
      status = gpu.driver().cuMemsetD8Async(at({forCollectives, 0}), 0,
                                            size_t(bytes), stream);
  auto upload = [&](const void *data, int64_t size, Place place) {
    for (int64_t done = 0; done < size && status.ok();) {
      int64_t part = std::min(stagingBytes, size - done);
      std::memcpy(staging[0], static_cast<const char *>(data) + done, part);
      status = gpu.driver().cuMemcpyHtoDAsync(at(place) + done, staging[0],
                                              part, stream);
      if (status.ok())
        status = watch(stream, /*step=*/false);
      done += part;
    }
  };
  upload(artifact.constants(), artifact.constantsSize(), layout.constants);
  tp_kernel_context context = {};
  auto coordinates = entry.coordinates(number);
  std::copy(coordinates.begin(), coordinates.end(), context.axis_coordinate);
  context.rank = number;
  context.status = reinterpret_cast<int32_t *>(at(layout.status));
  context.scratch = reinterpret_cast<void *>(at(layout.scratch));
  upload(&context, sizeof(context), layout.context);
  if (status.ok())
    status = loadModule();
  if (!status.ok())
    return status.within("rank " + std::to_string(number));

  AlgorithmCache cache;
  prepared.resize(entry.program.size());
  for (size_t i = 0; i < prepared.size(); ++i) {
    // For messages, where algorithms are timed.
    words[int(Queue::Compute)] = uint32_t(2 * i + 1);
    // Choosing kernels of libraries takes seconds.
    transport.heartbeat(number);
    if (Status failed = prepareCommand(i, cache); !failed.ok())
      return failed.code() == Code::Timeout ? failed : within(failed, i);
  }
  words[int(Queue::Compute)] = 0;
  if (gemms && gemms->hasTimed())
    if (Status failed = clearAfterTiming(); !failed.ok())
      return failed.within("rank " + std::to_string(number));
  if (attentions)
    if (Status status = attentions->finish(); !status.ok())
      return status.within("rank " + std::to_string(number) +
                           ", the attentions' workspace");
  cache.save();
  if (options.trace)
    commandTimes.resize(entry.program.size());
  if (options.poison)
    findPadding();
  return {};
}

Status DeviceRank::prepareCommand(int64_t index, AlgorithmCache &cache) {
  Prepared &made = prepared[index];
  for (std::optional<int64_t> awaited :
       {entry.program[index].waitFor, index + 1 == int64_t(entry.program.size())
                                          ? entry.endWaitsFor
                                          : std::nullopt}) {
    if (!awaited || prepared[*awaited].done)
      continue;
    if (Status status =
            gpu.createEvent(/*timed=*/false, prepared[*awaited].done);
        !status.ok())
      return status;
  }
  for (CUevent *event : {&made.begin, &made.end})
    if (options.trace)
      if (Status status = gpu.createEvent(/*timed=*/true, *event); !status.ok())
        return status;
  if (Nvtx::get().wanted())
    made.name = entry.describe(index);
  return prepareWork(entry.program[index], made, cache);
}

Status DeviceRank::prepareWork(const Command &command, Prepared &made,
                               AlgorithmCache &cache) {
  const Driver &driver = gpu.driver();
  if (const auto *kernel = std::get_if<KernelCommand>(&command.what)) {
    for (const BufferRef &buffer : kernel->buffers)
      made.addresses.push_back(address(buffer));
    made.addresses.push_back(at(layout.context));
    Status status = driver.cuModuleGetFunction(&made.function, module,
                                               kernel->function.c_str());
    constexpr int64_t withoutAsking = 48 * 1024;
    if (status.ok() && kernel->launch.sharedBytes > withoutAsking)
      status = driver.cuFuncSetAttribute(
          made.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
          int(kernel->launch.sharedBytes));
    return status;
  }
  if (const auto *gemm = std::get_if<GemmCommand>(&command.what)) {
    if (!gemms)
      if (Status status = CublasLtGemms::create(gpu, at(layout.workspace),
                                                gemmTiming(), gemms);
          !status.ok())
        return status;
    return gemms->prepare(*gemm, entry.coordinates(number),
                          {address(gemm->a.buffer), address(gemm->b.buffer),
                           address(gemm->c.buffer),
                           gemm->residual ? address(gemm->residual->buffer) : 0,
                           gemm->bias ? address(*gemm->bias) : 0},
                          cache, made.gemm);
  }
  if (const auto *attention = std::get_if<AttentionCommand>(&command.what))
    return prepareAttention(*attention, made, cache);
  if (const auto *call = std::get_if<CallCommand>(&command.what)) {
    made.call = std::make_shared<DeviceCall>();
    return made.call->prepare(
        *call, entry.coordinates(number), gpu.number(),
        [this](const BufferRef &buffer) { return address(buffer); });
  }
  return {};
}

Status DeviceRank::prepareAttention(const AttentionCommand &attention,
                                    Prepared &made, AlgorithmCache &cache) {
  if (!attentions)
    attentions =
        std::make_unique<CudnnAttentions>(gpu, gpu.stream(Queue::Compute));
  std::string reason;
  if (Status status = attentions->prepare(
          attention,
          {address(attention.q.buffer), address(attention.k.buffer),
           address(attention.v.buffer), address(attention.o.buffer),
           attention.bias ? address(attention.bias->buffer) : 0},
          made.attention, reason);
      !status.ok())
    return status;
  if (made.attention) {
    ++known.fusedAttentions;
    return {};
  }
  if (known.attentionsInSteps++ == 0)
    known.whyInSteps = reason;
  made.steps.resize(attention.steps.size());
  for (size_t i = 0; i < made.steps.size(); ++i)
    if (Status status = prepareWork(attention.steps[i], made.steps[i], cache);
        !status.ok())
      return status.within("step " + std::to_string(i));
  return {};
}
