//===- NearestOption.h - what an unknown option may mean --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_NEARESTOPTION_H
#define TP_TOOLS_TP_RUN_NEARESTOPTION_H

#include <string>
#include <string_view>

namespace tp::run {

/// The option that `help` lists with the fewest edits from `word` (`--rank=2`,
/// `-ranks`), or an empty string where none is similar.
std::string nearestOption(std::string_view word, std::string_view help);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_NEARESTOPTION_H
