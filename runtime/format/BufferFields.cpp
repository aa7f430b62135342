//===- BufferFields.cpp - buffers of commands, written --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferFields.h"

using namespace tp::runtime;

void tp::runtime::writeMembers(JsonWriter &json, const BufferRef &buffer) {
  json.member("space", spelling(buffer.space));
  json.memberUnless(int64_t(0), "index", buffer.index);
  json.memberUnless(int64_t(0), "offset", buffer.offset);
}

void tp::runtime::writeBuffer(JsonWriter &json, std::string_view name,
                              const BufferRef &buffer) {
  json.objectMember(name, [&] { writeMembers(json, buffer); });
}

void tp::runtime::writeChoosers(JsonWriter &json, const GemmCommand &gemm) {
  for (auto [name, mask] :
       {std::pair("rows", &gemm.rows), std::pair("terms", &gemm.terms)})
    if (*mask)
      json.objectMember(name, [&] {
        writeBuffer(json, "buffer", (*mask)->buffer);
        json.member("strides", (*mask)->strides);
      });
  if (const auto &lookup = gemm.lookup)
    json.objectMember("lookup", [&] {
      writeBuffer(json, "buffer", lookup->buffer);
      json.member("strides", lookup->strides);
      json.member("step", lookup->step);
      json.member("count", lookup->count);
    });
}
