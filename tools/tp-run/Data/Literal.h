//===- Literal.h - arrays written on the command line -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_LITERAL_H
#define TP_TOOLS_TP_RUN_DATA_LITERAL_H

#include "tp/Runtime/Array.h"
#include <optional>
#include <string>
#include <string_view>

namespace tp::run {

/// `NAME=2x3xf32=VALUES` in its three parts; the name may be missing, with its
/// equals sign.
struct Literal {
  std::string name, type, values;
};
/// Nothing where no part of the text is a type.
std::optional<Literal> splitLiteral(std::string_view text);

/// The array of such a type, `2x3xf32` or `i64`. `values` is one number for all
/// elements, or as many as there are: `[1 2 3]`, `[[1, 2], [3, 4]]`.
runtime::Status readLiteral(std::string_view type, std::string_view values,
                            runtime::Array &array);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_LITERAL_H
