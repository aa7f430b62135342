//===- HostProgram.cpp - the program that launches ranks ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Launch/HostProgram.h"
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <string>
#include <unistd.h>

using namespace tp::runtime;

static HostProgram program;

void tp::runtime::setHostProgram(HostProgram given) { program = given; }

const HostProgram &tp::runtime::hostProgram() { return program; }

/// Bytes of the printable UTF-8 character that `text` starts with, or 0.
static size_t characterLength(std::string_view text) {
  auto byte = [&](size_t i) { return uint8_t(text[i]); };
  uint8_t first = byte(0);
  if (first < 0x80)
    return first >= 0x20 && first != 0x7f;
  size_t length = first >> 5 == 6    ? 2
                  : first >> 4 == 14 ? 3
                  : first >> 3 == 30 ? 4
                                     : 0;
  if (length == 0 || length > text.size())
    return 0;
  uint32_t code = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2)
      return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Overlong forms, surrogates and the second block of control characters.
  constexpr uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
  bool valid = code >= least[length] && code <= 0x10ffff && code >> 11 != 0x1b;
  return valid ? length : 0;
}

static void print(std::string line, std::string_view message) {
  while (!message.empty()) {
    if (size_t length = characterLength(message)) {
      line += message.substr(0, length);
      message.remove_prefix(length);
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof(escaped), "\\x%02x",
                  unsigned(uint8_t(message[0])));
    line += escaped;
    message.remove_prefix(1);
  }
  line += '\n';
  std::fputs(line.c_str(), stderr);
}

void tp::runtime::printError(std::string_view message) {
  print(std::string(program.name) + ": error: ", message);
}

void tp::runtime::printNote(std::string_view message) {
  print(std::string(program.name) + ": note: ", message);
}

bool tp::runtime::isOutputClosed() {
  pollfd output = {STDOUT_FILENO, 0, 0};
  return poll(&output, 1, /*timeout=*/0) > 0 && (output.revents & POLLERR);
}
