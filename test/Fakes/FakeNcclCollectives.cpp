//===- FakeNcclCollectives.cpp - collectives of the fake NCCL -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeElements.h"
#include "FakeNccl.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

using namespace tp::fake;
using namespace tp::runtime;

namespace {

/// What all ranks must say alike.
struct Header {
  int kind, type, op, magic = 0x7470;
  uint64_t count;
  /// In windows, where the memory has one.
  int64_t input = -1, output = -1;
  bool operator==(const Header &) const = default;
  std::string text() const {
    constexpr const char *kinds[] = {"ncclAllReduce", "ncclAllGather",
                                     "ncclReduceScatter", "ncclSend"};
    return std::string(kinds[kind]) + " of " + std::to_string(count) +
           " of type " + std::to_string(type) + " by " + std::to_string(op) +
           " from " + std::to_string(input) + " to " + std::to_string(output);
  }
};

std::string bytesOf(const Header &header, const void *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  return bytes.append(static_cast<const char *>(data), size);
}

/// As the library's fmaxf and fminf do: a number, where one of two is NaN.
template <typename T> T larger(T a, T b) {
  return a > b || b != b || (a == b && !std::signbit(a)) ? a : b;
}
template <typename T> T smaller(T a, T b) {
  return a < b || b != b || (a == b && std::signbit(a)) ? a : b;
}

template <typename T> T combine(T a, T b, int op) {
  switch (op) {
  case ncclProd:
    return a * b;
  case ncclMax:
    return larger(a, b);
  case ncclMin:
    return smaller(a, b);
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
    if (isFloat(dtype))
      storeFloat(dtype, place, real);
    else
      std::memcpy(place, &integer, bytes);
  }
}

/// Called with the files of all ranks.
using Finish = std::function<void(const std::vector<std::string> &)>;

ncclResult_t collective(const char *function, ncclComm *comm, CUstream stream,
                        Header header, const void *from, size_t inputBytes,
                        const void *to, size_t outputBytes, Finish finish) {
  ENTER_LIBRARY(function)
  if (comm->connecting || comm->error)
    return ncclInvalidUsage;
  if (!isMemory(CUdeviceptr(from), inputBytes) ||
      !isMemory(CUdeviceptr(to), outputBytes)) {
    complain(std::string(function) + " leaves its memory");
    return ncclInvalidArgument;
  }
  if (!placeInWindow(*comm, from, inputBytes, header.input) ||
      !placeInWindow(*comm, to, outputBytes, header.output)) {
    complain(std::string(function) + " leaves its communicator's window");
    return ncclInvalidArgument;
  }
  bool async = fault.kind == Fault::Async;
  queueOrGroup(comm, stream, function, fault, [=]() -> Running {
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

/// Every rank gets `count` elements of the reduced array, from `first` on.
ncclResult_t reducing(const char *function, ncclComm *comm, CUstream stream,
                      Header header, const void *from, size_t inputs, void *to,
                      size_t first) {
  size_t bytes = sizeOf(header.type);
  return collective(function, comm, stream, header, from, inputs * bytes, to,
                    header.count * bytes, [=](const auto &files) {
                      reduce(files, header.type, header.op, first, header.count,
                             static_cast<char *>(to));
                    });
}

} // namespace

extern "C" {

TP_FAKE ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                                   ncclDataType_t type, ncclRedOp_t op,
                                   ncclComm_t comm, CUstream stream) {
  return reducing("ncclAllReduce", comm, stream,
                  {.kind = 0, .type = type, .op = op, .count = count}, from,
                  count, to, /*first=*/0);
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
  return reducing("ncclReduceScatter", comm, stream,
                  {.kind = 2, .type = type, .op = op, .count = count}, from,
                  count * comm->size, to, comm->rank * count);
}

} // extern "C"
