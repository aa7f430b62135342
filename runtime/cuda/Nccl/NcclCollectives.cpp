//===- NcclCollectives.cpp - collectives as calls of NCCL -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclCollectives.h"
#include <algorithm>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

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
  case DataType::U64:
    return ncclUint64;
  case DataType::U32:
    return ncclUint32;
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

} // namespace

bool NcclCollectives::needsStaging(const CollectiveCommand &command) const {
  const Collective &row = entry.collectives[command.collective];
  bool blocks = row.kind == CollectiveKind::AllGather ||
                row.kind == CollectiveKind::ReduceScatter ||
                row.kind == CollectiveKind::AllToAll;
  return blocks && command.outer > 1 && entry.groups[row.group].size() > 1;
}

int64_t NcclCollectives::stagingBytes() const {
  int64_t most = 0;
  for (const Command &command : entry.program)
    if (const auto *call = std::get_if<CollectiveCommand>(&command.what);
        call && needsStaging(*call))
      most = std::max(most, entry.collectives[call->collective].wireBytes);
  return most;
}

Status NcclCollectives::copyRows(const char *from, int64_t fromPitch, char *to,
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
Status NcclCollectives::exchange(const NcclMember &member, const char *from,
                                 char *to, int64_t bytes,
                                 const std::vector<int64_t> *sources,
                                 double seconds) {
  const Nccl &nccl = communicators.library();
  CUstream stream = device.stream(Queue::Communication);
  int64_t mine = member.position;
  if (Status status = nccl.ncclGroupStart(); !status.ok())
    return status;
  Status status;
  for (int64_t p = 0; p < int64_t(member.ranks.size()) && status.ok(); ++p) {
    if (p == mine)
      continue;
    if (!sources || (*sources)[p] == mine) {
      int result =
          nccl.ncclSend.code(from + (sources ? 0 : p * bytes), bytes, ncclUint8,
                             int(p), member.communicator, stream);
      if (result != ncclInProgress && result != ncclSuccess)
        status = nccl.ncclSend.failed(result);
    }
    if (status.ok() && (!sources || (*sources)[mine] == p)) {
      int result =
          nccl.ncclRecv.code(to + (sources ? 0 : p * bytes), bytes, ncclUint8,
                             int(p), member.communicator, stream);
      if (result != ncclInProgress && result != ncclSuccess)
        status = nccl.ncclRecv.failed(result);
    }
  }
  int result = nccl.ncclGroupEnd.code();
  if (!status.ok())
    return status;
  status = settled(result, nccl.ncclGroupEnd, "ncclGroupEnd",
                   member.communicator, seconds);
  if (!status.ok() || (sources && (*sources)[mine] != mine))
    return status;
  int64_t at = sources ? 0 : mine * bytes;
  return device.driver().cuMemcpyDtoDAsync(
      CUdeviceptr(to + at), CUdeviceptr(from + at), bytes, stream);
}

Status NcclCollectives::run(const NcclMember &member,
                            const CollectiveCall &call, double seconds) {
  const CollectiveCommand &command = *call.command;
  const Collective &row = entry.collectives[command.collective];
  const Nccl &nccl = communicators.library();
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
    return settled(nccl.ncclAllReduce.code(
                       input, output, count, typeOf(row.dtype),
                       reductionOf(row.reduction), communicator, stream),
                   nccl.ncclAllReduce, "ncclAllReduce", communicator, seconds);
  case CollectiveKind::ReduceScatter:
    return settled(nccl.ncclReduceScatter.code(
                       staged ? stage : input, output, count, typeOf(row.dtype),
                       reductionOf(row.reduction), communicator, stream),
                   nccl.ncclReduceScatter, "ncclReduceScatter", communicator,
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
      settled(nccl.ncclAllGather.code(input, staged ? stage : output, bytes,
                                      ncclUint8, communicator, stream),
              nccl.ncclAllGather, "ncclAllGather", communicator, seconds);
  for (int64_t p = 0; staged && p < members && status.ok(); ++p)
    status = copyRows(stage + p * bytes, blockBytes, output + p * blockBytes,
                      members * blockBytes, blockBytes, command.outer);
  return status;
}

Status NcclCollectives::queue(const CollectiveCall &call, double seconds) {
  const CollectiveCommand &command = *call.command;
  const Collective &row = entry.collectives[command.collective];
  const NcclMember &member = communicators.member(row.group);
  int64_t bytes = command.outer * command.block * byteSize(row.dtype);
  if (bytes == 0)
    return {};
  if (member.ranks.size() > 1)
    return run(member, call, seconds);
  if (call.input == call.output)
    return {};
  return device.driver().cuMemcpyDtoDAsync(CUdeviceptr(call.output),
                                           CUdeviceptr(call.input), bytes,
                                           device.stream(Queue::Communication));
}

Status NcclCollectives::queueGroup(const std::vector<CollectiveCall> &calls,
                                   double seconds) {
  const Nccl &nccl = communicators.library();
  if (Status status = nccl.ncclGroupStart(); !status.ok())
    return status;
  Status status;
  inGroup = true;
  for (const CollectiveCall &call : calls)
    if (status.ok())
      status = queue(call, seconds);
  inGroup = false;
  int result = nccl.ncclGroupEnd.code();
  for (const CollectiveCall &call : calls) {
    int64_t group = entry.collectives[call.command->collective].group;
    if (status.ok())
      status = communicators.settled(result, nccl.ncclGroupEnd, "ncclGroupEnd",
                                     communicators.member(group).communicator,
                                     seconds);
  }
  return status;
}
