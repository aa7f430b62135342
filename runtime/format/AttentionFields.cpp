//===- AttentionFields.cpp - attentions of a manifest ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionFields.h"
#include "BufferFields.h"

using namespace tp::runtime;

template <size_t N>
static void writeSizes(JsonWriter &json, std::string_view name,
                       const std::array<int64_t, N> &sizes) {
  json.member(name, std::vector<int64_t>(sizes.begin(), sizes.end()));
}

void tp::runtime::writeAttentionOperand(JsonWriter &json, std::string_view name,
                                        const AttentionOperand &operand) {
  json.objectMember(name, [&] {
    writeBuffer(json, "buffer", operand.buffer);
    writeSizes(json, "strides", operand.strides);
  });
}

void tp::runtime::writeWeights(JsonWriter &json,
                               const AttentionWeights &weights) {
  json.member("dtype", spelling(weights.dtype));
  json.member("batch", weights.batch);
  json.member("heads", weights.heads);
  json.member("kv_heads", weights.kvHeads);
  json.member("queries", weights.queries);
  json.member("keys", weights.keys);
  json.member("head_size", weights.headSize);
  json.member("value_size", weights.valueSize);
  json.member("scale", weights.scale);
  if (weights.lower)
    json.member("lower", *weights.lower);
  if (weights.upper)
    json.member("upper", *weights.upper);
  writeAttentionOperand(json, "q", weights.q);
  writeAttentionOperand(json, "k", weights.k);
  writeAttentionOperand(json, "v", weights.v);
  if (const auto &bias = weights.bias)
    json.objectMember("bias", [&] {
      writeBuffer(json, "buffer", bias->buffer);
      json.member("dtype", spelling(bias->dtype));
      writeSizes(json, "strides", bias->strides);
    });
}

void tp::runtime::writeAttentionBackward(
    JsonWriter &json, const AttentionBackwardCommand &command) {
  json.member("command", "attention_backward");
  writeWeights(json, command);
  json.member("gradient_dtype", spelling(command.gradientType));
  for (const auto &[name, operand] : AttentionBackwardCommand::operands)
    writeAttentionOperand(json, name, command.*operand);
  if (const auto &onto = command.onto)
    json.objectMember("onto", [&] { writeBuffer(json, "buffer", *onto); });
  json.memberUnless(int64_t(0), "flops", command.flops);
  json.memberUnless(int64_t(0), "bytes", command.bytes);
}
