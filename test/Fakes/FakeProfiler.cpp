//===- FakeProfiler.cpp - a profiler that writes ranges down --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What NVTX_INJECTION64_PATH names: writes the ranges of a process to
// TP_FAKE_RANGES.PID, a line each, "> NAME" and "<".
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace {

using Function = void (*)();
struct Callbacks {
  size_t size;
  int (*moduleTable)(int, Function ***, unsigned *);
};

FILE *file() {
  static FILE *opened = [] {
    const char *path = std::getenv("TP_FAKE_RANGES");
    std::string name =
        std::string(path ? path : "ranges") + "." + std::to_string(getpid());
    return std::fopen(name.c_str(), "w");
  }();
  return opened;
}

int push(const char *name) {
  std::fprintf(file(), "> %s\n", name);
  return std::fflush(file());
}
int pop() {
  std::fprintf(file(), "<\n");
  return std::fflush(file());
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*exportTable)(uint32_t)) {
  const auto *callbacks = static_cast<const Callbacks *>(exportTable(1));
  Function **table = nullptr;
  unsigned size = 0;
  constexpr int core = 1, rangePushA = 9, rangePop = 11, coreSize = 16;
  if (!callbacks || callbacks->size < sizeof(Callbacks) ||
      !callbacks->moduleTable(core, &table, &size) || size + 1 < coreSize)
    return 0;
  *table[rangePushA] = reinterpret_cast<Function>(push);
  *table[rangePop] = reinterpret_cast<Function>(pop);
  return 1;
}
