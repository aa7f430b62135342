//===- Crc32.h - checksums of files of checkpoints --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_ARRAYS_CRC32_H
#define TP_RUNTIME_ARRAYS_CRC32_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tp::runtime {

/// The CRC-32 of zlib and PNG; `before` is that of the bytes before these.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);
/// Eight hexadecimal digits.
std::string crcText(uint32_t crc);

} // namespace tp::runtime

#endif // TP_RUNTIME_ARRAYS_CRC32_H
