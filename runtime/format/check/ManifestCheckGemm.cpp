//===- ManifestCheckGemm.cpp - which rows and matrices are multiplied -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>

using namespace tp::runtime;

/// The sizes that the strides of a mask along `size` belong to.
static std::vector<int64_t> sizesOfMask(const GemmCommand &command,
                                        int64_t size) {
  std::vector<int64_t> sizes = command.batch;
  sizes.push_back(size);
  return sizes;
}

static std::string checkStrides(const char *what, size_t strides,
                                size_t expected) {
  if (strides == expected)
    return "";
  return std::string(what) + " have " + std::to_string(strides) +
         " strides, expected " + std::to_string(expected);
}

static std::string checkLookup(const GemmCommand &command) {
  const GemmLookup &lookup = *command.lookup;
  if (lookup.count < 1)
    return "the table has no matrices";
  if (std::any_of(command.b.batchStrides.begin(), command.b.batchStrides.end(),
                  [](int64_t stride) { return stride != 0; }))
    return "operand b of a lookup has batch strides of 0";
  if (lookup.buffer.offset % byteSize(DataType::I64))
    return "the places are not aligned to 8 bytes";
  return checkStrides("the places", lookup.strides.size(),
                      command.batch.size());
}

std::string tp::runtime::checkChoosers(const GemmCommand &command) {
  std::string mistake;
  if (command.rows && command.beta != 0)
    mistake = "a gemm of some rows has beta 0";
  if (command.rows && command.terms && mistake.empty())
    mistake = "a gemm is of some rows or of some terms";
  for (auto [what, mask] : {std::pair("the rows", &command.rows),
                            std::pair("the terms", &command.terms)})
    if (*mask && mistake.empty())
      mistake =
          checkStrides(what, (*mask)->strides.size(), command.batch.size() + 1);
  if (command.lookup && mistake.empty())
    mistake = checkLookup(command);
  return mistake;
}

/// How far the last of elements with these strides is from the first; nothing
/// where it is too far, -1 where there is none.
static std::optional<int64_t> reach(const std::vector<int64_t> &sizes,
                                    const std::vector<int64_t> &strides) {
  std::optional<int64_t> far = 0;
  for (size_t i = 0; i < std::min(sizes.size(), strides.size()); ++i) {
    if (sizes[i] == 0)
      return -1;
    auto step = product({sizes[i] - 1, strides[i]});
    if (!step || !far || (*far += *step) > maxBytes)
      far = std::nullopt;
  }
  return far;
}

static std::optional<int64_t> bytesOf(std::optional<int64_t> far,
                                      DataType dtype) {
  return far ? product({*far + 1, byteSize(dtype)}) : std::nullopt;
}

std::vector<ReadRange> tp::runtime::chooserRanges(const GemmCommand &command) {
  std::vector<ReadRange> ranges;
  for (auto [what, mask, size] :
       {std::tuple("the rows", &command.rows, command.m),
        std::tuple("the terms", &command.terms, command.k)})
    if (*mask)
      ranges.push_back(
          {(*mask)->buffer,
           bytesOf(reach(sizesOfMask(command, size), (*mask)->strides),
                   DataType::I1),
           what});
  if (const auto &lookup = command.lookup) {
    ranges.push_back(
        {lookup->buffer,
         bytesOf(reach(command.batch, lookup->strides), DataType::I64),
         "the places"});
    std::vector<int64_t> sizes = {lookup->count, command.k, command.n};
    std::vector<int64_t> strides = {lookup->step, command.b.ld, 1};
    if (command.b.transpose)
      std::swap(strides[1], strides[2]);
    ranges.push_back({command.b.buffer,
                      bytesOf(reach(sizes, strides), command.bDtype),
                      "the table"});
  }
  return ranges;
}
