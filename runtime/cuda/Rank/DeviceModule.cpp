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

namespace {

/// The driver has looked at machine code and will not run it; it may run PTX.
bool refusesCode(CUresult result) {
  return result == CUDA_ERROR_INVALID_IMAGE ||
         result == CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/// The driver cannot assemble this PTX, or any.
bool refusesPtx(CUresult result) {
  return result == CUDA_ERROR_INVALID_PTX ||
         result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND ||
         result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
         result == CUDA_ERROR_JIT_COMPILATION_DISABLED;
}

std::string versionOf(const std::string &ptx) {
  constexpr const char *directive = ".version ";
  size_t found = ptx.find(directive);
  if (found == std::string::npos)
    return "";
  found += std::strlen(directive);
  return " of version " + ptx.substr(found, ptx.find('\n', found) - found);
}

} // namespace

/// What the driver answers; `reason` is what its assembler says, on one line.
static CUresult loadImage(const Driver &driver, CUmodule &module,
                          const char *image, std::string &reason) {
  char log[4096] = {};
  int keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CUresult result =
      driver.cuModuleLoadDataEx.code(&module, image, 2, keys, values);
  reason.assign(log, std::strcspn(log, "\n"));
  return result;
}

/// The chip's own code, else that of the nearest earlier chip of its major
/// version, which can run it; empty for none.
static std::string_view codeFor(const Artifact &artifact,
                                const std::vector<std::string> &chips,
                                const Device &gpu, std::string &chip) {
  chip = gpu.chip();
  std::string_view image = artifact.cubin(chip);
  int best = -1;
  for (const std::string &other : chips) {
    std::string digits = other.starts_with("sm_") ? other.substr(3) : "";
    if (!image.empty() || artifact.cubin(other).empty() || digits.empty() ||
        !std::isdigit(digits.back()))
      continue;
    int version = std::stoi(digits);
    if (version / 10 == gpu.major() && version % 10 <= gpu.minor() &&
        version > best)
      best = version;
  }
  if (best < 0)
    return image;
  chip = "sm_" + std::to_string(best);
  return artifact.cubin(chip);
}

Status DeviceRank::loadModule() {
  bool any = false;
  entry.forEachCommand([&](const Command &command, int64_t) {
    any |= std::holds_alternative<KernelCommand>(command.what);
  });
  if (!any)
    return {};
  const Driver &driver = gpu.driver();
  std::string chip, reason, refusal;
  const std::vector<std::string> &chips =
      std::get<CudaTarget>(artifact.manifest().target).chips;
  std::string_view code = codeFor(artifact, chips, gpu, chip);
  // The driver wants a zero at its end.
  std::string ptx(artifact.ptx());
  if (!code.empty()) {
    CUresult result = loadImage(driver, module, code.data(), reason);
    if (result == CUDA_SUCCESS)
      return {};
    refusal = driver.cuModuleLoadDataEx.failed(result).message() +
              ", for the code of " + chip +
              (reason.empty() ? "" : ": " + reason);
    if (!refusesCode(result))
      return {Code::Device, refusal};
    if (ptx.empty())
      return {Code::Device, refusal + ": expected a newer driver, or PTX in "
                                      "the artifact, which has none"};
    refusal += "; ";
  }
  if (ptx.empty()) {
    std::string names;
    for (const std::string &one : chips)
      names += (names.empty() ? "" : ", ") + one;
    return unsupported("the artifact has code for " + names +
                       " and no PTX, expected some for " + gpu.describe());
  }
  CUresult result = loadImage(driver, module, ptx.c_str(), reason);
  if (result == CUDA_SUCCESS)
    return {};
  std::string message = refusal +
                        driver.cuModuleLoadDataEx.failed(result).message() +
                        (reason.empty() ? "" : ": " + reason);
  int version = 0;
  if (refusesPtx(result) && driver.cuDriverGetVersion(&version).ok())
    message += "; the driver, of CUDA " + std::to_string(version / 1000) + "." +
               std::to_string(version % 1000 / 10) +
               ", does not assemble the artifact's PTX" + versionOf(ptx) +
               ": expected a newer driver, or an artifact compiled with "
               "--chip=" +
               gpu.chip();
  return {Code::Device, message};
}
