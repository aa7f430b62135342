//===- DeviceModule.cpp - the kernels' code for a device ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

Status DeviceRank::loadModule() {
  bool any = false;
  manifest.forEachCommand([&](const Command &command, int64_t) {
    any |= std::holds_alternative<KernelCommand>(command.what);
  });
  if (!any)
    return {};
  // The chip's own code, else that of the nearest earlier chip of its major
  // version, which can run it, else PTX.
  std::string_view image = artifact.cubin(device.chip());
  int best = -1;
  for (const std::string &chip : manifest.chips) {
    std::string digits = chip.starts_with("sm_") ? chip.substr(3) : "";
    if (!image.empty() || artifact.cubin(chip).empty() || digits.empty() ||
        !std::isdigit(digits.back()))
      continue;
    int version = std::stoi(digits);
    if (version / 10 == device.major() && version % 10 <= device.minor() &&
        version > best)
      best = version;
  }
  if (best >= 0)
    image = artifact.cubin("sm_" + std::to_string(best));
  std::string ptx;
  if (image.empty()) {
    // The driver wants a zero at its end.
    ptx = artifact.ptx();
    image = ptx;
  }
  if (image.empty()) {
    std::string chips;
    for (const std::string &chip : manifest.chips)
      chips += (chips.empty() ? "" : ", ") + chip;
    return unsupported("the artifact has code for " + chips +
                       " and no PTX, expected some for " + device.describe());
  }
  char log[4096] = {};
  int keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  Status status = device.driver().cuModuleLoadDataEx(&module, image.data(), 2,
                                                     keys, values);
  std::string reason(log, std::strcspn(log, "\n"));
  if (!status.ok() && !reason.empty())
    return {status.code(), status.message() + ": " + reason};
  return status;
}
