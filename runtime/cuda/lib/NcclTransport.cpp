//===- NcclTransport.cpp - collectives by NCCL ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/NcclTransport.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

using Clock = std::chrono::steady_clock;

/// What a rank leaves behind its report (Transport::note) for the others.
constexpr size_t idOffset = Transport::noteBytes - sizeof(ncclUniqueId);

/// Types that are only moved may stand for others of their size.
ncclDataType_t typeOf(DataType type) {
  switch (type) {
  case DataType::F64:
    return ncclFloat64;
  case DataType::F32:
    return ncclFloat32;
  case DataType::F16:
    return ncclFloat16;
  case DataType::BF16:
    return ncclBfloat16;
  case DataType::I64:
  case DataType::Index:
    return ncclInt64;
  case DataType::I32:
    return ncclInt32;
  case DataType::F8E4M3FN:
    return ncclFloat8e4m3;
  case DataType::F8E5M2:
    return ncclFloat8e5m2;
  case DataType::I8:
    return ncclInt8;
  default:
    return ncclUint8;
  }
}

ncclRedOp_t reductionOf(Reduction reduction) {
  constexpr ncclRedOp_t all[] = {ncclSum, ncclAvg, ncclProd, ncclMax, ncclMin};
  return all[int(reduction)];
}

/// One rank's side of a group.
struct Member {
  std::vector<int64_t> ranks;
  int64_t position = 0;
  ncclComm_t communicator = nullptr;
};

class NcclTransport final : public Transport {
public:
  NcclTransport(std::unique_ptr<Transport> control, const Manifest &manifest,
                Device &device, double startTimeout)
      : control(std::move(control)), manifest(manifest), device(device),
        startTimeout(startTimeout) {}

  /// Everything queued has ended: no rank needs the others for this.
  ~NcclTransport() override {
    if (!device.failed())
      release();
  }

  int64_t size() const override { return control->size(); }
  Status attach(int64_t rank) override;
  char *memory(int64_t rank) override { return control->memory(rank); }
  Status collective(int64_t rank, const CollectiveCall &call,
                    double timeoutSeconds) override;
  Status agree(int64_t rank, int32_t value, double timeoutSeconds,
               int32_t &agreed) override {
    return control->agree(rank, value, timeoutSeconds, agreed);
  }
  Status meet(int64_t rank, double timeoutSeconds) override {
    return control->meet(rank, timeoutSeconds);
  }
  void alive(int64_t rank) override { control->alive(rank); }
  void progress(int64_t rank, int64_t command) override {
    control->progress(rank, command);
  }
  int64_t progress(int64_t rank) const override {
    return control->progress(rank);
  }
  void abort(const Failure &failure) override;
  bool aborted() const override;
  std::optional<Failure> failure() const override { return control->failure(); }
  char *note(int64_t rank) override { return control->note(rank); }

private:
  void release() {
    for (ncclComm_t communicator : communicators)
      (void)nccl->ncclCommAbort.code(communicator);
    communicators.clear();
  }
  Status connect();
  Status split(Member &member, int64_t color);
  Status exchangeId(ncclUniqueId &id);
  /// Waits until a communicator that works in the background is done.
  Status settle(ncclComm_t communicator, const char *symbol, double seconds);
  template <typename Function>
  Status settled(int result, const Function &call, const char *symbol,
                 ncclComm_t communicator, double seconds) {
    if (result == ncclInProgress)
      return settle(communicator, symbol, seconds);
    return result == ncclSuccess ? Status() : call.failed(result);
  }
  Status queue(const Member &member, const CollectiveCall &call,
               double seconds);
  Status exchange(const Member &member, const char *from, char *to,
                  int64_t bytes, const std::vector<int64_t> *sources,
                  double seconds);
  /// Rows of `bytes`: row i from `from + i * fromPitch` to `to + i * toPitch`.
  Status copyRows(const char *from, int64_t fromPitch, char *to,
                  int64_t toPitch, int64_t bytes, int64_t rows);
  bool needsStaging(const CollectiveCommand &command) const;

  std::unique_ptr<Transport> control;
  const Manifest &manifest;
  Device &device;
  double startTimeout;
  int64_t number = -1;
  std::unique_ptr<Nccl> nccl;
  ncclComm_t world = nullptr;
  std::vector<ncclComm_t> communicators;
  /// By group.
  std::vector<Member> members;
  CUdeviceptr staging = 0;
};

bool NcclTransport::needsStaging(const CollectiveCommand &command) const {
  const Collective &row = manifest.collectives[command.collective];
  bool blocks = row.kind == CollectiveKind::AllGather ||
                row.kind == CollectiveKind::ReduceScatter ||
                row.kind == CollectiveKind::AllToAll;
  return blocks && command.outer > 1 && manifest.groups[row.group].size() > 1;
}

Status NcclTransport::attach(int64_t rank) {
  number = rank;
  if (Status status = control->attach(rank); !status.ok())
    return status;
  std::vector<bool> used(manifest.groups.size());
  int64_t stagingBytes = 0;
  for (const Command &command : manifest.program)
    if (const auto *call = std::get_if<CollectiveCommand>(&command.what)) {
      const Collective &row = manifest.collectives[call->collective];
      used[row.group] = manifest.groups[row.group].size() > 1;
      if (needsStaging(*call))
        stagingBytes = std::max(stagingBytes, row.wireBytes);
    }
  for (const Group &group : manifest.groups) {
    Member &member = members.emplace_back();
    for (const std::vector<int64_t> &ranks : group.ranks) {
      auto found = std::find(ranks.begin(), ranks.end(), rank);
      if (found != ranks.end()) {
        member.ranks = ranks;
        member.position = found - ranks.begin();
      }
    }
  }
  if (std::find(used.begin(), used.end(), true) == used.end())
    return {};
  if (stagingBytes)
    if (Status status = device.allocate(stagingBytes, staging); !status.ok())
      return status;
  Status status = connect();
  for (size_t i = 0; i < manifest.groups.size() && status.ok(); ++i) {
    if (!used[i])
      continue;
    const std::vector<std::vector<int64_t>> &lists = manifest.groups[i].ranks;
    int64_t color = 0;
    for (size_t list = 0; list < lists.size(); ++list)
      if (lists[list] == members[i].ranks)
        color = list;
    status = split(members[i], color);
  }
  return status.within("rank " + std::to_string(rank) +
                       " cannot connect to the others");
}

Status NcclTransport::exchangeId(ncclUniqueId &id) {
  if (number == 0) {
    if (Status status = nccl->ncclGetUniqueId(&id); !status.ok())
      return status;
    std::memcpy(control->note(0) + idOffset, &id, sizeof(id));
  }
  if (Status status = control->meet(number, startTimeout); !status.ok())
    return status;
  std::memcpy(&id, control->note(0) + idOffset, sizeof(id));
  return {};
}

Status NcclTransport::connect() {
  Status status = Nccl::open(nccl);
  // Others must not wait for a rank that lacks the library.
  ncclUniqueId id;
  if (status.ok())
    status = exchangeId(id);
  if (!status.ok())
    return status;
  // The calls come back at once, so that a rank which never comes does not
  // hang the others.
  ncclConfig_t config;
  config.blocking = 0;
  status = settled(nccl->ncclCommInitRankConfig.code(&world, int(size()), id,
                                                     int(number), &config),
                   nccl->ncclCommInitRankConfig, "ncclCommInitRankConfig",
                   world, startTimeout);
  if (world)
    communicators.push_back(world);
  return status;
}

Status NcclTransport::split(Member &member, int64_t color) {
  bool everyone = int64_t(member.ranks.size()) == size() &&
                  std::is_sorted(member.ranks.begin(), member.ranks.end());
  // All ranks decide alike: with one list of all in order, nobody splits.
  if (everyone) {
    member.communicator = world;
    return {};
  }
  ncclConfig_t config;
  config.blocking = 0;
  int result = nccl->ncclCommSplit.code(world, int(color), int(member.position),
                                        &member.communicator, &config);
  Status status = settled(result, nccl->ncclCommSplit, "ncclCommSplit", world,
                          startTimeout);
  if (member.communicator) {
    communicators.push_back(member.communicator);
    if (status.ok())
      status = settle(member.communicator, "ncclCommSplit", startTimeout);
  }
  return status;
}

Status NcclTransport::settle(ncclComm_t communicator, const char *symbol,
                             double seconds) {
  Clock::time_point begin = Clock::now();
  for (int round = 0;; ++round) {
    ncclResult_t state = ncclSuccess;
    if (Status status = nccl->ncclCommGetAsyncError(communicator, &state);
        !status.ok())
      return status;
    if (state != ncclInProgress)
      return state == ncclSuccess ? Status() : nccl->failed(symbol, state);
    if (std::optional<Failure> cause = control->failure())
      return {Code::RankFailed, cause->message};
    if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds) {
      char text[32];
      std::snprintf(text, sizeof(text), "%g", seconds);
      return {Code::Timeout, std::string(symbol) + " has not ended after " +
                                 text + " s: not all ranks have called it"};
    }
    control->alive(number);
    std::this_thread::sleep_for(
        std::chrono::microseconds(round < 100 ? 20 : 1000));
  }
}

Status NcclTransport::copyRows(const char *from, int64_t fromPitch, char *to,
                               int64_t toPitch, int64_t bytes, int64_t rows) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = CUdeviceptr(from);
  copy.srcPitch = fromPitch;
  copy.dstDevice = CUdeviceptr(to);
  copy.dstPitch = toPitch;
  copy.WidthInBytes = bytes;
  copy.Height = rows;
  return device.driver().cuMemcpy2DAsync(&copy,
                                         device.stream(Queue::Communication));
}

/// Sends block p of `from` to position p and receives block r of `to` from
/// position r; with `sources` the whole of `from` to those it is a source of.
Status NcclTransport::exchange(const Member &member, const char *from, char *to,
                               int64_t bytes,
                               const std::vector<int64_t> *sources,
                               double seconds) {
  CUstream stream = device.stream(Queue::Communication);
  int64_t mine = member.position;
  if (Status status = nccl->ncclGroupStart(); !status.ok())
    return status;
  Status status;
  for (int64_t p = 0; p < int64_t(member.ranks.size()) && status.ok(); ++p) {
    if (p == mine)
      continue;
    if (!sources || (*sources)[p] == mine) {
      int result =
          nccl->ncclSend.code(from + (sources ? 0 : p * bytes), bytes,
                              ncclUint8, int(p), member.communicator, stream);
      if (result != ncclInProgress && result != ncclSuccess)
        status = nccl->ncclSend.failed(result);
    }
    if (status.ok() && (!sources || (*sources)[mine] == p)) {
      int result =
          nccl->ncclRecv.code(to + (sources ? 0 : p * bytes), bytes, ncclUint8,
                              int(p), member.communicator, stream);
      if (result != ncclInProgress && result != ncclSuccess)
        status = nccl->ncclRecv.failed(result);
    }
  }
  int result = nccl->ncclGroupEnd.code();
  if (!status.ok())
    return status;
  status = settled(result, nccl->ncclGroupEnd, "ncclGroupEnd",
                   member.communicator, seconds);
  if (!status.ok() || (sources && (*sources)[mine] != mine))
    return status;
  int64_t at = sources ? 0 : mine * bytes;
  return device.driver().cuMemcpyDtoDAsync(
      CUdeviceptr(to + at), CUdeviceptr(from + at), bytes, stream);
}

Status NcclTransport::queue(const Member &member, const CollectiveCall &call,
                            double seconds) {
  const CollectiveCommand &command = *call.command;
  const Collective &row = manifest.collectives[command.collective];
  CUstream stream = device.stream(Queue::Communication);
  ncclComm_t communicator = member.communicator;
  const char *input = static_cast<const char *>(call.input);
  char *output = static_cast<char *>(call.output);
  int64_t members = member.ranks.size();
  int64_t count = command.outer * command.block;
  int64_t blockBytes = command.block * byteSize(row.dtype);
  int64_t bytes = command.outer * blockBytes;
  // Group positions come first on the wire, `outer` comes first in memory.
  bool staged = needsStaging(command);
  char *stage = reinterpret_cast<char *>(staging);
  bool packs = staged && row.kind != CollectiveKind::AllGather;
  for (int64_t p = 0; packs && p < members; ++p)
    if (Status status =
            copyRows(input + p * blockBytes, members * blockBytes,
                     stage + p * bytes, blockBytes, blockBytes, command.outer);
        !status.ok())
      return status;
  switch (row.kind) {
  case CollectiveKind::AllReduce:
    return settled(nccl->ncclAllReduce.code(
                       input, output, count, typeOf(row.dtype),
                       reductionOf(row.reduction), communicator, stream),
                   nccl->ncclAllReduce, "ncclAllReduce", communicator, seconds);
  case CollectiveKind::ReduceScatter:
    return settled(nccl->ncclReduceScatter.code(
                       staged ? stage : input, output, count, typeOf(row.dtype),
                       reductionOf(row.reduction), communicator, stream),
                   nccl->ncclReduceScatter, "ncclReduceScatter", communicator,
                   seconds);
  case CollectiveKind::AllToAll:
    return exchange(member, staged ? stage : input, output, bytes, nullptr,
                    seconds);
  case CollectiveKind::Permute:
    return exchange(member, input, output, bytes, &command.sources, seconds);
  case CollectiveKind::AllGather:
    break;
  }
  Status status =
      settled(nccl->ncclAllGather.code(input, staged ? stage : output, bytes,
                                       ncclUint8, communicator, stream),
              nccl->ncclAllGather, "ncclAllGather", communicator, seconds);
  for (int64_t p = 0; staged && p < members && status.ok(); ++p)
    status = copyRows(stage + p * bytes, blockBytes, output + p * blockBytes,
                      members * blockBytes, blockBytes, command.outer);
  return status;
}

Status NcclTransport::collective(int64_t rank, const CollectiveCall &call,
                                 double timeoutSeconds) {
  const CollectiveCommand &command = *call.command;
  const Collective &row = manifest.collectives[command.collective];
  const Member &member = members[row.group];
  int64_t bytes = command.outer * command.block * byteSize(row.dtype);
  if (bytes == 0)
    return {};
  Status status;
  if (member.ranks.size() > 1)
    status = queue(member, call, timeoutSeconds);
  else if (call.input != call.output)
    status = device.driver().cuMemcpyDtoDAsync(
        CUdeviceptr(call.output), CUdeviceptr(call.input), bytes,
        device.stream(Queue::Communication));
  return status.within("rank " + std::to_string(rank) + ", " +
                       manifest.describe(progress(rank)));
}

bool NcclTransport::aborted() const {
  for (ncclComm_t communicator : communicators) {
    ncclResult_t state = ncclSuccess;
    Status status = nccl->ncclCommGetAsyncError(communicator, &state);
    if (status.ok() && state != ncclSuccess && state != ncclInProgress)
      status = nccl->failed("asynchronous error of NCCL", state);
    if (!status.ok())
      control->abort({Code::Device, number,
                      "rank " + std::to_string(number) + ", " +
                          manifest.describe(progress(number)) + ": " +
                          status.message()});
  }
  return control->aborted();
}

void NcclTransport::abort(const Failure &failure) {
  control->abort(failure);
  release();
}

} // namespace

std::unique_ptr<Transport>
cuda::createNcclTransport(std::unique_ptr<Transport> control,
                          const Manifest &manifest, Device &device,
                          double startTimeoutSeconds) {
  return std::make_unique<NcclTransport>(std::move(control), manifest, device,
                                         startTimeoutSeconds);
}
