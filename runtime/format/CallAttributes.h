//===- CallAttributes.h - attributes of calls as JSON -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers are texts: JSON's have no 64-bit integers, infinities and NaN.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_CALLATTRIBUTES_H
#define TP_RUNTIME_FORMAT_CALLATTRIBUTES_H

#include "JsonReader.h"
#include "JsonWriter.h"
#include "tp/Runtime/Commands.h"

namespace tp::runtime {

/// Writes the member "attributes".
void writeAttributes(JsonWriter &json,
                     const std::vector<CallAttribute> &attributes);

CallAttribute readAttribute(const JsonReader &reader);

} // namespace tp::runtime

#endif // TP_RUNTIME_FORMAT_CALLATTRIBUTES_H
