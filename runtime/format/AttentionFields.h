//===- AttentionFields.h - attentions of a manifest -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_ATTENTIONFIELDS_H
#define TP_RUNTIME_FORMAT_ATTENTIONFIELDS_H

#include "JsonWriter.h"
#include "tp/Runtime/Commands.h"

namespace tp::runtime {

/// The members that say how weights are made.
void writeWeights(JsonWriter &json, const AttentionWeights &weights);

void writeAttentionOperand(JsonWriter &json, std::string_view name,
                           const AttentionOperand &operand);

void writeAttentionBackward(JsonWriter &json,
                            const AttentionBackwardCommand &command);

} // namespace tp::runtime

#endif // TP_RUNTIME_FORMAT_ATTENTIONFIELDS_H
