//===- ManifestCheckCuda.cpp - limits of devices and their libraries ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>
#include <set>

using namespace tp::runtime;

namespace {

// Limits of all devices from sm_80 on (CUDA C++ programming guide, "compute
// capabilities"); a device's own shared memory may be smaller, which the driver
// then says.
constexpr std::array<int64_t, 3> maxGrid = {INT32_MAX, 65535, 65535};
constexpr std::array<int64_t, 3> maxBlock = {1024, 1024, 64};
constexpr int64_t maxThreads = 1024;
constexpr int64_t maxSharedBytes = 227 * 1024;
/// 4 KiB of parameters, of which one points to the context.
constexpr size_t maxBuffers = 511;
/// The widest access of a kernel.
constexpr int64_t kernelAlignment = 16;

bool isChip(const std::string &chip) {
  if (chip == "host")
    return true;
  if (!chip.starts_with("sm_"))
    return false;
  std::string number = chip.substr(3);
  if (!number.empty() && (number.back() == 'a' || number.back() == 'f'))
    number.pop_back();
  return number.size() >= 2 && number.size() <= 3 &&
         number.find_first_not_of("0123456789") == std::string::npos;
}

std::string sizes(const std::array<int64_t, 3> &numbers) {
  return "[" + std::to_string(numbers[0]) + ", " + std::to_string(numbers[1]) +
         ", " + std::to_string(numbers[2]) + "]";
}

} // namespace

std::string tp::runtime::checkCudaTarget(const CudaTarget &target) {
  if (target.chips.empty())
    return "a cuda target names the chips it was compiled for, got none";
  std::set<std::string> seen;
  for (const std::string &chip : target.chips) {
    if (!isChip(chip))
      return "expected a chip like sm_90, or host, got '" + chip + "'";
    if (!seen.insert(chip).second)
      return "the chip '" + chip + "' is named twice";
  }
  return "";
}

std::string tp::runtime::checkCudaKernel(const KernelCommand &command) {
  const Launch &launch = command.launch;
  int64_t threads = 1;
  for (size_t d = 0; d < 3; ++d) {
    if (launch.grid[d] > maxGrid[d])
      return "a grid of " + sizes(launch.grid) + " blocks, at most " +
             sizes(maxGrid) + " are possible";
    if (launch.block[d] > maxBlock[d])
      return "a block of " + sizes(launch.block) + " threads, at most " +
             sizes(maxBlock) + " are possible";
    threads *= launch.block[d];
  }
  if (threads > maxThreads)
    return "a block of " + std::to_string(threads) + " threads, at most " +
           std::to_string(maxThreads) + " are possible";
  if (launch.sharedBytes > maxSharedBytes)
    return std::to_string(launch.sharedBytes) +
           " bytes of shared memory, at most " +
           std::to_string(maxSharedBytes) + " are possible";
  if (command.buffers.size() > maxBuffers)
    return std::to_string(command.buffers.size()) + " buffers, at most " +
           std::to_string(maxBuffers) + " are possible";
  for (const BufferRef &buffer : command.buffers)
    if (buffer.offset % kernelAlignment)
      return "a buffer at offset " + std::to_string(buffer.offset) +
             " is not aligned to " + std::to_string(kernelAlignment) + " bytes";
  return "";
}

std::string tp::runtime::checkCudaGemm(const GemmCommand &command) {
  DataType type = command.dtype;
  bool narrow = type == DataType::F16 || type == DataType::BF16;
  if (type != DataType::F64 && type != DataType::F32 && !narrow)
    return std::string("a gemm's dtype is f64, f32, tf32, f16 or bf16, got ") +
           spelling(type);
  if (command.cDtype != type && !(narrow && command.cDtype == DataType::F32))
    return std::string("a gemm of ") + spelling(type) + " writes " +
           spelling(type) + (narrow ? " or f32" : "") + ", got c_dtype " +
           spelling(command.cDtype);
  if (type == DataType::F64 &&
      (command.bias || command.activation != Activation::None))
    return "a gemm of f64 has neither a bias nor an activation";
  if (command.residual && command.residual->transpose)
    return "the residual cannot be transposed";
  if (command.residual && command.beta == 0)
    return "a residual with beta 0, expected another beta or no residual";
  int64_t size = byteSize(command.cDtype);
  if (command.bias && command.bias->offset % size)
    return "the bias is not aligned to " + std::to_string(size) +
           "-byte elements";
  return "";
}

std::string tp::runtime::checkCudaCollective(const Collective &collective) {
  switch (collective.dtype) {
  case DataType::I16:
  case DataType::U16:
  case DataType::F8E4M3FNUZ:
  case DataType::F8E5M2FNUZ:
    return "collective " + std::to_string(collective.id) +
           ": NCCL does not reduce " + spelling(collective.dtype);
  default:
    return "";
  }
}
