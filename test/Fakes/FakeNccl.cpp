//===- FakeNccl.cpp - a libnccl between processes of one host -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Ranks meet in a folder that the unique id names. Each operation of a rank is
// a file of it: what it was asked for, then its data. Whoever has its own file
// there and finds those of all others computes its result. Files come under
// their names whole; a rank removes its own of an operation when it sees that
// all have come to the next one. Work is queued in the fake driver's streams.
//
#include "FakeNccl.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

using namespace tp::fake;
using namespace tp::runtime;

DataType tp::fake::typeOf(int type) {
  switch (type) {
  case ncclFloat64:
    return DataType::F64;
  case ncclFloat32:
    return DataType::F32;
  case ncclFloat16:
    return DataType::F16;
  case ncclBfloat16:
    return DataType::BF16;
  case ncclFloat8e4m3:
    return DataType::F8E4M3FN;
  case ncclFloat8e5m2:
    return DataType::F8E5M2;
  case ncclInt64:
    return DataType::I64;
  case ncclInt32:
    return DataType::I32;
  case ncclUint64:
    return DataType::U64;
  case ncclUint32:
    return DataType::U32;
  case ncclUint8:
    return DataType::I1;
  default:
    return DataType::I8;
  }
}

std::string tp::fake::path(const ncclComm &comm, const std::string &name) {
  return comm.folder + "/" + comm.name + "-" + name;
}

void tp::fake::post(const std::string &place, const std::string &bytes) {
  std::string temporary = place + ".part";
  std::ofstream(temporary, std::ios::binary) << bytes;
  std::filesystem::rename(temporary, place);
}

bool tp::fake::read(const std::string &place, std::string &bytes) {
  std::ifstream file(place, std::ios::binary);
  if (!file)
    return false;
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

bool tp::fake::all(const ncclComm &comm, const std::string &name,
                   std::vector<std::string> &files) {
  files.resize(comm.size);
  for (int r = 0; r < comm.size; ++r)
    if (!read(path(comm, name + "-" + std::to_string(r)), files[r]))
      return false;
  return true;
}

extern "C" {

TP_FAKE ncclResult_t ncclGetVersion(int *version) {
  *version = 22809;
  return ncclSuccess;
}

TP_FAKE ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  Fault fault = faultOf("ncclGetUniqueId");
  if (fault.kind == Fault::Code)
    return fault.code;
  std::string pattern =
      (std::filesystem::temp_directory_path() / "nccl-XXXXXX").string();
  if (!mkdtemp(pattern.data()) || pattern.size() >= sizeof(id->internal))
    return ncclSystemError;
  std::memset(id, 0, sizeof(*id));
  std::strcpy(id->internal, pattern.c_str());
  return ncclSuccess;
}

TP_FAKE ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int size,
                                            ncclUniqueId id, int rank,
                                            ncclConfig_t *config) {
  Fault fault = faultOf("ncclCommInitRankConfig");
  if (fault.kind == Fault::Code)
    return fault.code;
  if (config->magic != 0xcafebeef || config->blocking != 0 || rank >= size)
    return ncclInvalidArgument;
  auto *comm = new ncclComm;
  comm->folder = id.internal;
  comm->name = "world";
  comm->rank = rank;
  comm->ordinal = currentDevice();
  comm->size = size;
  *made = comm;
  if (fault.kind == Fault::None)
    post(path(*comm, "come-" + std::to_string(rank)), "");
  return ncclInProgress;
}

TP_FAKE ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key,
                                   ncclComm_t *made, ncclConfig_t *) {
  Fault fault = faultOf("ncclCommSplit");
  if (fault.kind == Fault::Code)
    return fault.code;
  auto *comm = new ncclComm;
  comm->folder = parent->folder;
  // The group's place among the ranks is known when all have come.
  comm->name = "split" + std::to_string(parent->splits++);
  comm->rank = -1 - parent->rank;
  comm->size = parent->size;
  *made = comm;
  if (fault.kind == Fault::None)
    post(path(*comm, "come-" + std::to_string(parent->rank)),
         std::to_string(color) + " " + std::to_string(key));
  return ncclSuccess;
}

TP_FAKE ncclResult_t ncclCommCount(ncclComm_t comm, int *size) {
  *size = comm->size;
  return ncclSuccess;
}
TP_FAKE ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
TP_FAKE ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device) {
  *device = comm->ordinal;
  return ncclSuccess;
}

TP_FAKE ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                           ncclResult_t *error) {
  std::lock_guard lock(mutex());
  Fault fault = faultOf("ncclCommGetAsyncError");
  if (fault.kind == Fault::Code)
    return fault.code;
  *error = comm->error;
  if (std::exchange(comm->inProgress, 0))
    *error = ncclInProgress;
  if (!comm->connecting) {
    if (ncclResult_t window = finishWindow(*comm))
      *error = window;
    return ncclSuccess;
  }
  std::vector<std::string> files;
  *error = ncclInProgress;
  if (!all(*comm, "come", files))
    return ncclSuccess;
  if (comm->rank < 0) {
    // "color key" of every rank of the parent.
    int parentRank = -1 - comm->rank;
    std::vector<std::pair<int, int>> members;
    int color = std::stoi(files[parentRank]);
    for (int r = 0; r < comm->size; ++r)
      if (std::stoi(files[r]) == color)
        members.push_back({std::stoi(files[r].substr(files[r].find(' '))), r});
    std::sort(members.begin(), members.end());
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i].second == parentRank)
        comm->rank = int(i);
    comm->size = int(members.size());
    comm->name += "." + std::to_string(color);
  }
  comm->connecting = false;
  *error = ncclSuccess;
  return ncclSuccess;
}

/// What the communicator runs ends at once; the call comes back when no graph
/// holds the communicator any more.
TP_FAKE ncclResult_t ncclCommAbort(ncclComm_t comm) {
  std::unique_lock lock(mutex());
  Fault fault = faultOf("ncclCommAbort");
  comm->aborted = true;
  pump();
  while (comm->captured || fault.kind == Fault::Hang) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock.lock();
    pump();
  }
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::directory_iterator(comm->folder, ignored)) {
    // The last rank to end takes the folder along.
    std::string own = "-" + std::to_string(comm->rank);
    std::string name = entry.path().filename();
    if (comm->name == "world" && name.ends_with(own))
      std::filesystem::remove(entry.path(), ignored);
  }
  std::filesystem::remove(comm->folder, ignored);
  return ncclSuccess;
}

} // extern "C"
