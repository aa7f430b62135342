//===- FakeNcclMemory.cpp - memory that the fake NCCL knows ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeNccl.h"
#include <algorithm>
#include <cstdlib>
#include <map>

using namespace tp::fake;
using namespace tp::runtime;

extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
}

namespace tp::runtime::cuda {
struct ncclWindow_vidmem {
  ncclComm *comm;
  CUdeviceptr base;
  size_t bytes;
  bool window;
};
} // namespace tp::runtime::cuda

namespace {

using Registration = ncclWindow_vidmem;

std::map<CUdeviceptr, size_t> &allocations() {
  static std::map<CUdeviceptr, size_t> all;
  return all;
}
std::vector<Registration *> &registrations() {
  static std::vector<Registration *> all;
  return all;
}

ncclResult_t deregister(const char *function, ncclComm *comm,
                        Registration *given, bool window) {
  std::lock_guard lock(mutex());
  auto found = std::find(registrations().begin(), registrations().end(), given);
  if (found == registrations().end() || given->comm != comm ||
      given->window != window) {
    complain(std::string(function) + " of what is not registered");
    return ncclInvalidArgument;
  }
  registrations().erase(found);
  delete given;
  return ncclSuccess;
}

} // namespace

bool tp::fake::placeInWindow(const ncclComm &comm, const void *data,
                             size_t bytes, int64_t &offset) {
  bool any = false;
  offset = -1;
  for (const Registration *r : registrations()) {
    if (r->comm != &comm || !r->window)
      continue;
    any = true;
    size_t at = CUdeviceptr(data) - r->base;
    if (CUdeviceptr(data) >= r->base && at <= r->bytes &&
        bytes <= r->bytes - at)
      offset = int64_t(at);
  }
  return !any || offset >= 0;
}

ncclResult_t tp::fake::finishWindow(ncclComm &comm) {
  if (comm.openWindow < 0)
    return ncclSuccess;
  std::vector<std::string> files;
  if (!all(comm, "window" + std::to_string(comm.openWindow), files))
    return ncclInProgress;
  comm.openWindow = -1;
  if (std::count(files.begin(), files.end(), files[0]) ==
      std::ptrdiff_t(files.size()))
    return ncclSuccess;
  complain("ranks differ: windows of " + files[0] + " and other bytes");
  return comm.error = ncclInvalidUsage;
}

extern "C" {

TP_FAKE ncclResult_t ncclMemAlloc(void **memory, size_t bytes) {
  Fault fault = faultOf("ncclMemAlloc");
  if (fault.kind == Fault::Code)
    return fault.code;
  CUdeviceptr address = 0;
  if (cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS)
    return ncclUnhandledCudaError;
  std::lock_guard lock(mutex());
  allocations()[address] = bytes;
  *memory = reinterpret_cast<void *>(address);
  return ncclSuccess;
}

TP_FAKE ncclResult_t ncclMemFree(void *memory) {
  std::lock_guard lock(mutex());
  auto address = CUdeviceptr(memory);
  if (!allocations().erase(address)) {
    complain("ncclMemFree of what ncclMemAlloc did not give");
    return ncclInvalidArgument;
  }
  for (const Registration *r : registrations())
    if (r->base == address) {
      complain("ncclMemFree of memory that is registered");
      return ncclInvalidUsage;
    }
  return cuMemFree_v2(address) == CUDA_SUCCESS ? ncclSuccess
                                               : ncclUnhandledCudaError;
}

TP_FAKE ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *memory,
                                            size_t bytes, ncclWindow_t *window,
                                            int flags) {
  std::lock_guard lock(mutex());
  Fault fault = faultOf("ncclCommWindowRegister");
  if (fault.kind == Fault::Code)
    return fault.code;
  *window = nullptr;
  // A library that cannot says so by giving none.
  if (fault.kind == Fault::Async)
    return ncclSuccess;
  auto found = allocations().find(CUdeviceptr(memory));
  if (comm->connecting || found == allocations().end() ||
      found->second < bytes || bytes % NCCL_WIN_REQUIRED_ALIGNMENT ||
      flags != NCCL_WIN_COLL_SYMMETRIC) {
    complain("ncclCommWindowRegister of what can be no window");
    return ncclInvalidArgument;
  }
  comm->openWindow = comm->windows++;
  if (fault.kind == Fault::None)
    post(path(*comm, "window" + std::to_string(comm->openWindow) + "-" +
                         std::to_string(comm->rank)),
         std::to_string(bytes));
  *window = new Registration{comm, CUdeviceptr(memory), bytes, true};
  registrations().push_back(*window);
  return ncclInProgress;
}

TP_FAKE ncclResult_t ncclCommWindowDeregister(ncclComm_t comm,
                                              ncclWindow_t window) {
  return deregister("ncclCommWindowDeregister", comm, window, true);
}

TP_FAKE ncclResult_t ncclCommRegister(ncclComm_t comm, void *memory,
                                      size_t bytes, void **handle) {
  std::lock_guard lock(mutex());
  Fault fault = faultOf("ncclCommRegister");
  if (fault.kind == Fault::Code)
    return fault.code;
  if (!isMemory(CUdeviceptr(memory), bytes)) {
    complain("ncclCommRegister leaves its memory");
    return ncclInvalidArgument;
  }
  auto *made = new Registration{comm, CUdeviceptr(memory), bytes, false};
  registrations().push_back(made);
  *handle = made;
  return ncclSuccess;
}

TP_FAKE ncclResult_t ncclCommDeregister(ncclComm_t comm, void *handle) {
  return deregister("ncclCommDeregister", comm,
                    static_cast<Registration *>(handle), false);
}

} // extern "C"
