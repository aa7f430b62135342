//===- NcclMemory.cpp - memory that NCCL knows ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclMemory.h"
#include <cstdlib>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

Status NcclMemory::allCould(const Status &mine, bool &could) {
  int32_t failed = 0;
  if (Status status = control.agreeOnStatus(
          number, mine.ok() ? 0 : int32_t(number) + 1, timeout, failed);
      !status.ok())
    return status;
  could = failed == 0;
  if (!could && !mine.ok())
    why = mine.message();
  else if (!could)
    why = "rank " + std::to_string(failed - 1) + " could not";
  return {};
}

Status NcclMemory::allocate(int64_t rank, int64_t bytes, uint64_t layout,
                            CUdeviceptr &memory) {
  number = rank;
  const char *wish = std::getenv("TP_NCCL_MEMORY");
  std::string most = wish && *wish ? wish : "symmetric";
  if (most != "symmetric" && most != "registered" && most != "plain")
    return invalidArgument("TP_NCCL_MEMORY: expected symmetric, registered or "
                           "plain, got '" +
                           most + "'");
  // What rank 0 has where, without the sign: a value that is not 0.
  int32_t mine = int32_t((layout ^ layout >> 32) | 1) & 0x7fffffff, first = 0;
  if (Status status = control.agreeOnStatus(rank, mine, timeout, first);
      !status.ok())
    return status;
  bool could = most == "symmetric";
  why = could ? "" : "TP_NCCL_MEMORY says so";
  if (could)
    if (Status status = allCould(
            mine == first
                ? Status()
                : unsupported("memory is laid out differently than on rank 0"),
            could);
        !status.ok())
      return status;
  const Nccl &nccl = communicators.library();
  constexpr int64_t page = NCCL_WIN_REQUIRED_ALIGNMENT;
  bytes = (bytes + page - 1) / page * page;
  if (could) {
    Status allocated = nccl.ncclMemAlloc(&base, size_t(bytes));
    if (Status status = allCould(allocated, could); !status.ok())
      return status;
    if (!could && allocated.ok())
      (void)nccl.ncclMemFree(std::exchange(base, nullptr));
    if (!could)
      base = nullptr;
  }
  if (could) {
    Status registered = registerWindows(bytes);
    // Not a refusal: a rank is not there.
    if (registered.code() == Code::Timeout ||
        registered.code() == Code::RankFailed)
      return registered;
    if (Status status = allCould(registered, could); !status.ok())
      return status;
    kind = could ? Kind::Symmetric : Kind::Plain;
    if (!could)
      deregister();
  }
  if (base)
    memory = CUdeviceptr(base);
  else if (Status status = device.allocate(bytes, memory); !status.ok())
    return status;
  if (kind == Kind::Symmetric || most == "plain")
    return {};
  std::string noWindows = why;
  void *own = std::exchange(base, reinterpret_cast<void *>(memory));
  Status registered = registerBuffers(bytes);
  base = own;
  if (Status status = allCould(registered, could); !status.ok())
    return status;
  if (!could)
    deregister();
  else
    why = noWindows;
  kind = could ? Kind::Registered : Kind::Plain;
  return {};
}

Status NcclMemory::registerWindows(int64_t bytes) {
  const Nccl &nccl = communicators.library();
  Status status;
  for (ncclComm_t communicator : communicators.inUse()) {
    // Also after a failure: the others wait for this rank.
    ncclWindow_t window = nullptr;
    int result = nccl.ncclCommWindowRegister.code(
        communicator, base, size_t(bytes), &window, NCCL_WIN_COLL_SYMMETRIC);
    Status made =
        communicators.settled(result, nccl.ncclCommWindowRegister,
                              "ncclCommWindowRegister", communicator, timeout);
    windows.push_back(made.ok() ? window : nullptr);
    if (made.ok() && !window)
      made = unsupported("ncclCommWindowRegister gave no window");
    if (status.ok())
      status = made;
  }
  return status;
}

Status NcclMemory::registerBuffers(int64_t bytes) {
  const Nccl &nccl = communicators.library();
  for (ncclComm_t communicator : communicators.inUse()) {
    void *handle = nullptr;
    int result =
        nccl.ncclCommRegister.code(communicator, base, size_t(bytes), &handle);
    if (Status status =
            communicators.settled(result, nccl.ncclCommRegister,
                                  "ncclCommRegister", communicator, timeout);
        !status.ok())
      return status;
    handles.push_back(handle);
  }
  return {};
}

void NcclMemory::deregister() {
  const Nccl &nccl = communicators.library();
  const std::vector<ncclComm_t> &all = communicators.inUse();
  for (size_t i = 0; i < windows.size(); ++i)
    if (windows[i])
      (void)nccl.ncclCommWindowDeregister.code(all[i], windows[i]);
  for (size_t i = 0; i < handles.size(); ++i)
    (void)nccl.ncclCommDeregister.code(all[i], handles[i]);
  windows.clear();
  handles.clear();
}

void NcclMemory::release() {
  deregister();
  if (base)
    (void)communicators.library().ncclMemFree(std::exchange(base, nullptr));
}

std::string NcclMemory::describe() const {
  if (number < 0)
    return "";
  switch (kind) {
  case Kind::Symmetric:
    return "symmetric windows of NCCL";
  case Kind::Registered:
    return "registered with NCCL (no windows: " + why + ")";
  case Kind::Plain:
    break;
  }
  return "not registered with NCCL (" + why + ")";
}
