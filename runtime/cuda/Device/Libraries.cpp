//===- Libraries.cpp - NVIDIA's libraries, opened at run time -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/Libraries.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

/// The first release whose functions and structures NcclApi.h follows.
static constexpr int leastNccl = 22800;
/// Before it the fused attention had more limits, and errors in 9.10.
static constexpr size_t leastCudnn = 91100;

Status Library::failed(const char *function, int code) const {
  return {Code::Device, std::string(function) + ": " + errorName(code) + " (" +
                            std::to_string(code) + ")"};
}

Status Library::openLibrary() {
  const char *wish = std::getenv(variable);
  std::vector<const char *> paths = sonames;
  if (wish && *wish)
    paths = {wish};
  std::string reasons;
  for (const char *tried : paths) {
    path = tried;
    handle = dlopen(tried, RTLD_NOW | RTLD_LOCAL);
    if (handle)
      return {};
    const char *text = dlerror();
    reasons += (reasons.empty() ? "" : "; ") +
               std::string(text ? text : "unknown reason");
  }
  std::string names;
  for (const char *soname : sonames)
    names += (names.empty() ? "" : " or ") + std::string(soname);
  return unsupported(std::string("cannot open ") + title + ", " + names +
                     " (or the file that " + variable + " names): " + reasons);
}

void *Library::find(const char *symbol, Status &status) const {
  void *address = dlsym(handle, symbol);
  if (!address && status.ok())
    status =
        unsupported(std::string(title) + ", " + path + ", has no function " +
                    symbol + ": expected a newer version");
  return address;
}

size_t Library::versionBy(const char *symbol, Status &status) const {
  size_t (*version)() = nullptr;
  find(symbol, version, status);
  return version ? version() : 0;
}

#define TP_CUDA_RESOLVE(NAME, SYMBOL, PARAMETERS)                              \
  NAME.resolve(find(#SYMBOL, status));

Status Driver::open(std::unique_ptr<Driver> &driver) {
  return openAs(driver, std::unique_ptr<Driver>(new Driver));
}

Status Driver::resolve() {
  Status status;
  TP_CUDA_DRIVER_FUNCTIONS(TP_CUDA_RESOLVE)
  return status.ok() ? cuInit(0) : status;
}

std::string Driver::errorName(int code) const {
  const char *name = nullptr;
  if (cuGetErrorName.code(code, &name) != CUDA_SUCCESS || !name)
    return "unknown error";
  return name;
}

Status Nccl::open(std::unique_ptr<Nccl> &nccl) {
  return openAs(nccl, std::unique_ptr<Nccl>(new Nccl));
}

Status Nccl::resolve() {
  Status status;
  TP_NCCL_FUNCTIONS(TP_CUDA_RESOLVE)
  int version = 0;
  if (status.ok())
    status = ncclGetVersion(&version);
  if (status.ok() && version < leastNccl)
    status = unsupported("NCCL: expected version 2.28 or later, got " +
                         std::to_string(version));
  return status;
}

std::string Nccl::errorName(int code) const {
  // ncclGetErrorString gives sentences; messages elsewhere give names.
  constexpr const char *names[] = {
      "ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
      "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
      "ncclRemoteError",   "ncclInProgress"};
  return code >= 0 && code <= ncclInProgress ? names[code] : "unknown error";
}

Status CublasLt::open(std::unique_ptr<CublasLt> &library, int driverVersion) {
  std::vector<const char *> sonames = {"libcublasLt.so.13",
                                       "libcublasLt.so.12"};
  constexpr int cuda13 = 13000;
  if (driverVersion < cuda13)
    std::swap(sonames[0], sonames[1]);
  return openAs(library,
                std::unique_ptr<CublasLt>(new CublasLt(std::move(sonames))));
}

Status CublasLt::resolve() {
  Status status;
  TP_CUBLASLT_FUNCTIONS(TP_CUDA_RESOLVE)
  find("cublasLtGetStatusName", statusName, status);
  versionNumber = versionBy("cublasLtGetVersion", status);
  return status;
}

std::string CublasLt::errorName(int code) const {
  const char *name = statusName(code);
  return name ? name : "unknown error";
}

Status Cudnn::open(std::unique_ptr<Cudnn> &library) {
  return openAs(library, std::unique_ptr<Cudnn>(new Cudnn));
}

Status Cudnn::resolve() {
  Status status;
  TP_CUDNN_FUNCTIONS(TP_CUDA_RESOLVE)
  find("cudnnGetErrorString", errorString, status);
  find("cudnnGetLastErrorString", lastErrorString, status);
  versionNumber = versionBy("cudnnGetVersion", status);
  if (status.ok() && versionNumber < leastCudnn)
    status = unsupported("cuDNN: expected version 9.11 or later, got " +
                         std::to_string(versionNumber));
  return status;
}

std::string Cudnn::errorName(int code) const {
  const char *name = errorString(code);
  return name ? name : "unknown error";
}

std::string Cudnn::lastReason() const {
  // Lines of the form "Warning: STATUS; Reason: TEXT", the first of which is
  // where it began; or one that is a text.
  char buffer[2048] = {};
  lastErrorString(buffer, sizeof(buffer) - 1);
  std::string text = buffer;
  constexpr const char *mark = "Reason: ";
  if (size_t found = text.find(mark); found != std::string::npos)
    text = text.substr(found + std::strlen(mark));
  return text.substr(0, text.find('\n'));
}
