//===- ManifestCheckRows.cpp - the rows of a gemm -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>

using namespace tp::runtime;

/// The sizes of what the strides of the rows belong to.
static std::vector<int64_t> sizesOf(const GemmCommand &command) {
  std::vector<int64_t> sizes = command.batch;
  sizes.push_back(command.m);
  return sizes;
}

std::string tp::runtime::checkRows(const GemmCommand &command) {
  size_t strides = command.rows->strides.size(),
         sizes = sizesOf(command).size();
  if (command.beta != 0)
    return "a gemm of some rows has beta 0";
  if (strides != sizes)
    return "the rows have " + std::to_string(strides) + " strides, expected " +
           std::to_string(sizes);
  return "";
}

std::optional<int64_t> tp::runtime::rowsBytes(const GemmCommand &command) {
  const std::vector<int64_t> sizes = sizesOf(command),
                             &strides = command.rows->strides;
  std::optional<int64_t> bytes = 1;
  for (size_t i = 0; i < std::min(sizes.size(), strides.size()); ++i) {
    // Nothing is read where there is nothing to multiply.
    if (sizes[i] == 0)
      return 0;
    auto step = product({sizes[i] - 1, strides[i]});
    if (!step || !bytes || (*bytes += *step) > maxBytes)
      bytes = std::nullopt;
  }
  return bytes;
}
