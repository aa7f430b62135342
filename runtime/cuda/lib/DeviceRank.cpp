//===- DeviceRank.cpp - a rank's memory on a device -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include "tp/Runtime/Slices.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

constexpr int64_t deviceAlignment = 256;
/// Of each of the two pinned buffers that data goes through.
constexpr int64_t stagingBytes = int64_t(32) << 20;

/// A byte that, repeated, is NaN in every float type and in integers a number
/// no index can be.
unsigned char poisonByte(DataType type) {
  switch (type) {
  case DataType::I1:
    // Any other byte is no i1 at all; code may rely on 0 or 1.
    return 1;
  case DataType::I64:
  case DataType::I32:
  case DataType::I16:
  case DataType::I8:
  case DataType::Index:
  case DataType::F8E4M3FNUZ:
  case DataType::F8E5M2FNUZ:
    return 0x80;
  default:
    return 0xff;
  }
}

} // namespace

DeviceRank::Layout::Layout(const Manifest &manifest, int64_t constantBytes) {
  auto take = [&](int64_t size) {
    int64_t offset = bytes;
    bytes += (size + deviceAlignment - 1) / deviceAlignment * deviceAlignment;
    return offset;
  };
  for (const Port &port : manifest.arguments)
    arguments.push_back(take(port.localBytes()));
  for (const Port &port : manifest.results)
    results.push_back(take(port.localBytes()));
  constants = take(constantBytes);
  arena = take(manifest.memory.arenaBytes);
  scratch = take(manifest.memory.scratchBytes);
  context = take(sizeof(tp_kernel_context));
  status = take(sizeof(int32_t));
  bool multiplies = std::any_of(
      manifest.program.begin(), manifest.program.end(), [](const Command &c) {
        return std::holds_alternative<GemmCommand>(c.what);
      });
  workspace = take(multiplies ? Products::workspaceBytes : 0);
}

DeviceRank::DeviceRank(const Artifact &artifact, Device &device,
                       Transport &transport, int64_t rank,
                       const RankOptions &options)
    : artifact(artifact), manifest(artifact.manifest()), device(device),
      transport(transport), number(rank), options(options),
      schedule(planSchedule(manifest)),
      layout(manifest, artifact.constantsSize()) {}

DeviceRank::~DeviceRank() {
  if (device.failed())
    return;
  if (graph)
    (void)device.driver().cuGraphExecDestroy(graph);
  products.reset();
  if (module)
    (void)device.driver().cuModuleUnload(module);
}

Status DeviceRank::create(const Artifact &artifact, Device &device,
                          Transport &transport, int64_t rank,
                          const RankOptions &options,
                          std::unique_ptr<DeviceRank> &created) {
  int64_t size = artifact.manifest().numRanks();
  if (!artifact.manifest().isCuda())
    return unsupported("the artifact is for target '" +
                       artifact.manifest().targetKind + "', expected 'cuda'");
  if (Status status = options.check(rank, size, transport); !status.ok())
    return status;
  Status status = transport.attach(rank);
  if (status.ok()) {
    created.reset(new DeviceRank(artifact, device, transport, rank, options));
    status = created->prepare();
  }
  if (!status.ok())
    device.setFailed();
  return status;
}

CUdeviceptr DeviceRank::address(const BufferRef &buffer) const {
  switch (buffer.space) {
  case Space::Argument:
    return memory + layout.arguments[buffer.index] + buffer.offset;
  case Space::Result:
    return memory + layout.results[buffer.index] + buffer.offset;
  case Space::Arena:
    return memory + layout.arena + buffer.offset;
  case Space::Constant:
    return memory + layout.constants + buffer.offset;
  }
  return 0;
}

Status DeviceRank::within(const Status &status, int64_t command) const {
  return status.within("rank " + std::to_string(number) + ", " +
                       manifest.describe(command));
}

Status DeviceRank::prepare() {
  Status status = device.allocate(layout.bytes, memory);
  void *host = nullptr;
  if (status.ok())
    status = device.allocateHost(3 * sizeof(uint32_t), host, wordsSeen);
  words = static_cast<volatile uint32_t *>(host);
  for (int i = 0; i < 2 && status.ok(); ++i) {
    CUdeviceptr ignored = 0;
    status = device.allocateHost(stagingBytes, host, ignored);
    staging[i] = static_cast<char *>(host);
    if (status.ok())
      status = device.createEvent(/*timed=*/false, staged[i]);
  }
  if (status.ok())
    status = device.createEvent(options.trace, start);
  if (!status.ok())
    return status.within("rank " + std::to_string(number));
  std::fill(words, words + 3, 0);

  // What nobody fills starts as zero, as on the CPU.
  CUstream stream = device.stream(Queue::Compute);
  status =
      device.driver().cuMemsetD8Async(memory, 0, size_t(layout.bytes), stream);
  auto upload = [&](const void *data, int64_t size, int64_t offset) {
    for (int64_t done = 0; done < size && status.ok();) {
      int64_t part = std::min(stagingBytes, size - done);
      std::memcpy(staging[0], static_cast<const char *>(data) + done, part);
      status = device.driver().cuMemcpyHtoDAsync(memory + offset + done,
                                                 staging[0], part, stream);
      if (status.ok())
        status = watch(stream, /*step=*/false);
      done += part;
    }
  };
  upload(artifact.constants(), artifact.constantsSize(), layout.constants);
  tp_kernel_context context = {};
  auto coordinates = manifest.coordinates(number);
  std::copy(coordinates.begin(), coordinates.end(), context.axis_coordinate);
  context.rank = number;
  context.status = reinterpret_cast<int32_t *>(memory + layout.status);
  context.scratch = reinterpret_cast<void *>(memory + layout.scratch);
  upload(&context, sizeof(context), layout.context);
  if (status.ok())
    status = loadModule();
  if (!status.ok())
    return status.within("rank " + std::to_string(number));

  AlgorithmCache cache;
  prepared.resize(manifest.program.size());
  for (size_t i = 0; i < prepared.size(); ++i)
    if (Status failed = prepareCommand(i, cache); !failed.ok())
      return within(failed, i);
  cache.save();
  if (options.trace)
    commandTimes.resize(manifest.program.size());
  if (options.poison)
    findPadding();
  return {};
}

Status DeviceRank::loadModule() {
  bool any = std::any_of(manifest.program.begin(), manifest.program.end(),
                         [](const Command &c) {
                           return std::holds_alternative<KernelCommand>(c.what);
                         });
  if (!any)
    return {};
  // The chip's own code, else that of the nearest earlier chip of its major
  // version, which can run it, else PTX.
  std::string_view image = artifact.cubin(device.chip());
  int best = -1;
  for (const std::string &chip : manifest.chips) {
    std::string digits = chip.starts_with("sm_") ? chip.substr(3) : "";
    if (!image.empty() || artifact.cubin(chip).empty() || digits.empty() ||
        !std::isdigit(digits.back()))
      continue;
    int version = std::stoi(digits);
    if (version / 10 == device.major() && version % 10 <= device.minor() &&
        version > best)
      best = version;
  }
  if (best >= 0)
    image = artifact.cubin("sm_" + std::to_string(best));
  std::string ptx;
  if (image.empty()) {
    // The driver wants a zero at its end.
    ptx = artifact.ptx();
    image = ptx;
  }
  if (image.empty()) {
    std::string chips;
    for (const std::string &chip : manifest.chips)
      chips += (chips.empty() ? "" : ", ") + chip;
    return unsupported("the artifact has code for " + chips +
                       " and no PTX, expected some for " + device.describe());
  }
  char log[4096] = {};
  int keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  Status status = device.driver().cuModuleLoadDataEx(&module, image.data(), 2,
                                                     keys, values);
  std::string reason(log, std::strcspn(log, "\n"));
  if (!status.ok() && !reason.empty())
    return {status.code(), status.message() + ": " + reason};
  return status;
}

Status DeviceRank::prepareCommand(int64_t index, AlgorithmCache &cache) {
  const Command &command = manifest.program[index];
  Prepared &made = prepared[index];
  const Driver &driver = device.driver();
  if (schedule.commands[index].awaited)
    if (Status status = device.createEvent(/*timed=*/false, made.done);
        !status.ok())
      return status;
  for (CUevent *event : {&made.begin, &made.end})
    if (options.trace)
      if (Status status = device.createEvent(/*timed=*/true, *event);
          !status.ok())
        return status;
  if (const auto *kernel = std::get_if<KernelCommand>(&command.what)) {
    for (const BufferRef &buffer : kernel->buffers)
      made.addresses.push_back(address(buffer));
    made.addresses.push_back(memory + layout.context);
    for (CUdeviceptr &parameter : made.addresses)
      made.parameters.push_back(&parameter);
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
    if (!products)
      if (Status status =
              Products::create(device, memory + layout.workspace, products);
          !status.ok())
        return status;
    return products->prepare(*gemm, number, address(gemm->a.buffer),
                             address(gemm->b.buffer), address(gemm->c.buffer),
                             cache, made.product);
  }
  return {};
}

void DeviceRank::findPadding() {
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const Port &port = manifest.arguments[i];
    if (port.dead)
      continue;
    std::vector<uint8_t> mask = paddingMask(port, number);
    int64_t bytes = byteSize(port.dtype), size = mask.size();
    size_t first = padding.size();
    for (int64_t begin = 0; begin < size;) {
      int64_t end = begin;
      while (end < size && mask[end])
        ++end;
      if (end == begin) {
        ++begin;
        continue;
      }
      CUdeviceptr place = memory + layout.arguments[i] + begin * bytes;
      int64_t length = (end - begin) * bytes;
      // Runs of one length at one distance are one fill.
      Padding *last = padding.size() > first ? &padding.back() : nullptr;
      int64_t pitch =
          last ? place - last->address - (last->rows - 1) * last->pitch : 0;
      if (last && last->bytes == length &&
          (last->rows == 1 || last->pitch == pitch)) {
        last->pitch = pitch;
        ++last->rows;
      } else {
        padding.push_back({place, length, length, 1, poisonByte(port.dtype)});
      }
      begin = end;
    }
  }
}

Status DeviceRank::load(
    int64_t argument,
    const std::function<void(const Port &slice, char *buffer)> &fill) {
  int next = 0;
  bool used[2] = {false, false};
  CUstream stream = device.stream(Queue::Compute);
  Status status = forEachSlice(
      manifest.arguments[argument], number, stagingBytes,
      [&](const Port &slice, int64_t offset) -> Status {
        // The copy out of this buffer, two slices ago, must have ended.
        int turn = std::exchange(next, 1 - next);
        while (used[turn]) {
          int code = device.driver().cuEventQuery.code(staged[turn]);
          if (code == CUDA_SUCCESS)
            break;
          if (code != CUDA_ERROR_NOT_READY)
            return device.driver().cuEventQuery.failed(code);
          if (transport.aborted())
            return {Code::RankFailed, transport.failure()->message};
        }
        used[turn] = true;
        std::memset(staging[turn], 0, slice.localBytes());
        fill(slice, staging[turn]);
        Status queued = device.driver().cuMemcpyHtoDAsync(
            memory + layout.arguments[argument] + offset, staging[turn],
            slice.localBytes(), stream);
        if (queued.ok())
          queued = device.driver().cuEventRecord(staged[turn], stream);
        return queued;
      });
  if (status.ok())
    status = watch(stream, /*step=*/false);
  if (!status.ok())
    device.setFailed();
  return status.within("rank " + std::to_string(number) + ", argument '" +
                       manifest.arguments[argument].name + "'");
}

Status DeviceRank::fetchResults() {
  RankMemory host(manifest);
  CUstream stream = device.stream(Queue::Compute);
  Status status;
  for (size_t i = 0; i < manifest.results.size() && status.ok(); ++i)
    if (int64_t bytes = manifest.results[i].localBytes())
      status = device.driver().cuMemcpyDtoHAsync(
          transport.memory(number) + host.results[i],
          memory + layout.results[i], bytes, stream);
  if (status.ok())
    status = watch(stream, /*step=*/false);
  if (!status.ok())
    device.setFailed();
  return status.within("rank " + std::to_string(number) + ", its results");
}
