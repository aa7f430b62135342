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
#include "FakeDevice.h"
#include "tp/Runtime/Cuda/NcclApi.h"
#include "tp/Runtime/DataType.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

using namespace tp::fake;
using namespace tp::runtime;

namespace tp::runtime::cuda {
struct ncclComm {
  std::string folder, name;
  int rank = 0, size = 0;
  int operations = 0, splits = 0;
  /// Messages sent to and received from each rank.
  std::map<int, int> sent, received;
  /// Not all have come yet.
  bool connecting = true;
  ncclResult_t error = ncclSuccess;
  /// A call that goes on in the background says so once.
  int inProgress = 0;
};
} // namespace tp::runtime::cuda

namespace {

/// What all ranks must say alike.
struct Header {
  int kind, type, op, magic = 0x7470;
  uint64_t count;
  bool operator==(const Header &) const = default;
  std::string text() const {
    constexpr const char *kinds[] = {"ncclAllReduce", "ncclAllGather",
                                     "ncclReduceScatter", "ncclSend"};
    return std::string(kinds[kind]) + " of " + std::to_string(count) +
           " of type " + std::to_string(type) + " by " + std::to_string(op);
  }
};

DataType typeOf(int type) {
  switch (type) {
  case ncclFloat64:
    return DataType::F64;
  case ncclFloat32:
    return DataType::F32;
  case ncclFloat16:
    return DataType::F16;
  case ncclBfloat16:
    return DataType::BF16;
  case ncclInt64:
    return DataType::I64;
  case ncclInt32:
    return DataType::I32;
  case ncclUint8:
    return DataType::I1;
  default:
    return DataType::I8;
  }
}

std::string path(const ncclComm &comm, const std::string &name) {
  return comm.folder + "/" + comm.name + "-" + name;
}

void post(const std::string &place, const std::string &bytes) {
  std::string temporary = place + ".part";
  std::ofstream(temporary, std::ios::binary) << bytes;
  std::filesystem::rename(temporary, place);
}

bool read(const std::string &place, std::string &bytes) {
  std::ifstream file(place, std::ios::binary);
  if (!file)
    return false;
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

std::string bytesOf(const Header &header, const void *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  return bytes.append(static_cast<const char *>(data), size);
}

bool all(const ncclComm &comm, const std::string &name,
         std::vector<std::string> &files) {
  files.resize(comm.size);
  for (int r = 0; r < comm.size; ++r)
    if (!read(path(comm, name + "-" + std::to_string(r)), files[r]))
      return false;
  return true;
}

template <typename T> T combine(T a, T b, int op) {
  switch (op) {
  case ncclProd:
    return a * b;
  case ncclMax:
    return std::max(a, b);
  case ncclMin:
    return std::min(a, b);
  default:
    return a + b;
  }
}

/// Elements [first, first + count) of all ranks' inputs.
void reduce(const std::vector<std::string> &files, int type, int op,
            size_t first, size_t count, char *out) {
  DataType dtype = typeOf(type);
  size_t bytes = byteSize(dtype);
  for (size_t i = 0; i < count; ++i) {
    double real = 0;
    int64_t integer = 0;
    for (size_t r = 0; r < files.size(); ++r) {
      const char *data = files[r].data() + sizeof(Header);
      if (isFloat(dtype)) {
        double value = elementAsDouble(dtype, data, first + i);
        real = r ? combine(real, value, op) : value;
      } else {
        int64_t value = elementAsInteger(dtype, data, first + i);
        integer = r ? combine(integer, value, op) : value;
      }
    }
    if (op == ncclAvg)
      real /= double(files.size());
    char *place = out + i * bytes;
    auto put = [&](auto value) { std::memcpy(place, &value, sizeof(value)); };
    if (dtype == DataType::F64)
      put(real);
    else if (dtype == DataType::F32)
      put(float(real));
    else if (dtype == DataType::F16)
      put(floatToHalf(float(real)));
    else if (dtype == DataType::BF16)
      put(floatToBfloat(float(real)));
    else
      std::memcpy(place, &integer, bytes);
  }
}

/// Called with the files of all ranks.
using Finish = std::function<void(const std::vector<std::string> &)>;

ncclResult_t collective(const char *function, ncclComm *comm, CUstream stream,
                        Header header, const void *from, size_t inputBytes,
                        const void *to, size_t outputBytes, Finish finish) {
  std::lock_guard lock(mutex());
  Fault fault = faultOf(function);
  if (fault.kind == Fault::Code)
    return fault.code;
  if (comm->connecting || comm->error)
    return ncclInvalidUsage;
  if (!isMemory(CUdeviceptr(from), inputBytes) ||
      !isMemory(CUdeviceptr(to), outputBytes)) {
    complain(std::string(function) + " leaves its memory");
    return ncclInvalidArgument;
  }
  bool async = fault.kind == Fault::Async;
  queue(stream, function, fault, [=]() -> Running {
    int operation = comm->operations++;
    auto name = [=](int of) { return "op" + std::to_string(of); };
    auto own = [=](int of) {
      return path(*comm, name(of) + "-" + std::to_string(comm->rank));
    };
    if (async)
      comm->error = ncclRemoteError;
    else
      post(own(operation), bytesOf(header, from, inputBytes));
    return [=] {
      std::vector<std::string> files;
      if (comm->error || !all(*comm, name(operation), files))
        return false;
      for (const std::string &file : files) {
        Header other;
        std::memcpy(&other, file.data(), sizeof(other));
        if (other == header)
          continue;
        complain("ranks differ: " + header.text() + ", " + other.text());
        comm->error = ncclInvalidUsage;
        return false;
      }
      finish(files);
      std::error_code ignored;
      std::filesystem::remove(own(operation - 1), ignored);
      return true;
    };
  });
  // Every other call goes on in the background, as a library may choose.
  comm->inProgress = comm->operations % 2;
  return comm->inProgress ? ncclInProgress : ncclSuccess;
}

size_t sizeOf(int type) { return byteSize(typeOf(type)); }

struct Message {
  bool sends;
  ncclComm *comm;
  int peer;
  size_t bytes;
  char *data;
  CUstream stream;
};
thread_local int groups = 0;
thread_local std::vector<Message> messages;

ncclResult_t addMessage(const char *function, Message message) {
  std::lock_guard lock(mutex());
  Fault fault = faultOf(function);
  if (fault.kind == Fault::Code)
    return fault.code;
  if (!groups || message.peer < 0 || message.peer >= message.comm->size)
    return ncclInvalidUsage;
  if (!isMemory(CUdeviceptr(message.data), message.bytes)) {
    complain(std::string(function) + " leaves its memory");
    return ncclInvalidArgument;
  }
  messages.push_back(message);
  return ncclSuccess;
}

std::string messageFile(const ncclComm &comm, int from, int to, int number) {
  return path(comm, "message-" + std::to_string(from) + "-" +
                        std::to_string(to) + "-" + std::to_string(number));
}

} // namespace

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

TP_FAKE ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                           ncclResult_t *error) {
  std::lock_guard lock(mutex());
  Fault fault = faultOf("ncclCommGetAsyncError");
  if (fault.kind == Fault::Code)
    return fault.code;
  *error = comm->error;
  if (std::exchange(comm->inProgress, 0))
    *error = ncclInProgress;
  if (!comm->connecting)
    return ncclSuccess;
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

TP_FAKE ncclResult_t ncclCommAbort(ncclComm_t comm) {
  std::lock_guard lock(mutex());
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

TP_FAKE ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                                   ncclDataType_t type, ncclRedOp_t op,
                                   ncclComm_t comm, CUstream stream) {
  size_t bytes = count * sizeOf(type);
  return collective("ncclAllReduce", comm, stream,
                    {.kind = 0, .type = type, .op = op, .count = count}, from,
                    bytes, to, bytes, [=](const auto &files) {
                      reduce(files, type, op, 0, count, (char *)to);
                    });
}
TP_FAKE ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
                                   ncclDataType_t type, ncclComm_t comm,
                                   CUstream stream) {
  size_t bytes = count * sizeOf(type);
  return collective("ncclAllGather", comm, stream,
                    {.kind = 1, .type = type, .op = 0, .count = count}, from,
                    bytes, to, bytes * comm->size, [=](const auto &files) {
                      for (size_t r = 0; r < files.size(); ++r)
                        std::memcpy((char *)to + r * bytes,
                                    files[r].data() + sizeof(Header), bytes);
                    });
}
TP_FAKE ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
                                       ncclDataType_t type, ncclRedOp_t op,
                                       ncclComm_t comm, CUstream stream) {
  size_t bytes = count * sizeOf(type);
  return collective("ncclReduceScatter", comm, stream,
                    {.kind = 2, .type = type, .op = op, .count = count}, from,
                    bytes * comm->size, to, bytes, [=](const auto &files) {
                      reduce(files, type, op, comm->rank * count, count,
                             (char *)to);
                    });
}
TP_FAKE ncclResult_t ncclSend(const void *from, size_t count,
                              ncclDataType_t type, int peer, ncclComm_t comm,
                              CUstream stream) {
  return addMessage("ncclSend", {true, comm, peer, count * sizeOf(type),
                                 (char *)from, stream});
}
TP_FAKE ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type,
                              int peer, ncclComm_t comm, CUstream stream) {
  return addMessage("ncclRecv", {false, comm, peer, count * sizeOf(type),
                                 (char *)to, stream});
}
TP_FAKE ncclResult_t ncclGroupStart() {
  ++groups;
  return ncclSuccess;
}
TP_FAKE ncclResult_t ncclGroupEnd() {
  std::lock_guard lock(mutex());
  Fault fault = faultOf("ncclGroupEnd");
  if (fault.kind == Fault::Code)
    return fault.code;
  if (--groups || messages.empty())
    return ncclSuccess;
  std::vector<Message> group = std::move(messages);
  messages.clear();
  queue(group.front().stream, "ncclGroupEnd", fault, [group]() -> Running {
    std::vector<int> numbers;
    for (const Message &m : group) {
      int number =
          m.sends ? m.comm->sent[m.peer]++ : m.comm->received[m.peer]++;
      numbers.push_back(number);
      if (m.sends)
        post(messageFile(*m.comm, m.comm->rank, m.peer, number),
             std::string(m.data, m.bytes));
    }
    return [group, numbers] {
      std::vector<std::string> bytes(group.size());
      for (size_t i = 0; i < group.size(); ++i) {
        const Message &m = group[i];
        std::string place =
            messageFile(*m.comm, m.peer, m.comm->rank, numbers[i]);
        if (!m.sends && !read(place, bytes[i]))
          return false;
        if (!m.sends && bytes[i].size() != m.bytes) {
          complain("ncclRecv of " + std::to_string(m.bytes) +
                   " bytes, sent were " + std::to_string(bytes[i].size()));
          m.comm->error = ncclInvalidUsage;
          return false;
        }
      }
      for (size_t i = 0; i < group.size(); ++i) {
        const Message &m = group[i];
        if (m.sends)
          continue;
        std::memcpy(m.data, bytes[i].data(), m.bytes);
        std::error_code ignored;
        std::filesystem::remove(
            messageFile(*m.comm, m.peer, m.comm->rank, numbers[i]), ignored);
      }
      return true;
    };
  });
  return ncclSuccess;
}

} // extern "C"
