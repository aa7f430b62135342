//===- BufferFields.h - buffers of commands, written ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_BUFFERFIELDS_H
#define TP_RUNTIME_FORMAT_BUFFERFIELDS_H

#include "JsonWriter.h"
#include "tp/Runtime/Commands.h"

namespace tp::runtime {

/// Writes the fields of a buffer into the object that is open.
void writeMembers(JsonWriter &json, const BufferRef &buffer);

/// Writes a buffer as the field `name`.
void writeBuffer(JsonWriter &json, std::string_view name,
                 const BufferRef &buffer);

/// Writes what says which rows and matrices a gemm multiplies.
void writeChoosers(JsonWriter &json, const GemmCommand &gemm);

} // namespace tp::runtime

#endif // TP_RUNTIME_FORMAT_BUFFERFIELDS_H
