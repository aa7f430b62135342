//===- NvtxRange.cpp - named ranges for profilers -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVTX is a protocol between headers and a profiler's library, which is given a
// table to write its functions into. It is followed here as in
// nvtx3/nvtxDetail/nvtxTypes.h and nvtxInit.h of NVTX 3.2, so that no header is
// needed to build.
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/NvtxRange.h"
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

using namespace tp::runtime::cuda;

namespace {

/// NvtxCallbackModule and NvtxCallbackIdCore.
constexpr int moduleCore = 1, modules = 7, rangePushA = 9, rangePop = 11;
/// NvtxExportTableID.
constexpr uint32_t tableCallbacks = 1, tableVersion = 3;
/// More than any module has; a profiler writes those it knows.
constexpr unsigned functions = 32;

using Function = void (*)();
Function slots[modules][functions];
Function *tables[modules][functions + 1];

int moduleTable(int module, Function ***table, unsigned *size) {
  if (module < moduleCore || module >= modules)
    return 0;
  if (table)
    *table = tables[module];
  if (size)
    *size = functions;
  return 1;
}

/// NvtxExportTableCallbacks
const struct {
  size_t size;
  int (*moduleTable)(int, Function ***, unsigned *);
} callbacks = {sizeof(callbacks), moduleTable};

/// NvtxExportTableVersionInfo
const struct {
  size_t size;
  uint32_t version, reserved;
  void (*setInjectionVersion)(uint32_t);
} version = {sizeof(version), 3, 0, [](uint32_t) {}};

const void *exportTable(uint32_t id) {
  if (id == tableCallbacks)
    return &callbacks;
  return id == tableVersion ? static_cast<const void *>(&version) : nullptr;
}

} // namespace

Nvtx::Nvtx() {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  void *library = path && *path ? dlopen(path, RTLD_LAZY) : nullptr;
  if (!library)
    return;
  using Initialize = int (*)(const void *(*)(uint32_t));
  auto initialize =
      reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  for (int module = 0; module < modules; ++module)
    for (unsigned i = 0; i < functions; ++i)
      tables[module][i] = &slots[module][i];
  if (!initialize || !initialize(exportTable))
    return;
  push = reinterpret_cast<int (*)(const char *)>(slots[moduleCore][rangePushA]);
  pop = reinterpret_cast<int (*)()>(slots[moduleCore][rangePop]);
}

const Nvtx &Nvtx::get() {
  static const Nvtx instance;
  return instance;
}
