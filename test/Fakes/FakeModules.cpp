//===- FakeModules.cpp - kernels that run on the host ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An image is an ELF shared object of this machine, or PTX that says in its
// first line where one is: "//host PATH". A kernel of it is a function that
// takes what cuLaunchKernel is given, and runs once for every thread of every
// block. Parameters come as one buffer and are copied at the launch.
//
#include "Blocks/BlockRunner.h"
#include "FakeQueues.h"
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tp::fake;

namespace tp::runtime::cuda {
struct CUmod_st {
  void *library;
};
struct CUfunc_st {
  std::string name;
  tp::fakes::HostKernel kernel;
  int mostSharedBytes = 48 * 1024;
};
} // namespace tp::runtime::cuda

static CUresult open(CUmodule *module, const std::string &path) {
  // The symbols that it needs are this library's.
  Dl_info own;
  dladdr(reinterpret_cast<void *>(&open), &own);
  dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    complain(dlerror());
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *module = new CUmod_st{library};
  return CUDA_SUCCESS;
}

extern "C" {

TP_FAKE CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                    unsigned options, int *keys,
                                    void **values) {
  ENTER("cuModuleLoadDataEx", Context, Drains)
  char *log = nullptr;
  for (unsigned i = 0; i < options; ++i)
    if (keys[i] == CU_JIT_ERROR_LOG_BUFFER)
      log = static_cast<char *>(values[i]);
  Elf64_Ehdr header;
  constexpr const char *assembled = "//host ";
  if (const auto *text = static_cast<const char *>(image);
      !std::strncmp(text, assembled, std::strlen(assembled))) {
    text += std::strlen(assembled);
    return open(module, std::string(text, std::strcspn(text, "\n")));
  }
  if (std::memcmp(image, ELFMAG, SELFMAG)) {
    if (log)
      std::strcpy(log, "this device has no compiler of PTX\nsecond line");
    return CUDA_ERROR_INVALID_PTX;
  }
  std::memcpy(&header, image, sizeof(header));
  size_t size = header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
  int file = memfd_create("tp-fake-module", MFD_CLOEXEC);
  if (header.e_machine != EM_X86_64 ||
      write(file, image, size) != ssize_t(size))
    return CUDA_ERROR_INVALID_IMAGE;
  return open(module, "/proc/self/fd/" + std::to_string(file));
}
TP_FAKE CUresult cuModuleUnload(CUmodule module) {
  ENTER("cuModuleUnload", Context, Drains)
  dlclose(module->library);
  delete module;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                     const char *name) {
  ENTER("cuModuleGetFunction", Context)
  void *address = dlsym(module->library, name);
  if (!address)
    return CUDA_ERROR_NOT_FOUND;
  *function =
      new CUfunc_st{name, reinterpret_cast<tp::fakes::HostKernel>(address)};
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuFuncSetAttribute(CUfunction function, int attribute,
                                    int value) {
  ENTER("cuFuncSetAttribute", Context)
  constexpr int most = 227 * 1024;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      value > most)
    return CUDA_ERROR_INVALID_VALUE;
  function->mostSharedBytes = value;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuLaunchKernel(CUfunction function, unsigned gridX,
                                unsigned gridY, unsigned gridZ, unsigned blockX,
                                unsigned blockY, unsigned blockZ,
                                unsigned sharedBytes, CUstream stream,
                                void **parameters, void **extra) {
  ENTER("cuLaunchKernel", Context)
  const char *buffer = nullptr;
  size_t bytes = 0;
  for (void **key = extra; key && *key; key += 2)
    if (uintptr_t(*key) == CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT)
      buffer = static_cast<const char *>(key[1]);
    else if (uintptr_t(*key) == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT)
      bytes = *static_cast<size_t *>(key[1]);
  if (parameters || !buffer || bytes % sizeof(CUdeviceptr) || !gridX ||
      !gridY || !gridZ || blockX * blockY * blockZ > 1024 ||
      blockX * blockY * blockZ == 0 ||
      int(sharedBytes) > function->mostSharedBytes)
    return CUDA_ERROR_INVALID_VALUE;
  // All are addresses.
  std::vector<CUdeviceptr> values(bytes / sizeof(CUdeviceptr));
  std::memcpy(values.data(), buffer, bytes);
  return queueNow(stream, function->name, fault,
                  [function, values, sharedBytes,
                   grid = std::array<int64_t, 3>{gridX, gridY, gridZ},
                   block = std::array<int64_t, 3>{blockX, blockY, blockZ}] {
                    std::vector<const void *> parameters;
                    for (const CUdeviceptr &value : values)
                      parameters.push_back(&value);
                    std::string error = tp::fakes::runKernel(
                        function->kernel,
                        const_cast<void *const *>(parameters.data()), grid,
                        block, sharedBytes);
                    if (error.empty())
                      return;
                    complain(function->name + ": " + error);
                    stickyError() = CUDA_ERROR_LAUNCH_FAILED;
                  });
}

} // extern "C"
