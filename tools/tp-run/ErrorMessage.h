//===- ErrorMessage.h - one line for the user -------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TPRUN_ERRORMESSAGE_H
#define TP_TOOLS_TPRUN_ERRORMESSAGE_H

#include <string_view>

namespace tp::run {

/// Prints `tp-run: error: MESSAGE`. Names in a message may come from a file
/// that somebody else made: control characters and bytes that are not UTF-8 are
/// shown as \xNN, so that they neither move the cursor nor start a line.
void printError(std::string_view message);
/// The same for `tp-run: note: MESSAGE`.
void printNote(std::string_view message);

/// Whether the reader of the standard output has gone, as `head` does: that is
/// no failure of the run.
bool isOutputClosed();

} // namespace tp::run

#endif // TP_TOOLS_TPRUN_ERRORMESSAGE_H
