//===- Crc32.cpp - checksums of files of checkpoints ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Crc32.h"
#include <array>
#include <cstdio>
#include <cstring>

using namespace tp::runtime;

namespace {

constexpr uint32_t polynomial = 0xEDB88320u;
// So many bytes are taken at once, each through a table of its own.
constexpr size_t width = 8;
using Tables = std::array<std::array<uint32_t, 256>, width>;

constexpr Tables makeTables() {
  Tables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc & 1 ? (crc >> 1) ^ polynomial : crc >> 1;
    tables[0][byte] = crc;
  }
  for (size_t i = 1; i < width; ++i)
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = tables[i - 1][byte];
      tables[i][byte] = (crc >> 8) ^ tables[0][crc & 255];
    }
  return tables;
}

constexpr Tables tables = makeTables();

} // namespace

uint32_t tp::runtime::crc32(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  const char *data = bytes.data();
  size_t size = bytes.size();
  for (; size >= width; data += width, size -= width) {
    unsigned char part[width];
    std::memcpy(part, data, width);
    uint32_t next = 0;
    for (size_t i = 0; i < width; ++i)
      next ^=
          tables[width - 1 - i][part[i] ^ (i < 4 ? (crc >> (8 * i)) & 255 : 0)];
    crc = next;
  }
  for (; size; ++data, --size)
    crc = (crc >> 8) ^ tables[0][(crc ^ (unsigned char)*data) & 255];
  return ~crc;
}

std::string tp::runtime::crcText(uint32_t crc) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", unsigned(crc));
  return text;
}
