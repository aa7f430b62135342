//===- FakeModules.cpp - kernels that run on the host ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An image is an ELF shared object of this machine. A kernel `f` of it is a
// function of pointers, whose number `f_parameters` says; it runs once for
// every thread of every block and asks tp_block_* which one it is. Threads run
// one after the other: kernels with barriers are for BlockRunner.
//
#include "FakeQueues.h"
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
  void *address;
  int parameters;
  int mostSharedBytes = 48 * 1024;
};
} // namespace tp::runtime::cuda

namespace {

/// The thread that runs: its place in the block, the block's in the grid.
struct Place {
  unsigned thread[3], block[3], threads[3], blocks[3];
} place;

using Pointers = void (*)(void *, void *, void *, void *, void *, void *,
                          void *, void *, void *, void *, void *, void *);
constexpr int mostParameters = 12;

void call(void *function, const std::vector<void *> &values) {
  void *v[mostParameters] = {};
  std::copy(values.begin(), values.end(), v);
  reinterpret_cast<Pointers>(function)(v[0], v[1], v[2], v[3], v[4], v[5], v[6],
                                       v[7], v[8], v[9], v[10], v[11]);
}

template <typename Visit>
void forEach(const unsigned *sizes, unsigned *at, Visit visit) {
  for (at[2] = 0; at[2] < sizes[2]; ++at[2])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[0] = 0; at[0] < sizes[0]; ++at[0])
        visit();
}

} // namespace

extern "C" {

TP_FAKE int32_t tp_block_tid_x() { return place.thread[0]; }
TP_FAKE int32_t tp_block_tid_y() { return place.thread[1]; }
TP_FAKE int32_t tp_block_tid_z() { return place.thread[2]; }
TP_FAKE int32_t tp_block_ctaid_x() { return place.block[0]; }
TP_FAKE int32_t tp_block_ctaid_y() { return place.block[1]; }
TP_FAKE int32_t tp_block_ctaid_z() { return place.block[2]; }
TP_FAKE int32_t tp_block_ntid_x() { return place.threads[0]; }
TP_FAKE int32_t tp_block_ntid_y() { return place.threads[1]; }
TP_FAKE int32_t tp_block_ntid_z() { return place.threads[2]; }
TP_FAKE int32_t tp_block_nctaid_x() { return place.blocks[0]; }

TP_FAKE CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                    unsigned options, int *keys,
                                    void **values) {
  ENTER("cuModuleLoadDataEx", Context, false)
  char *log = nullptr;
  for (unsigned i = 0; i < options; ++i)
    if (keys[i] == CU_JIT_ERROR_LOG_BUFFER)
      log = static_cast<char *>(values[i]);
  Elf64_Ehdr header;
  if (std::memcmp(image, ELFMAG, SELFMAG)) {
    if (log)
      std::strcpy(log, "this device has no compiler of PTX\nsecond line");
    return CUDA_ERROR_INVALID_PTX;
  }
  std::memcpy(&header, image, sizeof(header));
  // The symbols that it needs are this library's.
  Dl_info own;
  dladdr(reinterpret_cast<void *>(&cuModuleLoadDataEx), &own);
  dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  size_t size = header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
  int file = memfd_create("tp-fake-module", MFD_CLOEXEC);
  if (header.e_machine != EM_X86_64 ||
      write(file, image, size) != ssize_t(size))
    return CUDA_ERROR_INVALID_IMAGE;
  std::string path = "/proc/self/fd/" + std::to_string(file);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    complain(dlerror());
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *module = new CUmod_st{library};
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuModuleUnload(CUmodule module) {
  ENTER("cuModuleUnload", Context, false)
  dlclose(module->library);
  delete module;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                     const char *name) {
  ENTER("cuModuleGetFunction", Context)
  std::string text = name;
  void *address = dlsym(module->library, name);
  auto *count = static_cast<int *>(
      dlsym(module->library, (text + "_parameters").c_str()));
  if (!address || !count || *count > mostParameters)
    return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st{text, address, *count};
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
  if (extra || !gridX || !gridY || !gridZ || blockX * blockY * blockZ > 1024 ||
      blockX * blockY * blockZ == 0 ||
      int(sharedBytes) > function->mostSharedBytes)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<void *> values;
  for (int i = 0; i < function->parameters; ++i) {
    values.push_back(*static_cast<void **>(parameters[i]));
    if (!isMemory(CUdeviceptr(values.back()), 0)) {
      complain(function->name + ": parameter " + std::to_string(i) +
               " is no device memory");
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
  }
  Place where = {{}, {}, {blockX, blockY, blockZ}, {gridX, gridY, gridZ}};
  return queueNow(stream, function->name, fault,
                  [address = function->address, values, where] {
                    place = where;
                    forEach(place.blocks, place.block, [&] {
                      forEach(place.threads, place.thread,
                              [&] { call(address, values); });
                    });
                  });
}

} // extern "C"
